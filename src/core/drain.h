/* Empties a hash map of the kernel half. */
#pragma once

#include <bpf/libbpf.h>

/* A negative result ends the reading and becomes its result. */
typedef int (*drain_take_fn)(void *context, const void *key, const void *value);

/* Takes and deletes all entries, many at a time. No hook may be in the map any more. */
int drain__map(const struct bpf_map *map, drain_take_fn take, void *context);
