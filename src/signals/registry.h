/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The registry: all signals, and how users select some. */
#pragma once

#include "core/signal.h"

/* Every signal of src/signals/list, in its order; ends with NULL. */
extern const struct signal *const signals[];

/* The first signal with this role; NULL if there is none. */
const struct signal *registry__of(enum role role);

/* NULL if there is no signal of that name. */
const struct signal *registry__find(const char *name, size_t length);

/* The signal that has this option, and the option; NULL if there is none. */
const struct signal *registry__with_option(const char *name, const struct signal_option **ret);

/*
 * The signals that a list names: "block,tcp", "all", "default", "none"; ret[] ends with NULL. "all"
 * does not include signals that need an option.
 * -ENOENT: *ret_bad points to the unknown name.
 */
#define SIGNALS_MOST 64
int registry__choose(const char *list, const struct signal *ret[SIGNALS_MOST],
		     const char **ret_bad);

/* Adds a signal to such an array, unless it is there already. */
void registry__add(const struct signal *ret[SIGNALS_MOST], const struct signal *signal);
