/* Small questions to the system, asked from more than one place. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

/* getpgid(nonce): harmless, unprivileged, and nobody else asks for that process group. */
#define SYS_STIMULUS SYS_getpgid

/* A descriptor (close-on-exec) or -errno. */
int sys__perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);

/* Keeps the calling thread on one CPU; failure does no harm and is not told. */
void sys__stay_on_cpu(int cpu);

/* Where in its own file the code at `address` of this process comes from. -ENOENT: from none. */
int sys__file_offset(uintptr_t address, uint64_t *ret_offset);

/* One more than the highest number of a CPU that is online: as many as an array by CPU needs. */
int sys__cpus(void);

bool sys__exists(const char *path);

/* The first line of a small file without its newline, or "" with -errno. */
int sys__read_line(const char *path, char *ret, size_t size);

/* Where tracefs is mounted and readable, or NULL. */
const char *sys__tracefs(void);

/* The value behind "Name:" in /proc/self/status, "" with -ENOENT if there is none. */
int sys__status(const char *name, char *ret, size_t size);
