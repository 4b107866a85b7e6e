/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resident memory of processes over time, by kind. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RESIDENT_PROCESSES 64
#define RESIDENT_POINTS    120

struct model;
struct sqlite3;

enum resident_kind {
	RESIDENT_ANONYMOUS,
	RESIDENT_FILE,
	RESIDENT_SHARED,
	RESIDENT_SWAP, /* not resident, and in no total */
	RESIDENT_KINDS,
};

struct resident_point {
	int64_t time_ns;
	int64_t bytes[RESIDENT_KINDS];
};

struct resident_process {
	int64_t process, pid;
	const char *comm;
	int64_t readings;
	struct resident_point first, last;
	struct resident_point peak; /* the reading with the highest total */
	/* The last reading of each interval; the model's cut has RESIDENT_POINTS intervals. */
	struct resident_point points[RESIDENT_POINTS];
	size_t point_count;
};

/* The processes of the target with the highest peaks, the highest first. */
struct resident {
	struct resident_process *list;
	size_t count;
};

int resident__load(struct model *model, struct sqlite3 *db);

int64_t resident__total(const struct resident_point *point);
/* "anonymous", "file", "shared", "swap" */
const char *resident__name(enum resident_kind kind);
