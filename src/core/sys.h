/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small queries to the system that several modules need. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* getpgid(nonce): harmless, unprivileged, and no other process asks for that process group. */
#define SYS_STIMULUS SYS_getpgid

/* A descriptor (close-on-exec) or -errno. */
int sys__perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/* Pins the calling thread to one CPU. Failure does no harm and is not reported. */
void sys__stay_on_cpu(int cpu);

/* The offset, in its file, of the code at `address` of this process. -ENOENT: not from a file. */
int sys__file_offset(uintptr_t address, uint64_t *ret_offset);

/* The highest number of an online CPU plus 1: the size of an array indexed by CPU. */
int sys__cpus(void);
/* The same with CPUs that may come online later. */
int sys__possible_cpus(void);

bool sys__exists(const char *path);

/* The first line of a small file without its newline, or "" with -errno. */
int sys__read_line(const char *path, char *ret, size_t size);

/* Where tracefs is mounted and readable, or NULL. */
const char *sys__tracefs(void);

/* The value after "Name:" in /proc/self/status, "" with -ENOENT if there is none. */
int sys__status(const char *name, char *ret, size_t size);
