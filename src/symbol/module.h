/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file with code: its symbol tables, its DWARF, and its debug file. All of it is opened when it
 * is needed, can be closed to save memory, and is then opened again. A failure is remembered, so
 * that an unreadable file is tried only once.
 */
#pragma once

#include <stdbool.h>

#include "symbol/debug.h"
#include "symbol/dwarf.h"
#include "symbol/image.h"
#include "symbol/symbol.h"
#include "symbol/symtab.h"

/* All zeroes: closed. Owned by the caller. */
struct module {
	struct image *image, *mini, *debug; /* NULL: none, or closed */
	struct dwarf *dwarf;                /* of `image` or `debug`; NULL: none, or closed */
	struct symtab functions, variables; /* of the addresses that they were read for */
	bool is_open;
	bool is_unreadable; /* it is not tried again */
	bool has_no_debug;  /* there is no debug file: it is not searched again */
	bool is_counted;    /* in all fields of the quality, except in `too_large` */
	bool is_too_large;  /* it was counted there */
};

/*
 * Opens what is closed. 0, even if the file is unreadable, which is counted; -ENOMEM. If the caller
 * has set `image`, this is the file.
 */
int module__open(struct module *module, const struct symbol_module *name,
		 struct debug_finder *finder, struct symbols_quality *quality);
/* Frees what was read. The files stay open. Strings of earlier answers become invalid. */
void module__close_tables(struct module *module);
void module__close(struct module *module);
/* Whether a private copy would be lost if it were closed. */
bool module__has_copy(const struct module *module);

/* The address of a symbol, by the table of the file or of its debug file. -ENOENT, -ENOMEM. */
int module__find_symbol(const struct module *module, const char *name, uint64_t *ret);

/* Reads what is known about the wanted addresses, unless that was done already. -ENOMEM. */
int module__read_functions(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality);
int module__read_variables(struct module *module, const struct addresses *wanted,
			   struct symbols_quality *quality);
