/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which requests and calls --per and conditions are about. Their sums have to be made when a
 * recording is loaded, so this is known before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "diff/diff.h"
#include "vocabulary/window_words.h"

static const char *behind_prefix(const char *name)
{
	size_t length = strlen(DIFF_WINDOW);

	return name && !strncmp(name, DIFF_WINDOW, length) && name[length] ? name + length : NULL;
}

static bool is_reason(const char *word)
{
	return window_words__find_part(word) >= 0 ||
	       !strncmp(word, WINDOW_WORDS_OWN ".", strlen(WINDOW_WORDS_OWN "."));
}

/* "GET /orders own.run" is about the windows of "GET /orders". */
static size_t without_reason(const char *text)
{
	const char *last = strrchr(text, ' ');

	return last && is_reason(last + 1) ? (size_t)(last - text) : strlen(text);
}

static int add(struct diff *diff, const char *text, size_t length, const char **ret)
{
	char *copy;

	for (size_t i = 0; i < diff->window_count; i++)
		if (strlen(diff->windows[i]) == length &&
		    !strncmp(diff->windows[i], text, length)) {
			*ret = diff->windows[i];
			return 0;
		}
	copy = strndup(text, length);
	if (!copy)
		return -ENOMEM;
	diff->windows[diff->window_count++] = copy;
	*ret = copy;
	return 0;
}

static int add_gate(struct diff *diff, const char *text)
{
	cleanup(gate__release) struct gate gate = {};
	const char *window, *added;

	/* Whoever judges the gates says what is wrong with one. */
	if (gate__parse(text, &gate))
		return 0;
	window = behind_prefix(gate.name);
	if (!window)
		return 0;
	return add(diff, window,
		   strcmp(gate.measure, "time") ? strlen(window) : without_reason(window), &added);
}

int asked__find(struct diff *diff, const struct diff_options *options)
{
	const char *per = behind_prefix(options->per);
	size_t most = 2;
	int err = 0;

	for (const char *const *gate = options->gates; gate && *gate; gate++)
		most++;
	diff->windows = calloc(most, sizeof(*diff->windows));
	if (!diff->windows)
		return -ENOMEM;
	if (per)
		err = add(diff, per, strlen(per), &diff->window);
	for (const char *const *gate = options->gates; gate && *gate && !err; gate++)
		err = add_gate(diff, *gate);
	return err;
}

static const struct metric *count_of(const struct diff_run *run, const char *window)
{
	for (size_t i = 0; i < run->metrics.count; i++) {
		const struct metric *metric = &run->metrics.list[i];

		if (metric->window && !strcmp(metric->window, window) &&
		    !strcmp(metric->measure, "count"))
			return metric;
	}
	return NULL;
}

static int warn_unlike(struct diff *diff, const char *window)
{
	const struct diff_run *first = NULL;
	const struct metric *one = NULL;

	for (size_t i = 0; i < diff->run_count; i++) {
		const struct diff_run *run = &diff->runs[i];
		const struct metric *other = count_of(run, window);

		if (one && other && strcmp(one->unit, other->unit))
			return diff__warn(diff,
					  "'%s' fits %s in '%s' and %s in '%s': they are not the "
					  "same",
					  words__clean(window, 60).text, one->unit,
					  words__clean(first->path, 60).text, other->unit,
					  words__clean(run->path, 60).text);
		if (!one && other) {
			one = other;
			first = run;
		}
	}
	return 0;
}

int asked__warn(struct diff *diff)
{
	int err = 0;

	for (size_t i = 0; i < diff->window_count && !err; i++)
		err = warn_unlike(diff, diff->windows[i]);
	return err;
}

const char *diff__window_words(const struct diff *diff)
{
	const struct window_kind_words *call = window_words__kind(WORDS_KIND_CALL);
	const struct metric *count =
		diff->window ? count_of(&diff->runs[diff->run_count - 1], diff->window) : NULL;

	return count && !strcmp(count->unit, call->many) ? call->one : "request";
}
