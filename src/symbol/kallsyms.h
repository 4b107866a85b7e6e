/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/kallsyms: the names in the kernel, in its modules and in BPF programs. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct kallsyms_entry;

/* All zeroes: empty. */
struct kallsyms {
	char *names;
	size_t names_size, names_capacity;
	struct kallsyms_entry *entries;
	size_t count;
};

/*
 * Reads lines "ADDRESS TYPE name", some followed by "\t[module]". Other lines are skipped. If the
 * addresses are hidden, the result is empty. -ENOMEM.
 */
int kallsyms__read(FILE *file, struct kallsyms *ret);
void kallsyms__release(struct kallsyms *kallsyms);

/*
 * The name of the code at an address, or NULL. *ret_owner: "[ext4]", or NULL for the kernel itself.
 * Both are valid as long as `kallsyms`.
 */
const char *kallsyms__find(const struct kallsyms *kallsyms, uint64_t address,
			   const char **ret_owner);

/*
 * "xfs_end_io [xfs]": the name of code of the running kernel; the address, if it is not known. The
 * names are read at the first call and kept. Not for several threads.
 */
void kallsyms__say(uint64_t address, char *ret, size_t size);
