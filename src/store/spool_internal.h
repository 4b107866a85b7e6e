/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by spool.c, which knows the batches, and spool_files.c, which knows the folder. */
#pragma once

#include "store/spool.h"

#define SPOOL_LOCK      "lock"
#define SPOOL_ASIDE     "aside"
#define SPOOL_TEMPORARY "new.tmp"

struct spool {
	int folder, lock;
	struct spool_options limits;
	struct spool_entry *entries; /* sorted by batch__compare() */
	size_t count, room;
	uint64_t bytes, memory_bytes, aside_bytes;
	struct spool_status totals; /* what is counted since the start */
};

/* -EBUSY */
int spool__lock(struct spool *spool);
/* The size of what earlier runs set aside. */
void spool__measure_aside(struct spool *spool);
int spool__write_file(struct spool *spool, const struct spool_entry *entry, const void *bytes);
/* The caller frees *ret. -EBADMSG: not there, or too short; -EIO, -ENOMEM. */
int spool__read_file(struct spool *spool, const struct spool_entry *entry, void **ret);
/* These do nothing for an entry in memory. */
void spool__delete_file(struct spool *spool, const struct spool_entry *entry);
void spool__move_aside(struct spool *spool, const struct spool_entry *entry);
