/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows, for exports. They are those of the model, with references as indexes and times within
 * the profile.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/profile_rows.h"
#include "model/windows.h"

uint32_t profile_windows__find(const struct profile *profile, int64_t id)
{
	size_t low = 0, high = profile->window_count;

	while (id && low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->windows[middle].id == id)
			return profile->windows[middle].start_ns ? (uint32_t)middle : PROFILE_NONE;
		if (profile->windows[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return PROFILE_NONE;
}

/* "requests to nginx (HTTP, 127.0.0.1:8080)" */
static const char *service_of(struct loader *loader, const struct windows_service *service)
{
	bool is_call = !strcmp(service->first->kind, window_words__kind(WORDS_KIND_CALL)->key);
	char text[512] = "";

	snprintf(text, sizeof(text), "%s", is_call ? "calls" : "requests");
	model_windows__say_service(service, text, sizeof(text));
	return texts__repeat(&loader->model->texts, text);
}

static int add_classes(struct loader *loader)
{
	const struct windows *windows = &loader->model->windows;
	struct profile *profile = loader->profile;

	profile->classes = calloc(windows->class_count + 1, sizeof(*profile->classes));
	if (!profile->classes)
		return -ENOMEM;
	profile->class_count = windows->class_count;
	for (size_t i = 0; i < windows->class_count; i++) {
		const struct windows_class *from = &windows->classes[i];
		const char *service = service_of(loader, &windows->services[from->of]);

		if (!service)
			return -ENOMEM;
		profile->classes[i] = (struct profile_class) { .kind = from->kind,
							       .protocol = from->protocol,
							       .service = service,
							       .address = from->service,
							       .name = from->name,
							       .status = from->status,
							       .comm = from->comm };
	}
	return 0;
}

static enum profile_band band_of(const struct windows_service *service, int64_t length_ns)
{
	if (model_windows__is_in(service, WINDOWS_SLOW, length_ns))
		return PROFILE_SLOW;
	return model_windows__is_in(service, WINDOWS_FAST, length_ns) ? PROFILE_FAST
								      : PROFILE_MIDDLE;
}

static const char *or_none(const char *text)
{
	return text && *text ? text : NULL;
}

static void fill_window(const struct loader *loader, const struct windows_one *from,
			struct profile_window *window)
{
	const struct windows *windows = &loader->model->windows;
	const struct profile *profile = loader->profile;

	*window = (struct profile_window) {
		.id = from->id,
		.class = (uint32_t)(from->class - windows->classes),
		.thread =
			from->thread ? ids__find(&loader->threads, from->thread->id) : PROFILE_NONE,
		.parent = PROFILE_NONE,
		.parent_id = from->parent,
		.band = band_of(&windows->services[from->class->of], from->length_ns),
		.begin_ns = profile_rows__clamp(from->begin_ns, profile->start_ns, profile->end_ns),
		.end_ns = profile_rows__clamp(from->end_ns, profile->start_ns, profile->end_ns),
		.length_ns = from->length_ns,
		.start_ns = from->begin_ns,
		.read_ns = from->read_ns,
		.answer_ns = from->answer_ns,
		.n = from->n,
		.left = from->left,
		.text = from->text,
		.ends = from->ends,
		.trace = or_none(from->trace),
		.trace_span = or_none(from->trace_span),
		.request_id = or_none(from->request_id),
		.evidence = or_none(from->evidence),
		.has_details = from->has_details && from->begin_ns,
	};
	if (window->end_ns < window->begin_ns)
		window->end_ns = window->begin_ns;
}

static int add_windows(struct loader *loader)
{
	const struct windows *windows = &loader->model->windows;
	struct profile *profile = loader->profile;

	profile->windows = calloc(windows->kept_count + 1, sizeof(*profile->windows));
	if (!profile->windows)
		return -ENOMEM;
	profile->window_count = windows->kept_count;
	for (size_t i = 0; i < windows->kept_count; i++)
		fill_window(loader, &windows->kept[i], &profile->windows[i]);
	for (size_t i = 0; i < windows->kept_count; i++)
		profile->windows[i].parent =
			profile_windows__find(profile, windows->kept[i].parent);
	return 0;
}

/* "own.wait.lock" */
static const char *key_of(struct loader *loader, const struct windows_reason *reason)
{
	char key[3 * TEXTS_MOST];

	snprintf(key, sizeof(key), "%s%s%s%s%s", reason->part, reason->state ? "." : "",
		 reason->state ? reason->state : "", reason->cause ? "." : "",
		 reason->cause ? reason->cause : "");
	return texts__repeat(&loader->model->texts, key);
}

/* Fills in what is not a number. False: out of memory. */
static bool describe(struct loader *loader, uint32_t reason, struct profile_part *part)
{
	const struct windows_reason *of = &loader->model->windows.reasons[reason];
	char words[128] = "";

	model_windows__say_reason(of, words, sizeof(words));
	part->key = key_of(loader, of);
	part->words = texts__repeat(&loader->model->texts, words);
	part->is_overlap = model_windows__is_part(of, WORDS_PART_OVERLAP);
	return part->key && part->words;
}

/* Parts of a window come together. */
static int take_part(void *context, const struct windows_one *one, uint32_t reason, int64_t ns)
{
	struct loader *loader = context;
	struct profile *profile = loader->profile;
	struct profile_window *window = &profile->windows[one - loader->model->windows.kept];
	struct profile_part *part, made = { .ns = ns };
	size_t i;

	if (!ns)
		return 0;
	if (!describe(loader, reason, &made))
		return -ENOMEM;
	if (!window->part_count)
		window->first_part = profile->part_count;
	for (i = window->first_part; i < window->first_part + window->part_count; i++) {
		if (strcmp(profile->parts[i].key, made.key))
			continue;
		return __builtin_add_overflow(profile->parts[i].ns, ns, &profile->parts[i].ns)
			       ? -EBADMSG
			       : 0;
	}
	part = APPEND(&profile->parts, &profile->part_count);
	if (!part)
		return -ENOMEM;
	*part = made;
	window->part_count++;
	return 0;
}

int profile_windows__load(struct loader *loader)
{
	const struct model_options options = { .scope = loader->options->scope };
	int err = model_windows__load(loader->model, loader->db, &options);

	if (!err)
		err = add_classes(loader);
	if (!err)
		err = add_windows(loader);
	if (!err)
		err = profile_windows__join(loader->profile);
	if (!err && loader->options->accounts)
		err = model_windows__each_part(loader->model, loader->db, take_part, loader);
	return err;
}
