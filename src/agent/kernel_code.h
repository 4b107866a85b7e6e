/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the kernel's code is: its own text and its modules, each with its build-id. Frames in it
 * are sent as offsets from the begin of the text, so that the random base does not matter.
 *
 * Nothing here logs. One thread only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/code_wire.h"

#define KERNEL_CODE_NAME_BYTES 80

struct kernel_code_part {
	uint64_t begin, end;
	/* "vmlinux" begins at _text, "vmlinux (from _stext)" there; or "ext4.ko" */
	char name[KERNEL_CODE_NAME_BYTES];
	char build_id[CODE_BUILD_ID_BYTES];
};

struct kernel_code;

/* Without the privilege to see addresses, it knows no parts. -ENOMEM. */
int kernel_code__new(struct kernel_code **ret);
void kernel_code__free(struct kernel_code *code);

/*
 * The part with this address, valid until the next call; NULL: none, as for BPF programs. Reads the
 * list of modules again if the list is more than a second old and the address is in none, or if it
 * is more than ten seconds old and the address is in a module, which may be gone.
 */
const struct kernel_code_part *kernel_code__find(struct kernel_code *code, uint64_t address);

/*
 * The range from _text, or _stext, to _etext in /proc/kallsyms, without the build-id. The name says
 * which, because they are not the same everywhere: arm64 has 64 kB in between, and a kernel without
 * CONFIG_KALLSYMS_ALL lists only _stext there. -ENOENT: hidden.
 */
int kernel_code__parse_symbols(FILE *file, struct kernel_code_part *ret);
/* The build-id among ELF notes, in hexadecimal. -ENOENT: none. */
int kernel_code__parse_notes(const void *bytes, size_t size, char ret[static CODE_BUILD_ID_BYTES]);
/*
 * Sorts modules, and ends each where the next begins. Since Linux 6.4, a module has several areas:
 * its size in /proc/modules is that of all of them, and its address that of its text.
 */
void kernel_code__separate(struct kernel_code_part *parts, size_t count);
/* A line of /proc/modules: name and range; without the build-id. -ENOENT: hidden, or not a line. */
int kernel_code__parse_module(const char *line, struct kernel_code_part *ret);
