/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block devices that a test makes, and removes even if it fails. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loop device over a new file of so many bytes; fails the test if there can be none. */
struct loop {
	char device[32]; /* "/dev/loop0" */
	char file[128];
	char max_sectors_kb[32]; /* settings outlive the file behind the device */
	char nomerges[32];
};

struct loop loop__new(uint64_t bytes);
/* Makes the file shorter than the device believes. */
void loop__cut(const struct loop *loop, uint64_t bytes);
void loop__free(struct loop *loop);

/* A compressed RAM disk, which has no requests. False: this kernel has none. */
bool zram__new(const char *size, char *ret, size_t ret_size);
/* Does nothing if `device` is "". */
void zram__free(char *device);

/* Whether this kernel has device mapper. */
bool dm__exists(void);
/* One line of a table: `sectors` of the device from `start` on. */
struct dm_line {
	uint64_t start;
	uint64_t sectors;
	const char *target;     /* "linear" */
	const char *parameters; /* "/dev/nullb0 0" */
};
/* Its path, "/dev/dm-0", goes to ret. */
void dm__new(const char *name, const struct dm_line *lines, size_t count, char *ret, size_t size);
void dm__free(const char *name);

/*
 * A new folder on a disk; fails the test if there can be none. In the VMs everything but the disk
 * is in memory, so the disk gets a file system there. There is one such folder at a time.
 */
const char *disk_folder__new(void);
/* The folder must be empty. 0, or -1 and errno. */
int disk_folder__free(void);

/* "loop0" */
const char *device_name(const char *path);
/* A number or the first word of /sys/block/DEVICE/queue/WHAT. */
void queue_setting(const char *path, const char *what, char *ret, size_t size);
void set_queue(const char *path, const char *what, const char *value);
