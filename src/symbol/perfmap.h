/* perf-PID.map: the names that a JIT compiler gives to the code that it generates. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct perfmap;

/* Reads lines "START SIZE name"; later ones count where they overlap earlier ones, and what is no
 * such line is skipped. `text` has a 0 at text[size] and changes; if 0, it belongs to the map.
 * -ENOMEM. */
int perfmap__parse(char *text, size_t size, struct perfmap **ret);

/*
 * The map of a process, as the process sees its /tmp or else in ours. -EPERM for a file that
 * does not belong to the user of the process, or has more than one name: anybody may write to /tmp.
 * -EFBIG, -ENOENT and others.
 */
int perfmap__open(int pid, struct perfmap **ret);
void perfmap__free(struct perfmap *map);

/* NULL if there is none. The name lives as long as the map. */
const char *perfmap__find(const struct perfmap *map, uint64_t address);
