/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The phases of the workload `phases`. Each starts its threads and returns when they have ended. */
#pragma once

#include "workload.h"

/* How often a phase waits, and how long each time. */
#define ROUNDS  3
#define WAIT_NS (100 * MS)

/* What O_DIRECT reads from: a block device, or NULL for a file of our own. */
extern const char *disk_path;

void phase_spin(void);
void phase_calls(void);
void phase_sleep(void);
void phase_crowd(void);
void phase_lock(void);
void phase_cond(void);
void phase_child(void);
void phase_tcp(void);
void phase_unix(void);
void phase_accept(void);
void phase_pipe(void);
void phase_poll(void);
void phase_epoll(void);
void phase_disk(void);
void phase_fault(void);
