/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time outside syscalls (run.user) and what it consists of. No hook marks the return to user
 * space, so only the sum is exact. Clock ticks divide it into the program's own code, page faults
 * and other work of the kernel (signals, cleanup after a syscall, interrupts). The number of page
 * faults is exact.
 */
#pragma once

#include "model/hot.h"

enum user_time_part { USER_TIME_OWN, USER_TIME_FAULTS, USER_TIME_KERNEL, USER_TIME_PARTS };

struct user_time {
	int64_t ns;                            /* exact, without gapless's own threads */
	struct hot_sum parts[USER_TIME_PARTS]; /* estimated from ticks */
	struct hot_sum sampled;                /* sum of `parts` */
	int64_t crossing_ns; /* subtracted for each syscall; 0: nothing was subtracted */
	bool has_faults;     /* the recording has counts of page faults */
	int64_t minor, major;
	int64_t loaded; /* their sum, for load__amount() */
};

/*
 * Adds a tick in the state run.user at a node of hot.nodes. `in_kernel`: the tick hit kernel code.
 */
void user_time__add(struct model *model, uint32_t node, bool in_kernel, const struct hot_sum *tick);

/* The estimate of a part, with its error. All parts add up to outside.ns, which is exact. */
struct user_time_share {
	int64_t ns, error_ns;
	double percent, error_percent;
};
struct user_time_share user_time__share(const struct user_time *time, enum user_time_part part);

/* "own", "page_faults", "other_kernel" */
const char *user_time__name(enum user_time_part part);
/* As a sentence; "" if there is no time outside syscalls. */
void user_time__say(const struct model *model, char *text, size_t size);
