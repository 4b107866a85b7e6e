/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums of all classes whose service or name has a text, for whoever compares recordings. Classes
 * are numbered differently in each recording, so texts are what recordings have in common.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/words.h"
#include "model/windows_internal.h"
#include "vocabulary/histogram.h"

bool model_windows__is_failure(const char *key)
{
	int status = window_words__find_status(key);

	return status == WORDS_STATUS_FAILED || status == WORDS_STATUS_ABANDONED;
}

/* The first kind, by rank, of which a class fits. */
static void find_kind(const struct windows *windows, struct windows_matched *matched)
{
	for (size_t i = 0; i < windows->class_count; i++) {
		const struct windows_class *class = &windows->classes[i];

		if (class->count && model_windows__fits(class, matched->text) &&
		    (!matched->kind ||
		     model_windows__rank(class->kind) < model_windows__rank(matched->kind)))
			matched->kind = class->kind;
	}
}

static bool is_in(const struct windows_matched *matched, const struct windows_class *class)
{
	return matched->kind && !strcmp(class->kind, matched->kind) &&
	       model_windows__fits(class, matched->text);
}

static void add_classes(const struct windows *windows, struct windows_matched *matched)
{
	for (size_t i = 0; i < windows->class_count; i++) {
		const struct windows_class *class = &windows->classes[i];

		if (!is_in(matched, class))
			continue;
		matched->class_count++;
		matched->count += class->count;
		matched->n += class->n;
		matched->length_ns += class->length_ns;
		matched->failed += model_windows__is_failure(class->status) ? class->count : 0;
	}
}

/* Counts are sorted by service and bucket, so one bucket can come several times. */
static int add_buckets(const struct windows_loading *loading, struct windows_matched *matched)
{
	int64_t counts[HISTOGRAM_BUCKETS] = {};

	for (size_t i = 0; i < loading->count_count; i++) {
		const struct windows_count *count = &loading->counts[i];

		if (is_in(matched, model_windows__class(loading, count->class)))
			counts[count->bucket] += count->count;
	}
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double middle = (double)percentiles__middle(i);
		struct bucket *added;

		if (!counts[i])
			continue;
		added = APPEND(&matched->buckets, &matched->bucket_count);
		if (!added)
			return -ENOMEM;
		*added = (struct bucket) { i, counts[i] };
		matched->square_ns += middle * middle * (double)counts[i];
	}
	percentiles__find(matched->buckets, matched->bucket_count, matched->count, 0,
			  matched->percentiles_ns);
	return 0;
}

static struct windows_share *share_of(struct windows_matched *matched, uint32_t reason)
{
	struct windows_share *added;

	for (size_t i = 0; i < matched->share_count; i++)
		if (matched->shares[i].reason == reason)
			return &matched->shares[i];
	added = APPEND(&matched->shares, &matched->share_count);
	if (added)
		added->reason = reason;
	return added;
}

/*
 * The sums of a bucket do not tell how a reason is spread over its windows. No window can have more
 * of a reason than its length, so the squares are at most the sum times the length.
 */
static int add_shares(const struct windows_loading *loading, struct windows_matched *matched)
{
	for (size_t i = 0; i < loading->time_count; i++) {
		const struct windows_time *time = &loading->times[i];
		struct windows_share *share;

		if (!time->ns || !is_in(matched, model_windows__class(loading, time->class)))
			continue;
		share = share_of(matched, time->reason);
		if (!share)
			return -ENOMEM;
		share->ns += time->ns;
		share->square_ns += (double)time->ns * (double)percentiles__middle(time->bucket);
	}
	return 0;
}

int model_windows__match(struct windows_loading *loading)
{
	struct windows *windows = loading->windows;
	const char *const *texts = windows->options.texts;
	int err = 0;

	for (; texts && *texts && !err; texts++) {
		struct windows_matched *matched =
			APPEND(&windows->matched, &windows->matched_count);

		if (!matched)
			return -ENOMEM;
		matched->text = *texts;
		find_kind(windows, matched);
		add_classes(windows, matched);
		err = add_buckets(loading, matched);
		if (!err)
			err = add_shares(loading, matched);
	}
	return err;
}
