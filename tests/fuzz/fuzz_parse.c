/* SPDX-License-Identifier: GPL-2.0-or-later */
/* User input: nothing may crash, and an output may change only on success. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/parse.h"

#define UNTOUCHED UINT64_C(0x5a5a5a5a5a5a5a5a)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(int err, uint64_t value)
{
	if (err && value != UNTOUCHED)
		abort();
}

static void parse_list(const char *list, size_t size)
{
	size_t length, total = 0;

	while (parse__next_word(&list, &length))
		total += length;
	if (total > size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const known[] = { "doctor", "list", "watch", NULL };
	char *text = malloc(size + 1);
	uint64_t value = UNTOUCHED;

	memcpy(text, data, size);
	text[size] = '\0';
	expect(parse__duration(text, &value), value);
	value = UNTOUCHED;
	expect(parse__size(text, &value), value);
	value = UNTOUCHED;
	expect(parse__number(text, 1, 1000, &value), value);
	parse_list(text, size);
	parse__nearest(text, known);
	json_decref(json__text(text));
	free(text);
	return 0;
}
