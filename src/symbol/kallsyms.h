/* SPDX-License-Identifier: GPL-2.0-or-later */
/* /proc/kallsyms: the names in the kernel, in its modules and in BPF programs. */
#pragma once

#include <stddef.h>

#include "symbol/symtab.h"

struct kallsyms {
	char *text;
	struct symtab tab; /* owner of an entry: "[ext4]"; NULL: the kernel itself */
};

/*
 * Reads lines "ADDRESS TYPE name", some followed by "\t[module]". Other lines are skipped. If the
 * addresses are hidden, the result is empty. text[size] must be 0. `text` is modified; on success
 * it belongs to `ret`. -ENOMEM.
 */
int kallsyms__parse(char *text, size_t size, struct kallsyms *ret);
int kallsyms__read(const char *path, struct kallsyms *ret);
void kallsyms__release(struct kallsyms *kallsyms);
