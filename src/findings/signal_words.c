/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/signal_words.h"

#include <string.h>

#include "base/words.h"
#include "findings/findings.h"
#include "vocabulary/histogram.h"

#define NAME_COLUMNS 40

/* If the average is within this factor of a hump's median, it describes that hump. */
#define DESCRIBES 1.5

/* "reads", "connects", "requests" */
static struct words plural(const struct signals_signal *signal, const struct signals_row *row)
{
	size_t length = strlen(row->operation);
	char last = length ? row->operation[length - 1] : '\0';
	struct words words = words__clean(length ? row->operation : signal->events, NAME_COLUMNS);

	if (length)
		words__say(words.text, sizeof(words.text), "%s",
			   last == 's' || last == 'h' ? "es" : "s");
	return words;
}

static void say_place(const struct signals_row *row, char *text, size_t size)
{
	if (strstr(row->place, " on "))
		words__say(text, size, " (%s)", words__clean(row->place, NAME_COLUMNS).text);
	else if (*row->place)
		words__say(text, size, " on %s", words__clean(row->place, NAME_COLUMNS).text);
}

void signal_words__what(const struct signals_signal *signal, const struct signals_row *row,
			char *text, size_t size)
{
	words__say(text, size, "%s", plural(signal, row).text);
	say_place(row, text, size);
}

void signal_words__events(const struct signals_signal *signal, const struct signals_row *row,
			  int64_t count, char *text, size_t size)
{
	words__say(text, size, "%s", words__count(count, plural(signal, row).text).text);
	say_place(row, text, size);
}

void signal_words__say_slowest(const struct signals_signal *signal, const struct signals_row *row,
			       const char *events, const char *took, char *text, size_t size)
{
	const struct model_histogram *histogram = &row->histograms[signal->main];
	enum percentile highest = percentiles__highest(row->percentiles[signal->main]);
	int per_mille = percentiles__words(highest)->per_mille;
	size_t i = histogram->bucket_count;
	int64_t slow = 0, ns = 0;

	/* Count from the slowest bucket down to the bucket that contains the percentile. */
	while (i &&
	       (double)(histogram->count - slow) * 1000 >= (double)histogram->count * per_mille)
		slow += histogram->buckets[--i].count;
	if (slow)
		ns = (int64_t)histogram_bucket_start((uint32_t)histogram->buckets[i].number);
	words__say(text, size, "%s of ", words__number(slow).text);
	if (events)
		words__say(text, size, "%s", words__count(histogram->count, events).text);
	else
		signal_words__events(signal, row, histogram->count, text, size);
	words__say(text, size, " %s %s or longer", took, words__time(ns).text);
}

void signal_words__say_percentiles(const struct signals_row *row, int measure, char *text,
				   size_t size)
{
	const int64_t *values = row->percentiles[measure];
	enum percentile highest = percentiles__highest(values);

	if (values[P50] < 0)
		return;
	words__say(text, size, "p50 %s", words__time(values[P50]).text);
	if (highest > P50)
		words__say(text, size, ", %s %s", percentiles__words(highest)->name,
			   words__time(values[highest]).text);
}

bool signal_words__who(const struct model_group *group, const struct model_thread *thread,
		       char *text, size_t size)
{
	char name[512];

	if (!group)
		return false;
	if (!thread && group->members == 1)
		thread = group->first;
	findings__name(group, thread, name, sizeof(name));
	words__say(text, size, "%s", name);
	return true;
}

bool signal_words__hump(const struct signals_signal *signal, const struct signals_row *row,
			struct hump *ret)
{
	const struct model_histogram *histogram;

	if (signal->main < 0)
		return false;
	histogram = &row->histograms[signal->main];
	return hump__find(histogram->buckets, histogram->bucket_count, ret);
}

void signal_words__say_hump(const struct signals_signal *signal, const struct signals_row *row,
			    const struct hump *hump, char *text, size_t size)
{
	int64_t whole = hump->low_count + hump->high_count, count = row->part.sum.count;
	int64_t average = count ? row->part.sum.sum[signal->main] / count : 0;

	words__say(text, size, "%s of the ", words__about(hump->low_count, whole).text);
	signal_words__events(signal, row, whole, text, size);
	words__say(text, size, " took about %s, but %s about %s", words__time(hump->low).text,
		   words__about(hump->high_count, whole).text, words__time(hump->high).text);
	if ((double)average > (double)hump->low * DESCRIBES &&
	    (double)average * DESCRIBES < (double)hump->high)
		words__say(text, size, ": the average of %s describes neither",
			   words__time(average).text);
}

/* Buckets are 12.5 % wide, and the tick comes a little late. */
static bool is_near(int64_t ns, int64_t tick_ns)
{
	double ratio = (double)ns / (double)tick_ns;

	return ratio > 0.85 && ratio < 1.15;
}

void signal_words__say_tick(const struct signals_signal *signal, const struct hump *hump,
			    int64_t tick_ns, char *text, size_t size)
{
	if (signal->role == ROLE_CPUS && tick_ns > 0 &&
	    (is_near(hump->low, tick_ns) || is_near(hump->high, tick_ns)))
		words__say(text, size, "; the kernel's tick is %s", words__time(tick_ns).text);
}

void signal_words__error(int64_t error, char *text, size_t size)
{
	const char *name = error > 0 && error <= INT32_MAX ? strerrorname_np((int)error) : NULL;

	if (name)
		words__say(text, size, "%s", name);
	else
		words__say(text, size, "errno %lld", (long long)error);
}
