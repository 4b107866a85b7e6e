/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Paths of mapped files: a page fault shows the inode, and only the mappings of its process show
 * the path. Reading them takes up to some milliseconds in a process with many; it is limited to 2 %
 * of the time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

struct mapped;

int mapped__new(struct mapped **ret);
void mapped__free(struct mapped *mapped);

/* The path of a file that its process has mapped. False, and `path` unchanged, if it is unknown. */
bool mapped__find(struct mapped *mapped, const struct ledger_object_record *record, char *path,
		  size_t size);

/* Whether a line of /proc/PID/maps is of this file; only then its path goes to `path`. */
bool mapped__parse(const char *line, uint64_t inode, uint32_t dev, char *path, size_t size);
