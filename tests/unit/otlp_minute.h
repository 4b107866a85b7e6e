/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small minute of samples, for tests of profiles. */
#pragma once

#include <stddef.h>

#include "base/clock.h"
#include "store/fact.h"
#include "vocabulary/slots.h"

#define MINUTE_HOST_ID UINT64_C(0x123456789abcdef0)
#define MINUTE_NS      UINT64_C(5001723) /* in all samples */
#define MINUTE_COUNT   8
#define MINUTE_SERIES  4

static const struct fact_module minute_modules[] = {
	{ 10, "aa11", "file", "/usr/bin/cart", 0x20000, 0, 0 },
	{ 20, "bb22", "file", "/usr/lib/libc.so.6", 0x200000, 0, 0 },
	{ 30, "cc33", "kernel", "vmlinux", 0, 0, 0 },
	{ 40, "dd44", "file", "/unused", 0, 0, 0 },
};

static const struct fact_stack minute_stacks[] = {
	{ 100, (const uint64_t[]) { 10, 20, 30 }, (const uint64_t[]) { 0x1000, 0x2345, 0x10 }, 3 },
	{ 101, (const uint64_t[]) { 10, 10 }, (const uint64_t[]) { 0x1000, 0x1100 }, 2 },
};

static const struct fact_sample minute_samples[] = {
	{ .workload = 3, .slot = SLOT_WAIT_NET, .stack = 101, .ns = 3, .n = 1 },
	{ .workload = 1, .slot = SLOT_WAIT_LOCK_OWNED, .stack = 100, .ns = 5000000, .n = 3 },
	{ .workload = 1, .slot = SLOT_RUN_USER, .stack = 101, .ns = 1000, .n = 2 },
	{ .workload = 2, .slot = SLOT_RUN_USER, .stack = 0, .ns = 20, .n = 1 },
	{ .workload = 1, .slot = SLOT_WAIT_DISK, .stack = 100, .ns = 700, .n = 1 },
};

static const struct fact_profile minute_profile = {
	.samples = minute_samples,
	.sample_count = sizeof(minute_samples) / sizeof(*minute_samples),
	.stacks = minute_stacks,
	.stack_count = sizeof(minute_stacks) / sizeof(*minute_stacks),
	.modules = minute_modules,
	.module_count = sizeof(minute_modules) / sizeof(*minute_modules),
	.duration_ns = UINT64_C(60000000000),
};

static inline const struct workload *minute_find(void *context, uint64_t id)
{
	static const struct workload cart = { .id = 1,
					      .service = (char *)"cart",
					      .namespace_name = (char *)"shop" };
	static const struct workload db = { .id = 2,
					    .service = (char *)"db",
					    .namespace_name = (char *)"" };

	return id == 1 ? &cart : id == 2 ? &db : NULL;
}

/* The context of the minute that ended last. */
static inline struct fact_context minute_context(void)
{
	static const struct fact_host host = { .host_id = MINUTE_HOST_ID };
	uint64_t now_s = clock__read_ns(CLOCK_REALTIME) / 1000000000;

	return (struct fact_context) { .host = &host,
				       .bucket_s = now_s / 60 * 60 - 60,
				       .find = minute_find };
}
