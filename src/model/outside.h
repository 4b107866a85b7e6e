/*
 * The time outside syscalls (run.user) and what is in it. No hook marks the return to user space,
 * so the sum is exact, and clock ticks divide it: into the program's own code, page faults and
 * other work of the kernel (signals, clearing up after a call, interrupts). Page faults are
 * counted exactly.
 */
#pragma once

#include "model/hot.h"

enum outside_part { OUTSIDE_OWN, OUTSIDE_FAULTS, OUTSIDE_KERNEL, OUTSIDE_PARTS };

struct outside {
	int64_t ns;                          /* exact, without gapless's own threads */
	struct hot_sum parts[OUTSIDE_PARTS]; /* by ticks, and … */
	struct hot_sum sampled;              /* … all of them */
	int64_t crossing_ns;                 /* taken off for each syscall; 0: nothing was */
	bool has_faults;                     /* they were counted: */
	int64_t minor, major;
	int64_t loaded; /* their sum: load.h */
};

/* A tick in the state run.user, at a node of hot.nodes; `in_kernel` if it hit the kernel. */
void outside__add(struct model *model, uint32_t node, bool in_kernel, const struct hot_sum *tick);

/* A part in time and in hundredths, and its error likewise; the sum is known exactly. */
struct outside_share {
	int64_t ns, error_ns;
	double percent, error_percent;
};
struct outside_share outside__share(const struct outside *outside, enum outside_part part);

/* "own", "page_faults", "other_kernel" */
const char *outside__name(enum outside_part part);
/* As a sentence; "" if there is no such time. */
void outside__say(const struct model *model, char *text, size_t size);
