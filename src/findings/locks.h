/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the waits for a lock look like, and sentences about it. From a signal of ROLE_LOCKS. */
#pragma once

#include "findings/findings.h"

enum lock_shape {
	LOCK_PLAIN,  /* none of the others, or not known */
	LOCK_CONVOY, /* its waiters hand it to each other; held briefly, hardly ever free */
	LOCK_LONG,   /* held for long each time */
	LOCK_HERD,   /* many are woken at once, all but one wait again */
};

/* locks.c has the conditions, gapless-signal-locks(7) too. */
enum lock_shape findings_locks__shape(const struct model *model,
				      const struct signals_signal *signal,
				      const struct signals_lock *lock);
/* "convoy"; "" for LOCK_PLAIN. */
const char *findings_locks__word(enum lock_shape shape);

/*
 * Appends a sentence for the lock with most waiting time of those that have a shape, unless there
 * are `most` findings already. Returns the new total.
 */
size_t findings_locks__make(const struct model *model, struct finding *findings, size_t count,
			    size_t most);
