/* What /proc says of a process: pure parsers of its lines. They allocate nothing. */
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

/* `line` without its newline. -EBADMSG, and *ret is left alone, if it is no such line. */
int maps__parse(const char *line, struct maps_line *ret);

/* Of /proc/PID/stat. */
#define MAPS_KERNEL_THREAD 0x00200000 /* PF_KTHREAD */
struct maps_stat {
	char state;     /* 'Z': it ended and its parent has not asked yet */
	uint64_t flags; /* PF_… of the kernel */
	uint64_t threads;
	uint64_t start_ticks; /* 1/100 s since boot */
};
int maps__parse_stat(const char *text, struct maps_stat *ret);
