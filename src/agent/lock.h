/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One agent per machine: a lock in its state directory, which is made if it is missing. */
#pragma once

/*
 * A descriptor that holds the lock until it is closed. On failure, logs the reason and returns
 * -errno; -EBUSY: another agent has it.
 */
int lock__take(const char *folder);
