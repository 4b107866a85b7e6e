/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct words verdict__value(double value, const char *unit)
{
	struct words words = {};

	if (isnan(value))
		snprintf(words.text, sizeof(words.text), "-");
	else if (!strcmp(unit, "ns"))
		return words__brief_time((int64_t)(value + 0.5));
	else if (!strcmp(unit, "bytes"))
		return words__bytes((int64_t)(value + 0.5));
	else if (!strcmp(unit, "%"))
		snprintf(words.text, sizeof(words.text), "%.3g %%", value);
	else if (value >= 1000)
		return words__number((int64_t)(value + 0.5));
	else
		snprintf(words.text, sizeof(words.text), "%.3g", value);
	return words;
}

double verdict__mean(const struct diff_change *change, enum diff_side side)
{
	return change->sides[side].count ? change->sides[side].mean : NAN;
}

struct words verdict__difference(const struct diff_change *change)
{
	double off = verdict__mean(change, DIFF_NEW) - verdict__mean(change, DIFF_BASE);
	struct words words = {};

	if (isnan(off))
		return words;
	words__say(words.text, sizeof(words.text), "%s%s", off < 0 ? "−" : "+",
		   verdict__value(fabs(off), change->metric->unit).text);
	return words;
}

struct words verdict__ratio(const struct diff_change *change)
{
	double percent = diff__ratio(change) * 100;
	struct words words = {};

	if (isinf(percent))
		snprintf(words.text, sizeof(words.text), "new");
	else if (percent <= -100)
		snprintf(words.text, sizeof(words.text), "gone");
	else if (percent >= 1000)
		words__say(words.text, sizeof(words.text), "× %s",
			   verdict__value(percent / 100 + 1, "").text);
	else
		snprintf(words.text, sizeof(words.text), "%s%.*f %%", percent < 0 ? "−" : "+",
			 fabs(percent) < 100 ? 1 : 0, fabs(percent));
	return words;
}

/* Below the heading "functions", "burn (prog)" is enough. The keys of kinds become words. */
const char *verdict__name(const struct metric *metric)
{
	const char *colon = strchr(metric->name, ':');

	if (metric->shown)
		return metric->shown;
	if (colon && (metric->class == METRIC_FUNCTION || metric->class == METRIC_SYSCALL))
		return colon + 1;
	for (int kind = 0; metric->class == METRIC_STATE && kind < KIND_COUNT; kind++)
		if (!strcmp(metric->name, kinds__words(kind)->key))
			return kinds__words(kind)->words;
	return metric->name;
}

/* "a second" */
static struct words per_words(const struct diff *diff)
{
	struct words words = {};

	if (diff->window) {
		words__say(words.text, sizeof(words.text), "per %s ('%s')",
			   diff__window_words(diff), words__clean(diff->window, 60).text);
		return words;
	}
	words__say(words.text, sizeof(words.text), "%s %s",
		   strcmp(diff->per, "run") && strcmp(diff->per, "second") ? "per" : "a",
		   words__clean(diff->per, 60).text);
	return words;
}

/* The change of a class that matters most. */
static const struct diff_change *largest(const struct diff *diff, enum metric_class class,
					 const char *measure)
{
	for (size_t i = 0; i < diff->change_count; i++) {
		const struct diff_change *change = &diff->changes[i];

		if (change->metric->class == class && !change->metric->is_aside &&
		    !strcmp(change->metric->measure, measure) && diff__is_certain(diff, change))
			return change;
	}
	return NULL;
}

/* ": 130 calls instead of 254,130", for a syscall whose count changed too. */
static void say_calls(const struct diff *diff, const struct metric *metric, char *line, size_t size)
{
	for (size_t i = 0; i < diff->change_count; i++) {
		const struct diff_change *change = &diff->changes[i];

		if (change->metric->class != METRIC_SYSCALL || !diff__is_certain(diff, change) ||
		    strcmp(change->metric->measure, "count") ||
		    strcmp(change->metric->name, metric->name))
			continue;
		words__say(line, size, ": %s call%s instead of %s",
			   verdict__value(verdict__mean(change, DIFF_NEW), "").text,
			   verdict__mean(change, DIFF_NEW) == 1 ? "" : "s",
			   verdict__value(verdict__mean(change, DIFF_BASE), "").text);
	}
}

static void add_change(const struct diff *diff, const struct diff_change *change, const char *verb,
		       struct verdict *verdict)
{
	const struct metric *metric = change->metric;
	char *line = verdict->lines[verdict->count++];
	size_t size = sizeof(verdict->lines[0]);

	words__say(line, size, "%s %s %s %s", words__clean(verdict__name(metric), 200).text, verb,
		   verdict__value(verdict__mean(change, DIFF_NEW), metric->unit).text,
		   per_words(diff).text);
	if (isinf(diff__ratio(change)))
		words__say(line, size, ", which is new");
	else
		words__say(line, size, " instead of %s (%s)",
			   verdict__value(verdict__mean(change, DIFF_BASE), metric->unit).text,
			   verdict__ratio(change).text);
	if (metric->class == METRIC_SYSCALL)
		say_calls(diff, metric, line, size);
	if (metric->about)
		words__say(line, size, ", from %s", metric->about);
	words__say(line, size, ".");
}

static const struct diff_change *window_change(const struct diff *diff, const char *measure)
{
	for (size_t i = 0; i < diff->change_count; i++) {
		const struct metric *metric = diff->changes[i].metric;

		if (metric->class == METRIC_WINDOW && !strcmp(metric->measure, measure) &&
		    !strcmp(metric->window, diff->window))
			return &diff->changes[i];
	}
	return NULL;
}

/* The reason that changed most in the direction of `way`; NULL: none did for sure. */
static const struct diff_change *main_reason(const struct diff *diff, double way)
{
	const struct diff_change *most = NULL;

	for (size_t i = 0; i < diff->change_count; i++) {
		const struct diff_change *change = &diff->changes[i];
		double off = change->sides[DIFF_NEW].mean - change->sides[DIFF_BASE].mean;

		if (change->metric->class != METRIC_REASON || !change->compared || off * way <= 0 ||
		    !diff__is_beyond_sampling(change))
			continue;
		if (!most || diff__size(change) > diff__size(most))
			most = change;
	}
	return most;
}

/*
 * "A request takes 3.2 ms on average instead of 2.1 ms (+52 %); 0.9 ms more of it is 'queued: …'."
 */
static void add_window(const struct diff *diff, struct verdict *verdict)
{
	const struct diff_change *mean = diff->window ? window_change(diff, "mean") : NULL;
	const struct diff_change *reason;
	char *line = verdict->lines[verdict->count];
	size_t size = sizeof(verdict->lines[0]);
	double off;

	if (!mean || !mean->compared || fabs(diff__ratio(mean)) < DIFF_LEAST ||
	    !(diff->enough ? diff__is_certain(diff, mean) : diff__is_beyond_sampling(mean)))
		return;
	verdict->count++;
	off = mean->sides[DIFF_NEW].mean - mean->sides[DIFF_BASE].mean;
	words__say(line, size, "A %s took %s on average instead of %s (%s)",
		   diff__window_words(diff),
		   verdict__value(verdict__mean(mean, DIFF_NEW), "ns").text,
		   verdict__value(verdict__mean(mean, DIFF_BASE), "ns").text,
		   verdict__ratio(mean).text);
	reason = main_reason(diff, off);
	if (reason)
		words__say(line, size, "; %s %s of it was '%s'",
			   verdict__value(diff__size(reason), "ns").text, off > 0 ? "more" : "less",
			   verdict__name(reason->metric));
	words__say(line, size, ".");
}

static int by_size(const void *a, const void *b)
{
	double x = diff__size(*(const struct diff_change *const *)a);
	double y = diff__size(*(const struct diff_change *const *)b);

	return (x < y) - (x > y);
}

/* Adds the largest changes of code, waits and syscalls. */
static void add_changes(const struct diff *diff, struct verdict *verdict)
{
	static const char *const verbs[METRIC_CLASSES] = {
		[METRIC_FUNCTION] = "runs", [METRIC_WAIT] = "takes", [METRIC_SYSCALL] = "takes"
	};
	const struct diff_change *found[] = {
		largest(diff, METRIC_FUNCTION, "self"),
		largest(diff, METRIC_WAIT, "time"),
		largest(diff, METRIC_SYSCALL, "time"),
	}, *told[3];
	size_t count = 0;

	for (size_t i = 0; i < 3; i++)
		if (found[i])
			told[count++] = found[i];
	if (count)
		qsort(told, count, sizeof(*told), by_size);
	for (size_t i = 0; i < count; i++)
		add_change(diff, told[i], verbs[told[i]->metric->class], verdict);
}

void verdict__make(const struct diff *diff, struct verdict *ret)
{
	char *line = ret->lines[0];
	size_t size = sizeof(ret->lines[0]);

	*ret = (struct verdict) { .count = 1 };
	if (diff->stretches) {
		const struct diff_run *base = &diff->runs[0], *new = &diff->runs[1];

		words__say(
			line, size,
			"%s to %s of the recording, compared with %s to %s. Two stretches do not "
			"tell a change from noise. Sums are %s.",
			words__time(new->from_ns).text, words__time(new->to_ns).text,
			words__time(base->from_ns).text, words__time(base->to_ns).text,
			per_words(diff).text);
		add_window(diff, ret);
		return;
	}
	if (!diff->enough) {
		words__say(line, size,
			   "within-run only: whether a difference is more than noise takes %d "
			   "recordings on each side [gapless record --repeat %d]. Values are %s.",
			   DIFF_ENOUGH, DIFF_ENOUGH, per_words(diff).text);
		add_window(diff, ret);
		return;
	}
	if (diff->certain)
		words__say(line, size, "%zu of %s changed by more than noise", diff->certain,
			   words__count((int64_t)diff->compared, "comparisons").text);
	else
		words__say(line, size, "no significant change: none of %s is more than noise",
			   words__count((int64_t)diff->compared, "comparisons").text);
	words__say(line, size, " (chance < %g, corrected for all of them)", DIFF_ALPHA);
	if (diff->too_small)
		words__say(line, size, "; %zu certain but below %g %%", diff->too_small,
			   DIFF_LEAST * 100);
	words__say(line, size, ". Values are means %s.", per_words(diff).text);
	add_window(diff, ret);
	add_changes(diff, ret);
}
