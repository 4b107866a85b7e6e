/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of devices. The kernel half sends the kernel's dev_t: 12 bits major, 20 bits minor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICES_MINOR_BITS 20
#define DEVICES_MAJOR(dev) ((unsigned int)((dev) >> DEVICES_MINOR_BITS))
#define DEVICES_MINOR(dev) ((unsigned int)((dev) & ((1U << DEVICES_MINOR_BITS) - 1)))

/* The disk's name, "vda1". If the device is gone: its numbers, "254:1", and -errno. */
int devices__disk(uint32_t dev, char *ret, size_t size);

/*
 * What holds a file whose file system has this device: a disk ("vda1"), or the type of a file
 * system without a disk ("overlay", "tmpfs", "nfs4"), according to the mounts of process `pid`. ""
 * with -ENOENT if that is unknown or is the file system of /dev.
 */
int devices__under_file(uint32_t dev, uint32_t pid, char *ret, size_t size);

/* A line of mountinfo. */
struct devices_mount {
	uint32_t dev;
	char kind[64]; /* "ext4" */
	char source[256];
};

/* False, with *ret untouched, if the line cannot be parsed. */
bool devices__parse_mount(const char *line, struct devices_mount *ret);
/* Finds the mount of `dev` in the mountinfo file `path`; false if there is none. */
bool devices__find_mount(const char *path, uint32_t dev, struct devices_mount *ret);

/* "ext4 on vda1"; only the type if the source is no disk, path or host. */
void devices__name_mount(const struct devices_mount *mount, char *ret, size_t size);
/* The same by number, as gapless itself sees the mounts, or else "device 254:1". Keeps a cache. */
void devices__file_system(uint32_t dev, char *ret, size_t size);
