/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of the spool, their names, and answers of a server: nothing may crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/answer.h"
#include "store/batch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_name(const char *text)
{
	char again[BATCH_TEXT_BYTES];
	struct batch_id id;
	uint64_t tried_s;

	if (batch__parse_name(text, &id, &tried_s))
		return;
	batch__file_name(&id, tried_s, again);
	if (strcmp(again, text) != 0)
		abort();
	batch__token(&id, again);
}

static void read_file(const uint8_t *data, size_t size)
{
	struct batch_view view;
	void *raw = NULL;

	if (batch__view(data, size, &view))
		return;
	if (view.zstd_bytes > size || strpbrk(view.head.columns, "();'\"\\"))
		abort();
	if (!batch__unpack(&view, &raw))
		free(raw);
}

static void read_answer(const uint8_t *data, size_t size)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	unsigned int version;
	uint64_t number;

	if (size > 2) {
		answer->status = data[0] << 8 | data[1];
		answer__header(answer, (const char *)data + 2, size - 2);
		(void)answer__body(answer, data + 2, size - 2);
	}
	if (answer__means(answer, true) >= ANSWER_MEANINGS)
		abort();
	(void)answer__version(answer, &version);
	(void)answer__number(answer, &number);
	free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	parse_name(text);
	free(text);
	read_file(data, size);
	read_answer(data, size);
	return 0;
}
