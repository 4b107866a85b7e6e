/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Empties a hash map of the kernel half. */
#pragma once

#include <bpf/libbpf.h>

/* A negative result stops drain__map(), which then returns it. */
typedef int (*drain_take_fn)(void *context, const void *key, const void *value);

/* Takes and deletes all entries, in batches. No hook may use the map any more. */
int drain__map(const struct bpf_map *map, drain_take_fn take, void *context);
