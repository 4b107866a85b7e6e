/* How questions and answers travel between a namer and its helper. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/namer.h"

#define NAMER_MOST_ADDRESSES 256

/* The bytes of a question, which the caller frees. -ENOMEM. */
int namer_wire__pack(const struct namer_question *question, char **ret, size_t *ret_size);
/* The other way round; strings and addresses point into `bytes`. -EBADMSG. */
int namer_wire__unpack(const char *bytes, size_t size, struct namer_question *ret);

/* What an answer begins with. */
struct namer_answer {
	uint32_t answered;  /* so many of the addresses, the first ones */
	uint32_t too_large; /* files that were found to be, on the way */
	uint32_t downloads_ended;
	uint32_t padding;
};

/* Adds what is known about one address to a stream. */
void namer_wire__put_chain(void *stream, const struct symbol_chain *chain, uint64_t offset);
/* Reads it from `*at`, which moves on. -EBADMSG. */
int namer_wire__get_chain(const char **at, const char *end, struct symbol_chain *ret,
			  uint64_t *ret_offset);
