/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What findings say about waiting for a disk: which device, which file, and whether requests were
 * queued or slow.
 */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "findings/signal_words.h"
#include "findings/signals.h"
#include "model/disk.h"

#define OBJECT_COLUMNS 100
#define MOSTLY_PERCENT 50
/* A file is named as the reason if it took at least this share of the time to explain. */
#define EXPLAINS_PERCENT 10
#define HUMP_FACTOR      4
/* Fewer pages read again do not hurt. */
#define LEAST_REFAULTS 1000

/* Says whether requests were queued or slow. */
static void say_queue(const struct signals_signal *signal, const struct signals_row *row,
		      char *text, size_t size)
{
	const struct signals_sum *sum = &row->part.sum;
	int queue = signals__measure(signal, "queue"), depth = signals__measure(signal, "depth");
	int service = signals__measure(signal, "service");

	if (queue < 0 || service < 0 || !sum->sum[signal->main])
		return;
	if (!model__reaches(sum->sum[queue], sum->sum[signal->main], MOSTLY_PERCENT)) {
		words__say(text, size, "; the device itself took %s of that time",
			   words__about(sum->sum[service], sum->sum[signal->main]).text);
		return;
	}
	words__say(text, size, "; %s of that time is queueing",
		   words__about(sum->sum[queue], sum->sum[signal->main]).text);
	if (depth >= 0 && sum->sum[depth])
		words__say(text, size, " (%.1f requests in flight on average)",
			   (double)sum->sum[depth] / (double)sum->count);
	if (row->percentiles[service][P50] >= 0)
		words__say(text, size, ", the device itself took %s (p50)",
			   words__time(row->percentiles[service][P50]).text);
}

static void say_second_hump(const struct signals_signal *signal, const struct signals_row *row,
			    char *text, size_t size)
{
	struct hump hump;

	if (signal_words__hump(signal, row, &hump))
		words__say(text, size, ", %s in a second hump at %s",
			   words__about(hump.high_count, hump.low_count + hump.high_count).text,
			   words__time(hump.high).text);
}

static bool is_groups(const struct signals_signal *signal, const struct signals_series *series,
		      const void *context)
{
	return series->object && series->thread && series->thread->group == context;
}

static void release_parts(struct signals_parts *parts)
{
	free(parts->list);
}

/* Appends the file that took most of a group's file time, if that can explain waiting for `ns`. */
static void say_file(const struct model *model, const struct model_group *group, int64_t ns,
		     char *text, size_t size)
{
	const struct signals_signal *files = signals__of(&model->signals, ROLE_FILES);
	const struct signals_way way = { is_groups, signals__by_object, group, false };
	cleanup(release_parts) struct signals_parts parts = {};
	int64_t whole = 0;
	struct words name;

	if (!files || !group || files->main < 0 || signals__divide(files, &way, &parts))
		return;
	for (size_t i = 0; i < parts.count; i++)
		whole += parts.list[i].size;
	if (!parts.count || !model__reaches(parts.list->size, whole, MOSTLY_PERCENT) ||
	    !model__reaches(parts.list->size, ns, EXPLAINS_PERCENT))
		return;
	name = words__clean(parts.list->first->object->name, OBJECT_COLUMNS);
	/* Do not name the file again if the text about the wait already does. */
	if (!strstr(text, name.text))
		words__say(text, size, "; mostly %s (%s of the time with files)", name.text,
			   words__about(parts.list->size, whole).text);
}

void findings_signals__say_disk(const struct model *model, const struct signals_signal *block,
				const struct signals_row *row, const struct model_group *group,
				struct finding *finding)
{
	size_t size = sizeof(finding->text);

	if (row) {
		say_second_hump(block, row, finding->text, size);
		say_queue(block, row, finding->text, size);
	}
	say_file(model, group, finding->ns, finding->text, size);
}

/* Returns the row that has most of a group's disk time, and all of that time. */
static const struct signals_row *row_of_group(const struct signals_signal *signal,
					      const struct model_group *group, int64_t *ret_ns)
{
	const struct signals_row *most = NULL;
	int64_t most_size = 0, size = 0;

	*ret_ns = 0;
	for (size_t i = 0; i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];

		if (i && series->row != series[-1].row)
			size = 0;
		if (!series->thread || series->thread->group != group)
			continue;
		size += series->sum.sum[signal->main];
		*ret_ns += series->sum.sum[signal->main];
		if (size <= most_size)
			continue;
		most_size = size;
		most = &signal->rows[series->row];
	}
	return most;
}

/* The same operation of the group on another device that is much faster: the times have two humps.
 */
static void say_other_device(const struct signals_signal *block, const struct signals_row *row,
			     const struct model_group *group, char *text, size_t size)
{
	for (size_t i = 0; i < block->series_count; i++) {
		const struct signals_row *other = &block->rows[block->series[i].row];
		int64_t p50_ns = other->percentiles[block->main][P50];

		if (other == row || strcmp(other->operation, row->operation) || p50_ns < 0 ||
		    !block->series[i].thread || block->series[i].thread->group != group ||
		    p50_ns * HUMP_FACTOR > row->percentiles[block->main][P50])
			continue;
		words__say(text, size, ", while ");
		signal_words__events(block, other, other->part.sum.count, text, size);
		words__say(text, size, " took %s (p50): two humps", words__time(p50_ns).text);
		return;
	}
}

/* A limit of the cgroup that held requests back before the device got them. */
static void say_limit(const struct model *model, const struct model_group *group, char *text,
		      size_t size)
{
	const struct model_limit *limit = model__limit(model, group->first->process, "io");
	struct disk disk;

	if (!disk__of_group(model, group, NULL, &disk) || !disk.limited)
		return;
	words__say(text, size, "; an I/O limit of its cgroup");
	if (limit)
		words__say(text, size, " %s (%s)", words__clean(limit->cgroup, OBJECT_COLUMNS).text,
			   words__clean(limit->value, OBJECT_COLUMNS).text);
	words__say(text, size, " held back %s", words__count(disk.limited, "requests").text);
}

/*
 * The kernel counts the pages for the whole cgroup. A read that waits may bring several pages, but
 * with fewer pages than that, most waits were for something else.
 */
void findings_signals__say_refaults(const struct model *model, const struct model_group *group,
				    int64_t waits, struct finding *finding)
{
	const struct model_limit *limit = model__limit(model, group->first->process, "memory");

	if (!limit || limit->refaults < LEAST_REFAULTS ||
	    !model__reaches(limit->refaults, waits, MOSTLY_PERCENT))
		return;
	words__say(finding->text, sizeof(finding->text),
		   "; in its cgroup %s, whose memory limit is %s, %s were read again after they had"
		   " been evicted (refaults)",
		   words__clean(limit->cgroup, OBJECT_COLUMNS).text,
		   words__clean(limit->value, OBJECT_COLUMNS).text,
		   words__count(limit->refaults, "pages").text);
}

void findings_signals__say_rereads(const struct model *model, const struct model_group *group,
				   struct finding *finding)
{
	const struct model_wait *longest = NULL;
	size_t before = strlen(finding->text);
	int64_t waits = 0;

	for (size_t i = 0; i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];

		if (wait->waiter->group != group || wait->state->slot != SLOT_WAIT_DISK)
			continue;
		waits += wait->count;
		if (!longest && wait->object_kind && !strcmp(wait->object_kind, "file"))
			longest = wait;
	}
	if (longest)
		findings_signals__say_refaults(model, group, waits, finding);
	if (strlen(finding->text) > before)
		words__say(finding->text, sizeof(finding->text),
			   "; of its waits for the disk, those with file %s were the longest",
			   words__clean(longest->object_name, OBJECT_COLUMNS).text);
}

void findings_signals__join(const struct model *model, const struct model_group *group,
			    struct finding *finding, const struct signals_row **ret_row)
{
	const struct signals_signal *block = signals__of(&model->signals, ROLE_DISKS);
	size_t size = sizeof(finding->text);
	const struct signals_row *row = NULL;
	int64_t requests_ns = 0;

	if (block && block->main >= 0)
		row = row_of_group(block, group, &requests_ns);
	if (!row || !row->histograms[block->main].count) {
		findings_signals__say_disk(model, block, NULL, group, finding);
		return;
	}
	words__say(finding->text, size, "; ");
	signal_words__events(block, row, row->part.sum.count, finding->text, size);
	words__say(finding->text, size, " took ");
	if (row->percentiles[block->main][P50] < 0 && row->part.sum.count)
		words__say(finding->text, size, "%s%s",
			   words__time(row->part.sum.sum[block->main] / row->part.sum.count).text,
			   row->part.sum.count > 1 ? " on average" : "");
	signal_words__say_percentiles(row, block->main, finding->text, size);
	*ret_row = row;
	say_other_device(block, row, group, finding->text, size);
	if (model__reaches(requests_ns, finding->ns, MOSTLY_PERCENT)) {
		findings_signals__say_disk(model, block, row, group, finding);
		return;
	}
	/*
	 * The rest may be requests of the journal or of the flusher, a limit, writeback of other
	 * processes' data, or a lock in the file system.
	 */
	words__say(
		finding->text, size,
		", and all requests made from there %s: the rest of the waiting was not spent in "
		"requests that it submitted itself",
		words__time(requests_ns).text);
	say_limit(model, group, finding->text, size);
	findings_signals__say_disk(model, block, NULL, group, finding);
}
