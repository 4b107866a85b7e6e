/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows that an agent sends to the store, table by table, and the columns that they are sent as.
 * store/schema.c has the same columns in SQL, and gapless-store(7) describes them.
 *
 * Pure. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fold/bucket.h"
#include "fold/workload.h"
#include "store/native.h"

/* In the order in which the tables of a minute are sent. */
enum fact_table {
	FACT_LEDGER,
	FACT_WORKLOAD,
	FACT_QUALITY,
	FACT_HISTOGRAMS,
	FACT_SAMPLES,
	FACT_STACKS,
	FACT_MODULES,
	FACT_TABLES,
};

/* This host, since its boot. Strings are never NULL; "" is unknown. */
struct fact_host {
	uint64_t host_id;
	/* "": the column is not sent, so that the server sets it (gapless-store(7)). */
	const char *tenant;
	const char *cluster, *name, *kernel, *machine;
	uint16_t cpus;
};

struct fact_context {
	const struct fact_host *host;
	uint64_t bucket_s; /* begin of the minute, Unix time */
	/* NULL: not known; then the service is FACT_UNKNOWN. */
	const struct workload *(*find)(void *context, uint64_t id);
	void *find_context;
};

#define FACT_UNKNOWN "(unknown)"

struct fact_quality {
	const char *name;
	uint64_t value;
};

/* Buckets have the numbers of vocabulary/histogram.h, in ascending order. */
struct fact_histogram {
	uint64_t workload; /* 0: of the host; then the service is "" */
	const char *signal, *measure, *place, *operation;
	const uint16_t *buckets;
	const uint64_t *counts;
	size_t bucket_count;
	uint64_t sum, max;
};

struct fact_sample {
	uint64_t workload;
	uint8_t slot, kind; /* enum ledger_slot, enum kind */
	uint64_t stack, waker_stack;
	uint64_t ns; /* sum of weights */
	float ns2;   /* sum of squared weights */
	uint32_t n;
};

struct fact_stack {
	uint64_t stack;
	const uint64_t *modules, *offsets; /* root first */
	size_t depth;
};

struct fact_module {
	uint64_t module;
	const char *build_id, *kind, *path;
	uint64_t size;
	uint64_t first_seen_s, last_seen_s;
};

/* The samples of a minute, with all stacks that they refer to and all modules of these. */
struct fact_profile {
	const struct fact_sample *samples;
	size_t sample_count;
	const struct fact_stack *stacks;
	size_t stack_count;
	const struct fact_module *modules;
	size_t module_count;
	uint64_t duration_ns; /* the time of the minute that the samples stand for */
};

const struct native_table *fact__table(enum fact_table table);
/* FACT_TABLES: there is no table of that name. */
enum fact_table fact__find(const char *name);
/* Whether rows have (host_id, bucket), so that the store can be asked for the rows of a minute. */
bool fact__can_be_counted(enum fact_table table);

/*
 * Encodes rows of a table. `rows` is an array of struct bucket_row, workload, fact_quality,
 * fact_histogram, fact_sample, fact_stack or fact_module. See native__encode().
 */
int fact__encode(enum fact_table table, const struct fact_context *context, const void *rows,
		 size_t count, size_t most_bytes, native_emit_fn emit, void *emit_context);
