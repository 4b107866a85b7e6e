/* Names of devices that the kernel half knows by the kernel's dev_t: 12 bits major, 20 minor. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICES_MINOR_BITS 20
#define DEVICES_MAJOR(dev) ((unsigned int)((dev) >> DEVICES_MINOR_BITS))
#define DEVICES_MINOR(dev) ((unsigned int)((dev) & ((1U << DEVICES_MINOR_BITS) - 1)))

/* "vda1"; its numbers, "254:1", and -errno if it is gone. */
int devices__disk(uint32_t dev, char *ret, size_t size);

/*
 * On what a file is whose file system has this device: "vda1", or the kind of a file system that is
 * on no disk ("overlay", "tmpfs", "nfs4"), as the process has it mounted. "" with -ENOENT if that
 * cannot be told, or is where devices themselves are (/dev).
 */
int devices__under_file(uint32_t dev, uint32_t pid, char *ret, size_t size);

/* A line of mountinfo. */
struct devices_mount {
	uint32_t dev;
	char kind[64]; /* "ext4" */
	char source[256];
};

/* False, with *ret untouched, if it is no such line. */
bool devices__parse_mount(const char *line, struct devices_mount *ret);
/* What is mounted from `dev`, by this file; false if nothing is. */
bool devices__find_mount(const char *path, uint32_t dev, struct devices_mount *ret);
