/* /proc/kallsyms: the kernel's own names, its modules' and those of BPF programs. */
#pragma once

#include <stddef.h>

#include "symbol/symtab.h"

struct kallsyms {
	char *text;
	struct symtab
		tab; /* entries have an owner, "[ext4]", unless they are of the kernel itself */
};

/*
 * Reads lines "ADDRESS TYPE name", with "\t[module]" behind some; what is no such line is skipped.
 * A table whose addresses are hidden gives none. `text` has a 0 at text[size] and changes; if 0, it
 * belongs to `ret`. -ENOMEM.
 */
int kallsyms__parse(char *text, size_t size, struct kallsyms *ret);
int kallsyms__read(const char *path, struct kallsyms *ret);
void kallsyms__release(struct kallsyms *kallsyms);
