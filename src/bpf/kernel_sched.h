/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The scheduler's types, as in kernel.h, which includes this. */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq {
	__u64 clock;
};

struct hrtimer {
	__s64 _softexpires;
};

struct cfs_bandwidth {
	__s64 period;
	__u64 quota;
	struct hrtimer period_timer;
};

struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct rq *rq;
	/* with CONFIG_CFS_BANDWIDTH: */
	struct task_group *tg;
	int throttle_count;
	__u64 throttled_clock_self; /* since 6.6 */
	__u64 throttled_clock_self_time;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

#pragma clang attribute pop
