/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Windows in words. */
#include <string.h>

#include "base/words.h"
#include "model/windows_internal.h"

#define NAME_COLUMNS    40
#define SERVICE_COLUMNS 60

void model_windows__say_reason(const struct windows_reason *reason, char *text, size_t size)
{
	int part = window_words__find_part(reason->part);

	if (part >= 0)
		words__say(text, size, "%s", window_words__part(part)->words);
	else if (!reason->state)
		words__say(text, size, "%s", words__clean(reason->part, 30).text);
	else if (!reason->cause)
		words__say(text, size, "own: %s",
			   !strcmp(reason->state, "run") ? "running"
							 : words__clean(reason->state, 14).text);
	else
		words__say(text, size, "own: %s.%s", words__clean(reason->state, 14).text,
			   words__clean(reason->cause, 14).text);
}

void model_windows__say_key(const struct windows_reason *reason, char *text, size_t size)
{
	words__say(text, size, "%s%s%s%s%s", reason->part, reason->state ? "." : "",
		   reason->state ? reason->state : "", reason->cause ? "." : "",
		   reason->cause ? reason->cause : "");
}

static bool is_kind(const struct windows_class *class, enum window_words_kind kind)
{
	return !strcmp(class->kind, window_words__kind(kind)->key);
}

/* " (HTTP, 127.0.0.1:8080)" */
static void say_where(const char *protocol, const char *service, char *text, size_t size)
{
	bool both = *protocol && *service;

	if (!*protocol && !*service)
		return;
	words__say(text, size, " (%s%s%s)", words__clean(protocol, NAME_COLUMNS).text,
		   both ? ", " : "", words__clean(service, SERVICE_COLUMNS).text);
}

void model_windows__say_where(const struct windows_service *service, char *text, size_t size)
{
	say_where(window_words__protocol(service->first->protocol), service->first->service, text,
		  size);
}

void model_windows__say_service(const struct windows_service *service, char *text, size_t size)
{
	const struct windows_class *class = service->first;
	const char *protocol = window_words__protocol(class->protocol);
	struct words comm = words__clean(class->comm, NAME_COLUMNS);
	struct words name = words__clean(class->service, SERVICE_COLUMNS);

	if (is_kind(class, WORDS_KIND_CALL)) {
		words__say(text, size, " of %s", name.text);
	} else if (is_kind(class, WORDS_KIND_CLIENT)) {
		words__say(text, size, "%s%s", *comm.text ? " of " : "", comm.text);
		words__say(text, size, " to %s", *name.text ? name.text : "another server");
		say_where(protocol, "", text, size);
	} else if (*comm.text) {
		words__say(text, size, " to %s", comm.text);
		say_where(protocol, class->service, text, size);
	} else {
		words__say(text, size, " to %s", name.text);
		say_where(protocol, "", text, size);
	}
}

void model_windows__say_class(const struct windows_class *class, char *text, size_t size)
{
	if (*class->name)
		words__say(text, size, "%s", words__clean(class->name, SERVICE_COLUMNS).text);
	else
		words__say(text, size, "a request");
	say_where(window_words__protocol(class->protocol), class->service, text, size);
}

void model_windows__say_count(const struct windows_service *service, int64_t count, int64_t n,
			      char *text, size_t size)
{
	bool is_call = is_kind(service->first, WORDS_KIND_CALL);

	words__say(text, size, "%s", words__count(n, is_call ? "calls" : "requests").text);
	if (n != count)
		words__say(text, size, " in %s", words__count(count, "windows").text);
}
