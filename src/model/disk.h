/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the signal for disks says about a wait for a file: which device, how long its requests took,
 * and whether that explains the wait.
 *
 * If the requests took much less time than the wait, something else delayed it: the journal of the
 * file system, or a limit of a cgroup, which holds requests back before they are submitted. Such
 * requests are counted apart; their time does not include that of being held back.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/hump.h"

struct model;
struct model_group;
struct model_thread;

struct disk_question {
	/* Whose requests; NULL: those of all threads that were recorded. */
	bool (*takes)(const struct model_thread *thread, const void *context);
	const void *context;
	const char *device; /* a disk or a partition; NULL: the disk with most of their time */
};

struct disk {
	const char *device;    /* the disk, "vda" */
	const char *operation; /* the one that took most of the time, "read" */
	/* The requests of the threads to that disk: */
	int64_t requests;
	int64_t limited; /* how many of them a limit of their cgroup held back */
	int64_t total_ns;
	int64_t queue_ns;   /* part of total_ns before the device got them; 0 if unknown */
	int64_t service_ns; /* the rest; total_ns if unknown */
	/* The requests of all recorded threads for `operation` on that disk; -1: too few: */
	int64_t p50_ns, p90_ns;
	int64_t service_p50_ns, service_p90_ns;
	bool has_humps;
	struct hump humps; /* only if has_humps */
};

/* False if there are no such requests, or the signal was not recorded. */
bool disk__find(const struct model *model, const struct disk_question *question, struct disk *ret);
/* The same for the threads of a group. */
bool disk__of_group(const struct model *model, const struct model_group *group, const char *device,
		    struct disk *ret);

/*
 * The device in the name of a file, "vda1" in "/srv/a on vda1"; "" if there is none. It can be the
 * type of a file system, "tmpfs".
 */
void disk__device_of(const char *name, char *ret, size_t size);
