#include "diff/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct words verdict__value(double value, const char *unit)
{
	struct words words = {};

	if (isnan(value))
		snprintf(words.text, sizeof(words.text), "-");
	else if (!strcmp(unit, "ns"))
		return words__time((int64_t)(value + 0.5));
	else if (!strcmp(unit, "bytes"))
		return words__bytes((int64_t)(value + 0.5));
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

/* "function:burn (prog)" is enough said below "functions". */
const char *verdict__name(const struct metric *metric)
{
	const char *colon = strchr(metric->name, ':');

	if (colon && (metric->class == METRIC_FUNCTION || metric->class == METRIC_SYSCALL))
		return colon + 1;
	return metric->name;
}

/* "a second" */
static struct words per_words(const struct diff *diff)
{
	struct words words = {};

	words__say(words.text, sizeof(words.text), "%s %s",
		   strcmp(diff->per, "run") && strcmp(diff->per, "second") ? "per" : "a",
		   words__clean(diff->per, 60).text);
	return words;
}

/* The change of a class that has most to say. */
static const struct diff_change *largest(const struct diff *diff, enum metric_class class,
					 const char *measure)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (diff->changes[i].metric->class == class &&
		    (!measure || !strcmp(diff->changes[i].metric->measure, measure)) &&
		    diff__is_certain(diff, &diff->changes[i]))
			return &diff->changes[i];
	return NULL;
}

static void add_change(const struct diff *diff, const struct diff_change *change, const char *verb,
		       struct verdict *verdict)
{
	struct words name, per = per_words(diff);
	char *line = verdict->lines[verdict->count];
	size_t size = sizeof(verdict->lines[0]);

	if (!change)
		return;
	verdict->count++;
	name = words__clean(verdict__name(change->metric), 200);
	words__say(line, size, "%s %s %s", name.text, verb,
		   verdict__value(verdict__mean(change, DIFF_NEW), change->metric->unit).text);
	if (change->metric->is_sum)
		words__say(line, size, " %s", per.text);
	if (isinf(diff__ratio(change)))
		words__say(line, size, ", which is new");
	else
		words__say(
			line, size, " instead of %s (%s)",
			verdict__value(verdict__mean(change, DIFF_BASE), change->metric->unit).text,
			verdict__ratio(change).text);
	if (change->metric->about)
		words__say(line, size, ", from %s", change->metric->about);
	words__say(line, size, ".");
}

void verdict__make(const struct diff *diff, struct verdict *ret)
{
	char *line = ret->lines[0];
	size_t size = sizeof(ret->lines[0]);

	*ret = (struct verdict) { .count = 1 };
	if (!diff->enough) {
		words__say(line, size,
			   "within-run only: whether a difference is more than noise takes %d "
			   "recordings on each side [gapless record --repeat %d]. Values are %s.",
			   DIFF_ENOUGH, DIFF_ENOUGH, per_words(diff).text);
		return;
	}
	if (diff->certain)
		words__say(line, size, "%zu of %zu comparisons changed by more than noise",
			   diff->certain, diff->compared);
	else
		words__say(line, size,
			   "no significant change: none of %zu comparisons is more than noise",
			   diff->compared);
	words__say(line, size, " (chance < %g, corrected for all of them)", DIFF_ALPHA);
	if (diff->too_small)
		words__say(line, size, "; %zu certain but below %g %%", diff->too_small,
			   DIFF_LEAST * 100);
	words__say(line, size, ". Values are means %s.", per_words(diff).text);
	add_change(diff, largest(diff, METRIC_FUNCTION, "self"), "runs", ret);
	add_change(diff, largest(diff, METRIC_WAIT, NULL), "takes", ret);
	add_change(diff, largest(diff, METRIC_SYSCALL, "mean"), "takes on average", ret);
}
