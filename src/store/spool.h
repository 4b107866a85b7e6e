/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Batches that wait to be sent, as files in a folder of their own. The folder survives the agent:
 * what is there at the next start is sent then.
 *
 * The size is bounded. If it is reached, the oldest batches are dropped. If the folder cannot be
 * written (full or read-only disk), the batches of the last minutes are kept in memory, and older
 * ones are dropped. Drops are counted.
 *
 * One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/batch.h"

struct spool_options {
	const char *folder;          /* created if it is missing */
	uint64_t most_bytes;         /* 0: 64 MB */
	uint64_t most_memory_bytes;  /* 0: 4 MB */
	unsigned int memory_minutes; /* 0: 10 */
};

struct spool_entry {
	struct batch_id id;
	uint64_t bytes;
	uint64_t tried_s; /* when it was first sent, Unix time; 0: not yet */
	/* For the sender: */
	uint64_t not_before_ns; /* monotonic */
	uint64_t sent_s;        /* when it was last sent; 0: not by this process */
	unsigned int refusals, failures;
	bool is_unknown; /* it may be stored: it was sent, and there was no clear answer */
	/* For the spool: */
	void *content;    /* in memory; NULL: in a file */
	uint64_t named_s; /* `tried_s` as in the name of the file */
	bool is_busy;     /* being sent: not dropped */
};

struct spool_status {
	uint64_t batches, bytes;         /* now, in files and in memory */
	uint64_t memory_batches;         /* of these, in memory */
	uint64_t oldest_s;               /* begin of the oldest minute; 0: none */
	uint64_t dropped, dropped_bytes; /* batches without room, since the start */
	uint64_t corrupt;                /* set aside, since the start */
	uint64_t refused;                /* the same: the server does not take them */
	uint64_t foreign;                /* files in the folder that are no batches */
	int error;                       /* 0, or -errno of the last write that failed */
};

struct spool;

/*
 * -EBUSY: another agent uses the folder. A folder that cannot be written is no error: see
 * spool_status.error.
 */
int spool__open(const struct spool_options *options, struct spool **ret);
/* Writes what is only in memory, if that is possible now. */
void spool__free(struct spool *spool);

/*
 * Adds a batch and takes ownership of `content`, whatever is returned. -EEXIST: there is one of the
 * same id. -ENOMEM. Both count as dropped.
 */
int spool__put(struct spool *spool, const struct batch_id *id, void *content, size_t bytes);

/*
 * The batch to send next: of the minutes that began since `fresh_s`, the newest; if there is none,
 * the oldest. Parts of a minute in their order. Batches with a later `not_before_ns` are passed
 * over. NULL: none. The entry is valid until the next call that takes no entry.
 */
struct spool_entry *spool__pick(struct spool *spool, uint64_t fresh_s, uint64_t now_ns);
/* The earliest `not_before_ns`; UINT64_MAX if there is no batch. */
uint64_t spool__earliest_ns(const struct spool *spool);
/* The entry of an id; NULL: none. */
struct spool_entry *spool__find(struct spool *spool, const struct batch_id *id);
/* The content, which the caller frees. On -EBADMSG the batch was set aside. -ENOMEM, -EIO. */
int spool__load(struct spool *spool, struct spool_entry *entry, void **ret, size_t *ret_bytes);
/* Notes that it is sent now, so that the next start knows. */
void spool__mark_tried(struct spool *spool, struct spool_entry *entry, uint64_t now_s);
/* It is stored. */
void spool__remove(struct spool *spool, const struct batch_id *id);
/* Moves the file into the folder "aside", which has an eighth of the room. Counted as refused. */
void spool__refuse(struct spool *spool, const struct batch_id *id);

void spool__status(const struct spool *spool, struct spool_status *ret);
