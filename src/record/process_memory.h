/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Resident memory of processes, as /proc/PID/status has it. */
#pragma once

#include <stdint.h>

#include "recording/memory_rows.h"

/*
 * Sets the four kinds from the text of /proc/PID/status. -ENOENT: one is missing, as all are in a
 * kernel thread; *ret is not changed then.
 */
int process_memory__parse(const char *text, struct recording_resident *ret);

/* Writes what a process has at `time_ns`. Nothing is written for a process that is gone. */
int process_memory__write(struct recording *recording, int64_t process, uint32_t pid,
			  uint64_t time_ns);
