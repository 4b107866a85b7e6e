/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of questions and answers between a namer and its helper process. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "symbol/namer.h"

#define NAMER_MOST_ADDRESSES 4096

/* Packs a question; the caller frees *ret. -ENOMEM. */
int namer_wire__pack(const struct namer_question *question, char **ret, size_t *ret_size);
/* Unpacks a question; strings and addresses point into `bytes`. -EBADMSG. */
int namer_wire__unpack(const char *bytes, size_t size, struct namer_question *ret);

/* The header of an answer. */
struct namer_answer {
	uint32_t answered;      /* number of answered addresses, from the first one on */
	uint32_t too_large;     /* files that turned out to be too large */
	uint32_t without_lines; /* compilation units */
};

/* Appends the answer for one address to a stream. */
void namer_wire__put_chain(void *stream, const struct symbol_chain *chain, uint64_t offset);
/* Reads the answer for one address from `*at`, and advances `*at`. -EBADMSG. */
int namer_wire__get_chain(const char **at, const char *end, struct symbol_chain *ret,
			  uint64_t *ret_offset);
