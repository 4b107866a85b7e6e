/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Batches and folders for tests of the store. */
#pragma once

#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

#include "store/batch.h"
#include "store/fact.h"

#define STORE_MINUTE UINT64_C(1795000020)

static inline struct batch_id store_id(enum fact_table table, uint64_t minute_s, uint32_t part)
{
	return (struct batch_id) { .host_id = 0x1234,
				   .boot = "abc0",
				   .table = table,
				   .minute_s = minute_s,
				   .epoch = 7,
				   .part = part };
}

/* The content of a file with one row of `quality` whose name has `length` random characters. */
/* The fingerprint of the rows of store_content(), as the sender asks for it. */
#define STORE_SUM   UINT64_C(0x8000000000000007)
#define STORE_PRINT (3 + UINT64_C(1000003) * STORE_SUM)

static inline void *store_content(size_t length, size_t *ret_bytes)
{
	char *bytes = malloc(length + 1);
	struct native_block block = { .table = fact__table(FACT_QUALITY),
				      .bytes = bytes,
				      .size = length + 1,
				      .columns = "bucket, name",
				      .rows = 3,
				      .sum = STORE_SUM };
	void *packed;

	for (size_t i = 0; i <= length; i++)
		bytes[i] = (char)random();
	assert_int_equal(batch__pack(&block, &packed, ret_bytes), 0);
	free(bytes);
	return packed;
}

static inline void store_make_folder(char path[static 64])
{
	snprintf(path, 64, "/tmp/store-test-XXXXXX");
	assert_non_null(mkdtemp(path));
}

static inline int store_remove_one(const char *path, const struct stat *about, int kind,
				   struct FTW *at)
{
	return remove(path);
}

static inline void store_remove_folder(const char *path)
{
	nftw(path, store_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
