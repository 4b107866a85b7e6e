/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status of a goroutine, as Go has it (runtime2.go), for both halves. */
#pragma once

#include <linux/types.h>

#include "vocabulary/runtimes.h"

/* The collector looks at the stack meanwhile: no state of its own. */
#define GO_STATUS_SCAN 0x1000U
#define GO_PREEMPTED   9

/* A state (enum fiber_state), or FIBER_STATES: it has not begun, or has ended. */
static inline __u32 go_state(__u32 status)
{
	switch (status & ~GO_STATUS_SCAN) {
	case 1:
		return FIBER_RUNNABLE;
	case 2:
	case 8: /* its stack is being moved */
		return FIBER_RUNNING;
	case 3:
		return FIBER_SYSCALL;
	case 4:
	case GO_PREEMPTED: /* suspended by the runtime */
	case 10:           /* leaked: it waits for what nobody can send any more */
		return FIBER_WAITING;
	default:
		return FIBER_STATES;
	}
}
