/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch: rows of one table and minute, as one insert. Its name is the insert's token and the name
 * of its file in the spool; its bytes are the content of that file.
 *
 * The file is zstd: a skippable frame with the head as text, then a frame with the Native block. So
 * `zstd -dc FILE` prints the block.
 *
 * Pure. Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/fact.h"
#include "store/native.h"

#define BATCH_BOOT_BYTES    33
#define BATCH_TEXT_BYTES    192
#define BATCH_COLUMNS_BYTES 1024
/* No block is larger than this before compression. */
#define BATCH_MOST_BYTES (16u << 20)

struct batch_id {
	uint64_t host_id;
	char boot[BATCH_BOOT_BYTES]; /* boot id, 1 to 32 lower-case hexadecimal digits */
	enum fact_table table;
	uint64_t minute_s; /* begin, Unix time */
	/*
	 * Must differ after each start of the agent and each step of the clock: two batches of the
	 * same minute with the same token are stored once.
	 */
	uint64_t epoch;
	uint32_t part; /* 0, 1, … if the minute had to be split */
};

struct batch_head {
	uint64_t rows, rows_before;
	uint64_t sum, sum_before; /* of native_table.sum_of */
	uint64_t raw_bytes;       /* of the block */
	char columns[BATCH_COLUMNS_BYTES];
};

/* The bytes of a batch, taken apart. */
struct batch_view {
	struct batch_head head;
	const void *zstd;
	size_t zstd_bytes;
};

/* By minute, table, epoch, boot, host, part: like strcmp(). */
int batch__compare(const struct batch_id *id, const struct batch_id *other);
/* "host_id:boot:table:minute:epoch", and ":part" if it is not 0. */
void batch__token(const struct batch_id *id, char ret[static BATCH_TEXT_BYTES]);

/* `tried_s`: when it was first sent; 0: not yet. */
void batch__file_name(const struct batch_id *id, uint64_t tried_s,
		      char ret[static BATCH_TEXT_BYTES]);
/* -EINVAL: not the name of a batch. */
int batch__parse_name(const char *name, struct batch_id *ret, uint64_t *ret_tried_s);

/* The caller frees *ret. -ENOMEM, -E2BIG. */
int batch__pack(const struct native_block *block, void **ret, size_t *ret_size);
/* Takes bytes apart; the view points into them. -EBADMSG: torn or foreign. */
int batch__view(const void *bytes, size_t size, struct batch_view *ret);
/* The Native block, which the caller frees; checks the checksum. -EBADMSG, -ENOMEM. */
int batch__unpack(const struct batch_view *view, void **ret);
