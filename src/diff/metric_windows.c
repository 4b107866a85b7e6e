/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests and calls as metrics. Their errors are those of a random choice from the windows that
 * could have come: what else differs from recording to recording is not in them.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "diff/diff.h"
#include "vocabulary/histogram.h"
#include "vocabulary/window_words.h"

#define MOST_NAME 512
/* Reasons with a smaller part of the time are compared only if asked for. */
#define LEAST_OF_LENGTH 0.005

static size_t place_of(const char *measure)
{
	static const char *const first[] = { "count", "rate", "failed", "mean" };
	const size_t count = sizeof(first) / sizeof(*first);

	for (size_t i = 0; i < count; i++)
		if (!strcmp(measure, first[i]))
			return i;
	return count;
}

int metric__compare_windows(const struct metric *a, const struct metric *b)
{
	size_t x = place_of(a->measure), y = place_of(b->measure);

	return x != y ? (x > y) - (x < y) : metric__compare(a, b);
}

struct counted {
	struct metrics *metrics;
	const struct model *model;
	const struct windows_matched *matched;
	char name[MOST_NAME]; /* "window:GET /orders" */
};

/* The square of the standard error of a mean, from a sum, a sum of squares and a count. */
static double variance_of_mean(double sum, double squares, double count)
{
	double mean = sum / count;

	return count < 2 ? 0 : fmax(squares / count - mean * mean, 0) / (count - 1);
}

static double at_rank(const struct windows_matched *matched, double rank)
{
	double seen = 0;
	size_t i = 0;

	for (; i + 1 < matched->bucket_count; i++) {
		seen += (double)matched->buckets[i].count;
		if (seen >= rank)
			break;
	}
	return (double)percentiles__middle(matched->buckets[i].number);
}

/*
 * The number of windows below a percentile has a binomial distribution, so values that are one
 * standard deviation of it away give the error. A value is known only to its bucket besides.
 */
static double variance_of_percentile(const struct windows_matched *matched, double part,
				     double value)
{
	double count = (double)matched->count, off = sqrt(count * part * (1 - part));
	double error = (at_rank(matched, count * part + off) -
			at_rank(matched, fmax(count * part - off, 1))) /
		       2;
	double width = value / HISTOGRAM_SUB;

	return error * error + width * width / 12;
}

static int add(const struct counted *counted, struct metric metric, const char *shown)
{
	struct metric *added;

	metric.class = METRIC_WINDOW;
	metric.window = counted->matched->text;
	added = metrics__add(counted->metrics, metric, counted->name);
	if (added)
		added->shown = strdup(shown);
	return added && added->shown ? 0 : -ENOMEM;
}

static const char *kind_words(const struct windows_matched *matched)
{
	int kind = window_words__find_kind(matched->kind);

	return kind < 0 ? "windows" : window_words__kind((enum window_words_kind)kind)->many;
}

static int add_counts(const struct counted *counted)
{
	const struct windows_matched *matched = counted->matched;
	double seconds = (double)counted->model->wall_ns / 1e9, count = (double)matched->count;
	double failed = (double)matched->failed / count;
	const struct metric number = { .measure = "count",
				       .unit = kind_words(matched),
				       .is_sum = true,
				       .worth = 1,
				       .value = count };
	const struct metric rate = { .measure = "rate",
				     .unit = "a second",
				     .worth = 1,
				     .value = count / seconds,
				     .variance = count / seconds / seconds };
	const struct metric part = { .measure = "failed",
				     .unit = "%",
				     .worth = 1,
				     .value = failed * 100,
				     .variance = failed * (1 - failed) / count * 1e4 };
	int err = add(counted, number, "how many");

	if (!err)
		err = add(counted, rate, "how many a second");
	return err ? err : add(counted, part, "how many of them failed");
}

static int add_lengths(const struct counted *counted)
{
	const struct windows_matched *matched = counted->matched;
	double sum = (double)matched->length_ns, count = (double)matched->count;
	struct metric metric = { .measure = "mean",
				 .unit = "ns",
				 .worth = 1,
				 .value = sum / count,
				 .count = matched->count,
				 .variance = variance_of_mean(sum, matched->square_ns, count) };
	int err = add(counted, metric, "from begin to end");

	for (int i = 0; i < PERCENTILES && !err; i++) {
		metric.measure = percentiles__words(i)->key;
		metric.value = (double)matched->percentiles_ns[i];
		metric.worth = i == P50 || i == P99;
		if (matched->percentiles_ns[i] < 0)
			continue;
		metric.variance = variance_of_percentile(
			matched, percentiles__words(i)->per_mille / 1000.0, metric.value);
		err = add(counted, metric, "from begin to end");
	}
	return err;
}

static int add_reason(const struct counted *counted, const struct windows_share *share)
{
	const struct windows_matched *matched = counted->matched;
	const struct windows_reason *reason = &counted->model->windows.reasons[share->reason];
	double count = (double)matched->count;
	char name[MOST_NAME] = "", shown[MOST_NAME] = "";
	struct metric *added;

	words__say(name, sizeof(name), "%s ", counted->name);
	model_windows__say_key(reason, name, sizeof(name));
	model_windows__say_reason(reason, shown, sizeof(shown));
	added = metrics__add(
		counted->metrics,
		(struct metric) {
			.class = METRIC_REASON,
			.measure = "time",
			.unit = "ns",
			.worth = (double)share->ns /
				 fmax((double)matched->length_ns * LEAST_OF_LENGTH, 1),
			.value = (double)share->ns / count,
			.count = matched->count,
			.variance = variance_of_mean((double)share->ns, share->square_ns, count),
			.window = matched->text,
		},
		name);
	if (!added)
		return -ENOMEM;
	added->shown = strdup(shown);
	return added->shown ? 0 : -ENOMEM;
}

int metrics__add_windows(struct metrics *metrics, const struct model *model)
{
	const struct windows *windows = &model->windows;
	int err = 0;

	for (size_t i = 0; i < windows->matched_count && !err; i++) {
		struct counted counted = { .metrics = metrics,
					   .model = model,
					   .matched = &windows->matched[i] };

		if (!counted.matched->count)
			continue;
		words__say(counted.name, sizeof(counted.name), "%s%s", DIFF_WINDOW,
			   counted.matched->text);
		err = add_counts(&counted);
		if (!err)
			err = add_lengths(&counted);
		for (size_t j = 0; j < counted.matched->share_count && !err; j++)
			err = add_reason(&counted, &counted.matched->shares[j]);
	}
	return err;
}
