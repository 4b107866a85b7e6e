/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of a compromised helper process, and questions to it: nothing may crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/namer_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t length(const char *text)
{
	return text ? strlen(text) : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that a sanitizer sees its end; malloc() aligns it. */
	char *bytes = malloc(size ? size : 1);
	const char *at = bytes, *end = bytes + size;
	struct namer_question question;
	struct symbol_chain chain;
	volatile uint64_t sum = 0;
	uint64_t offset;

	memcpy(bytes, data, size);
	if (!namer_wire__unpack(bytes, size, &question)) {
		for (size_t i = 0; i < question.count; i++)
			sum += question.addresses[i];
		sum += length(question.module.path) + length(question.module.root) +
		       length(question.module.build_id) + length(question.module.base);
	}
	while (!namer_wire__get_chain(&at, end, &chain, &offset))
		for (int i = 0; i < chain.count; i++)
			sum += strlen(chain.frames[i].name) + strlen(chain.frames[i].system_name) +
			       length(chain.frames[i].file);
	free(bytes);
	return 0;
}
