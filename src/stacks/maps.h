/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parsers for lines of /proc/PID. They allocate nothing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* One line of /proc/PID/maps. */
struct maps_line {
	uint64_t begin, end;
	uint64_t offset; /* of `begin` in the file */
	uint64_t device; /* MAPS_DEVICE() */
	uint64_t inode;  /* 0: no file */
	bool executable;
	const char *path; /* points into the line; "" if it has none */
};
#define MAPS_DEVICE(major, minor) ((uint64_t)(major) << 32 | (uint32_t)(minor))

/* `line` has no newline. -EBADMSG if it is invalid; then *ret is unchanged. */
int maps__parse(const char *line, struct maps_line *ret);

/* From /proc/PID/stat. */
#define MAPS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
struct maps_stat {
	char state;     /* 'Z': ended, but not reaped yet */
	uint64_t flags; /* PF_… flags of the kernel */
	uint64_t threads;
	uint64_t start_ticks; /* 1/100 s since boot */
};
int maps__parse_stat(const char *text, struct maps_stat *ret);
