/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/events/event_words.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define PREFIX "event:" /* optional */

/* A piece of the argument. */
struct piece {
	const char *at;
	size_t length;
};

static struct piece trim(struct piece piece)
{
	while (piece.length && piece.at[0] == ' ') {
		piece.at++;
		piece.length--;
	}
	while (piece.length && piece.at[piece.length - 1] == ' ')
		piece.length--;
	return piece;
}

/* A name is part of a path, so it has no '/' and no '.'. */
static int take_name(struct piece piece, char ret[EVENT_WORDS_BYTES])
{
	if (!piece.length || piece.length >= EVENT_WORDS_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < piece.length; i++)
		if (!isascii(piece.at[i]) ||
		    (!isalnum((unsigned char)piece.at[i]) && !strchr("_-", piece.at[i])))
			return -EINVAL;
	memcpy(ret, piece.at, piece.length);
	ret[piece.length] = '\0';
	return 0;
}

static int take_point(struct piece piece, struct event_words_point *ret)
{
	const char *colon;

	if (piece.length > strlen(PREFIX) && !strncmp(piece.at, PREFIX, strlen(PREFIX))) {
		piece.at += strlen(PREFIX);
		piece.length -= strlen(PREFIX);
	}
	colon = memchr(piece.at, ':', piece.length);
	if (!colon ||
	    take_name((struct piece) { piece.at, (size_t)(colon - piece.at) }, ret->group) ||
	    take_name((struct piece) { colon + 1, piece.length - (size_t)(colon - piece.at) - 1 },
		      ret->name))
		return -EINVAL;
	return 0;
}

static bool has_prefix(struct piece piece, const char *prefix)
{
	return piece.length >= strlen(prefix) && !strncmp(piece.at, prefix, strlen(prefix));
}

/* An end of a pair: a tracepoint, or "function:" or "usdt:" and what such an option takes. */
static int take_end(struct piece piece, struct event_words_point *ret)
{
	static const struct {
		const char *prefix;
		enum event_words_kind kind;
	} kinds[] = { { "function:", EVENT_WORDS_FUNCTION }, { "usdt:", EVENT_WORDS_USDT } };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t before = strlen(kinds[i].prefix), length = piece.length - before;

		if (!has_prefix(piece, kinds[i].prefix))
			continue;
		if (!length || length >= EVENT_WORDS_SPEC)
			return -EINVAL;
		ret->kind = kinds[i].kind;
		memcpy(ret->spec, piece.at + before, length);
		ret->spec[length] = '\0';
		return 0;
	}
	return take_point(piece, ret);
}

static const char *take_part(struct piece part, struct event_words *words)
{
	bool is_key = has_prefix(part, "key="), is_value = has_prefix(part, "value=");
	char *name = is_key ? words->key : words->value;
	size_t before = is_key ? strlen("key=") : strlen("value=");

	if (!is_key && !is_value)
		return "behind the event, only key=FIELD and value=FIELD may follow";
	if (*name)
		return is_key ? "one key, not two" : "one value, not two";
	if (take_name((struct piece) { part.at + before, part.length - before }, name))
		return "a name of a field is missing or has other characters than letters, digits "
		       "and '_'";
	return NULL;
}

int event_words__parse(const char *text, struct event_words *ret, const char **ret_why)
{
	struct event_words words = {};
	struct piece piece = { text, strcspn(text, ",") };
	const char *why = NULL;

	if (take_point(piece, &words.point))
		why = "an event is GROUP:NAME, like sched:sched_switch";
	while (!why && piece.at[piece.length]) {
		piece.at += piece.length + 1;
		piece.length = strcspn(piece.at, ",");
		why = take_part(piece, &words);
	}
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret = words;
	return 0;
}

static int take_fields(struct piece piece, char ret[2][EVENT_WORDS_BYTES])
{
	const char *equals = memchr(piece.at, '=', piece.length);
	struct piece first = piece, second = piece;

	if (piece.length == strlen("thread") && !strncmp(piece.at, "thread", piece.length))
		return 0;
	if (equals) {
		first.length = (size_t)(equals - piece.at);
		second.at = equals + 1;
		second.length = piece.length - first.length - 1;
	}
	return take_name(first, ret[0]) || take_name(second, ret[1]) ? -EINVAL : 0;
}

/* The last occurrence of `word`; NULL if there is none. */
static const char *find_last(const char *text, const char *word)
{
	const char *last = NULL;

	while ((text = strstr(text, word)))
		last = text++;
	return last;
}

int event_words__parse_pair(const char *text, struct event_words_pair *ret, const char **ret_why)
{
	const char *spaced = strstr(text, " -> "), *by = find_last(text, " by ");
	/* C++ has a function "operator->". */
	const char *arrow = spaced ? spaced + 1 : strstr(text, "->");
	struct event_words_pair words = {};
	const char *why = NULL;

	if (!arrow || !by || by < arrow) {
		why = "a pair is 'A -> B by thread' or 'A -> B by FIELD', with events A and B";
	} else if (take_end(trim((struct piece) { text, (size_t)(arrow - text) }),
			    &words.points[0]) ||
		   take_end(trim((struct piece) { arrow + 2, (size_t)(by - arrow) - 2 }),
			    &words.points[1])) {
		why = "an event is GROUP:NAME, like sched:sched_switch, or function:SPEC or "
		      "usdt:SPEC";
	} else if (take_fields(trim((struct piece) { by + 4, strlen(by + 4) }), words.fields)) {
		why = "behind 'by', there is 'thread', a field of both events or an argument "
		      "(arg1), or FIELD=FIELD";
	}
	if (why) {
		*ret_why = why;
		return -EINVAL;
	}
	*ret = words;
	return 0;
}
