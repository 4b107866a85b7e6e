/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows and lists of the store: nothing may crash, and however they arrive, they are the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "store/tsv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *context, char *const *fields)
{
	uint64_t *hash = context;

	for (int i = 0; i < 3; i++) {
		const char *at = fields[i];
		uint64_t number;
		double real;
		int err = 0;

		*hash = map__mix_text(*hash, fields[i]);
		if (!tsv__number(fields[i], &number) || !tsv__real(fields[i], &real))
			*hash = map__mix(*hash, 1);
		while (!err)
			err = tsv__next(&at, &number);
	}
	return 0;
}

static int read_rows(const uint8_t *data, size_t size, size_t part, uint64_t *hash)
{
	struct tsv tsv = { .columns = 3, .take = take, .context = hash };
	int err = 0;

	for (size_t at = 0; at < size && !err; at += part)
		err = tsv__feed(&tsv, data + at, part < size - at ? part : size - at);
	err = err ? err : tsv__end(&tsv);
	tsv__release(&tsv);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t whole = 0, parts = 0;
	int err = read_rows(data, size, size ? size : 1, &whole);

	if (read_rows(data, size, 3, &parts) != err || whole != parts)
		abort();
	return 0;
}
