/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/batch.h"

#include <ctype.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/parse.h"

#define SUFFIX     ".native.zst"
#define TRIED      ".tried-"
#define HEAD_MAGIC 0x184d2a57u /* a skippable frame of zstd */
#define HEAD_WORD  "gapless-batch 1"
#define HEAD_BYTES (BATCH_COLUMNS_BYTES + 256)
#define LEVEL      3

static int order(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

int batch__compare(const struct batch_id *id, const struct batch_id *other)
{
	return order(id->minute_s, other->minute_s)
		       ?: order(id->table, other->table)
		       ?: order(id->epoch, other->epoch)
		       ?: strcmp(id->boot, other->boot)
		       ?: order(id->host_id, other->host_id) ?: order(id->part, other->part);
}

void batch__token(const struct batch_id *id, char ret[static BATCH_TEXT_BYTES])
{
	int length = snprintf(ret, BATCH_TEXT_BYTES, "%016" PRIx64 ":%s:%s:%" PRIu64 ":%" PRIu64,
			      id->host_id, id->boot, fact__table(id->table)->name, id->minute_s,
			      id->epoch);

	if (id->part)
		snprintf(ret + length, BATCH_TEXT_BYTES - (size_t)length, ":%u", id->part);
}

void batch__file_name(const struct batch_id *id, uint64_t tried_s,
		      char ret[static BATCH_TEXT_BYTES])
{
	char tried[32] = "";

	if (tried_s)
		snprintf(tried, sizeof(tried), TRIED "%" PRIu64, tried_s);
	snprintf(ret, BATCH_TEXT_BYTES, "%016" PRIx64 "-%s-%s-%" PRIu64 "-%" PRIu64 "-%u%s" SUFFIX,
		 id->host_id, id->boot, fact__table(id->table)->name, id->minute_s, id->epoch,
		 id->part, tried);
}

static int parse_hex(const char *text, uint64_t *ret)
{
	if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
		return -EINVAL;
	*ret = strtoull(text, NULL, 16);
	return 0;
}

static int parse_boot(const char *text, char ret[static BATCH_BOOT_BYTES])
{
	size_t length = strlen(text);

	if (!length || length >= BATCH_BOOT_BYTES || strspn(text, "0123456789abcdef") != length)
		return -EINVAL;
	memcpy(ret, text, length + 1);
	return 0;
}

/* Cuts the text at the first `mark`, and returns what follows; NULL if there is no mark. */
static char *cut(char *text, const char *mark)
{
	char *at = strstr(text, mark);

	if (!at)
		return NULL;
	*at = '\0';
	return at + strlen(mark);
}

static int parse_fields(char *text, struct batch_id *id)
{
	const char *field[6];
	uint64_t part;
	size_t count = 0;

	for (char *at; count < 6 && (at = strsep(&text, "-")); count++)
		field[count] = at;
	if (count != 6 || text)
		return -EINVAL;
	id->table = fact__find(field[2]);
	if (id->table == FACT_TABLES || parse_hex(field[0], &id->host_id) ||
	    parse_boot(field[1], id->boot) ||
	    parse__number(field[3], 0, UINT32_MAX, &id->minute_s) ||
	    parse__number(field[4], 0, UINT64_MAX, &id->epoch) ||
	    parse__number(field[5], 0, UINT32_MAX, &part))
		return -EINVAL;
	id->part = (uint32_t)part;
	return 0;
}

int batch__parse_name(const char *name, struct batch_id *ret, uint64_t *ret_tried_s)
{
	char text[BATCH_TEXT_BYTES], again[BATCH_TEXT_BYTES];
	struct batch_id id = { 0 };
	const char *rest, *tried;
	uint64_t tried_s = 0;

	if (strlen(name) >= sizeof(text))
		return -EINVAL;
	memcpy(text, name, strlen(name) + 1);
	rest = cut(text, SUFFIX);
	if (!rest || *rest)
		return -EINVAL;
	tried = cut(text, TRIED);
	if ((tried && parse__number(tried, 1, UINT64_MAX, &tried_s)) || parse_fields(text, &id))
		return -EINVAL;
	/* One batch has one name: "01" is not 1. */
	batch__file_name(&id, tried_s, again);
	if (strcmp(again, name) != 0)
		return -EINVAL;
	*ret = id;
	*ret_tried_s = tried_s;
	return 0;
}

static size_t write_head(const struct native_block *block, unsigned char *out)
{
	uint32_t magic = htole32(HEAD_MAGIC), size;
	int length = snprintf((char *)out + 8, HEAD_BYTES,
			      HEAD_WORD "\nrows %" PRIu64 "\nbefore %" PRIu64 "\nsum %" PRIu64
					"\nsum_before %" PRIu64 "\nraw %zu\ncolumns %s\n",
			      block->rows, block->rows_before, block->sum, block->sum_before,
			      block->size, block->columns);

	size = htole32((uint32_t)length);
	memcpy(out, &magic, sizeof(magic));
	memcpy(out + sizeof(magic), &size, sizeof(size));
	return (size_t)length + 8;
}

static void context_free(ZSTD_CCtx **context)
{
	ZSTD_freeCCtx(*context);
}

int batch__pack(const struct native_block *block, void **ret, size_t *ret_size)
{
	cleanup(context_free) ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(block->size), head, size;
	cleanup(free_p) unsigned char *bytes = NULL;

	if (block->size > BATCH_MOST_BYTES || strlen(block->columns) >= BATCH_COLUMNS_BYTES)
		return -E2BIG;
	bytes = malloc(8 + HEAD_BYTES + bound);
	if (!bytes || !context)
		return -ENOMEM;
	head = write_head(block, bytes);
	ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
	ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(context, bytes + head, bound, block->bytes, block->size);
	if (ZSTD_isError(size))
		return -ENOMEM;
	*ret_size = head + size;
	*ret = TAKE(bytes);
	return 0;
}

/* The names go into a statement. */
static int parse_columns(const char *text, char ret[static BATCH_COLUMNS_BYTES])
{
	size_t length = strlen(text);

	if (!length || length >= BATCH_COLUMNS_BYTES ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_, ") != length)
		return -EBADMSG;
	memcpy(ret, text, length + 1);
	return 0;
}

/* The rest of the next line, if it begins with the word. */
static const char *read_line(char **at, const char *word)
{
	char *line = strsep(at, "\n");
	size_t length = strlen(word);

	return line && *at && !strncmp(line, word, length) ? line + length : "";
}

static int parse_head(char *text, struct batch_head *ret)
{
	struct batch_head head;
	char *at = text;

	if (strcmp(read_line(&at, ""), HEAD_WORD) != 0 ||
	    parse__number(read_line(&at, "rows "), 1, UINT32_MAX, &head.rows) ||
	    parse__number(read_line(&at, "before "), 0, UINT32_MAX, &head.rows_before) ||
	    parse__number(read_line(&at, "sum "), 0, UINT64_MAX, &head.sum) ||
	    parse__number(read_line(&at, "sum_before "), 0, UINT64_MAX, &head.sum_before) ||
	    parse__number(read_line(&at, "raw "), 1, BATCH_MOST_BYTES, &head.raw_bytes) ||
	    parse_columns(read_line(&at, "columns "), head.columns) || *at)
		return -EBADMSG;
	*ret = head;
	return 0;
}

int batch__view(const void *bytes, size_t size, struct batch_view *ret)
{
	char text[HEAD_BYTES + 1];
	struct batch_view view;
	uint32_t word[2];

	if (size < sizeof(word))
		return -EBADMSG;
	memcpy(word, bytes, sizeof(word));
	word[0] = le32toh(word[0]);
	word[1] = le32toh(word[1]);
	if (word[0] != HEAD_MAGIC || word[1] > HEAD_BYTES || word[1] > size - sizeof(word))
		return -EBADMSG;
	memcpy(text, (const char *)bytes + sizeof(word), word[1]);
	text[word[1]] = '\0';
	if (strlen(text) != word[1] || parse_head(text, &view.head))
		return -EBADMSG;
	view.zstd = (const char *)bytes + sizeof(word) + word[1];
	view.zstd_bytes = size - sizeof(word) - word[1];
	if (ZSTD_getFrameContentSize(view.zstd, view.zstd_bytes) != view.head.raw_bytes ||
	    ZSTD_findFrameCompressedSize(view.zstd, view.zstd_bytes) != view.zstd_bytes)
		return -EBADMSG;
	*ret = view;
	return 0;
}

int batch__unpack(const struct batch_view *view, void **ret)
{
	cleanup(free_p) void *raw = malloc(view->head.raw_bytes);

	if (!raw)
		return -ENOMEM;
	if (ZSTD_decompress(raw, view->head.raw_bytes, view->zstd, view->zstd_bytes) !=
	    view->head.raw_bytes)
		return -EBADMSG;
	*ret = TAKE(raw);
	return 0;
}
