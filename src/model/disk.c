/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/disk.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model/model.h"

/* Operations on requests that a limit held back: "limited write". */
#define LIMITED "limited "

/*
 * Whether `device` is the disk or one of its partitions: "sda1" of "sda", "nvme0n1p2" of "nvme0n1".
 * A disk whose name ends with a digit has a 'p' before the number of the partition.
 */
static bool is_on(const char *device, const char *disk)
{
	size_t length = strlen(disk), digits;

	if (!length || strncmp(device, disk, length))
		return false;
	device += length;
	if (!*device)
		return true;
	if (isdigit((unsigned char)disk[length - 1]) && *device++ != 'p')
		return false;
	digits = strspn(device, "0123456789");
	return digits && !device[digits];
}

static bool is_wanted(const struct disk_question *question, const struct signals_series *series)
{
	if (!question->takes)
		return true;
	return series->thread && question->takes(series->thread, question->context);
}

static bool is_at(const struct disk_question *question, const struct signals_row *row)
{
	return !question->device || is_on(question->device, row->place);
}

/* The row with most of the time of the threads; if they have none, with most of all time. */
static const struct signals_row *find_row(const struct signals_signal *signal,
					  const struct disk_question *question)
{
	const struct signals_row *most = NULL;
	int64_t most_ns = 0, ns = 0;

	for (size_t i = 0; i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];
		const struct signals_row *row = &signal->rows[series->row];

		if (i && series->row != series[-1].row)
			ns = 0;
		if (!is_at(question, row) || !is_wanted(question, series))
			continue;
		ns += series->sum.sum[signal->main];
		if (ns > most_ns) {
			most_ns = ns;
			most = row;
		}
	}
	for (size_t i = 0; i < signal->row_count && !most && question->device; i++)
		if (is_at(question, &signal->rows[signal->ranks[i]]))
			return &signal->rows[signal->ranks[i]];
	return most;
}

static bool is_limited(const struct signals_row *row)
{
	return !strncmp(row->operation, LIMITED, strlen(LIMITED));
}

static void add_requests(const struct signals_signal *signal, const struct disk_question *question,
			 struct disk *disk)
{
	int queue = signals__measure(signal, "queue");

	for (size_t i = 0; i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];

		if (strcmp(signal->rows[series->row].place, disk->device) ||
		    !is_wanted(question, series))
			continue;
		disk->requests += series->sum.count;
		if (is_limited(&signal->rows[series->row]))
			disk->limited += series->sum.count;
		disk->total_ns += series->sum.sum[signal->main];
		disk->queue_ns += queue < 0 ? 0 : series->sum.sum[queue];
	}
	disk->service_ns = disk->total_ns - disk->queue_ns;
}

bool disk__find(const struct model *model, const struct disk_question *question, struct disk *ret)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_DISKS);
	const struct model_histogram *histogram;
	const struct signals_row *row;
	int service;

	if (!signal || signal->main < 0)
		return false;
	row = find_row(signal, question);
	if (!row)
		return false;
	service = signals__measure(signal, "service");
	*ret = (struct disk) {
		.device = row->place,
		.operation = row->operation,
		.p50_ns = row->percentiles[signal->main][P50],
		.p90_ns = row->percentiles[signal->main][P90],
		.service_p50_ns = service < 0 ? -1 : row->percentiles[service][P50],
		.service_p90_ns = service < 0 ? -1 : row->percentiles[service][P90],
	};
	histogram = &row->histograms[signal->main];
	ret->has_humps = hump__find(histogram->buckets, histogram->bucket_count, &ret->humps);
	add_requests(signal, question, ret);
	return true;
}

static bool is_member(const struct model_thread *thread, const void *group)
{
	return thread->group == group;
}

bool disk__of_group(const struct model *model, const struct model_group *group, const char *device,
		    struct disk *ret)
{
	const struct disk_question question = { is_member, group, device };

	return disk__find(model, &question, ret);
}

void disk__device_of(const char *name, char *ret, size_t size)
{
	const char *found = NULL;

	for (const char *at = strstr(name, " on "); at; at = strstr(at + 1, " on "))
		found = at + strlen(" on ");
	snprintf(ret, size, "%s", found ? found : "");
}
