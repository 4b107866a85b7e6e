/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an answer of the server means. The answer may come from a broken or hostile server, or from
 * a proxy that knows nothing of ClickHouse.
 *
 * Pure. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ANSWER_MOST_BYTES (64u << 10)

struct answer {
	int error;          /* 0, or -errno: there was no whole answer */
	bool unreached;     /* with `error`: no connection was made, so nothing was sent */
	int status;         /* of HTTP */
	int exception;      /* ClickHouse's code in a header; 0: none */
	bool is_clickhouse; /* there was a header that only ClickHouse sends */
	uint64_t retry_after_s;
	char body[ANSWER_MOST_BYTES + 1]; /* terminated */
	size_t body_bytes;
};

enum answer_means {
	ANSWER_OK,
	ANSWER_UNREACHED, /* no connection */
	ANSWER_LOST,      /* a connection, but no answer: it may be done or not */
	ANSWER_BUSY,      /* later */
	ANSWER_DENIED,    /* user, password, certificate or rights */
	ANSWER_NO_TABLE,  /* database, table or column is missing */
	ANSWER_REFUSED,   /* this batch will never be taken */
	ANSWER_STRANGE,   /* not an answer of ClickHouse to this */
	ANSWER_MEANINGS,
};

/* A header of the answer, as "Name: value", in any case and with any line end. */
void answer__header(struct answer *answer, const char *line, size_t length);
/* Appends to the body. -EFBIG. */
int answer__body(struct answer *answer, const void *bytes, size_t size);

/* ClickHouse's code, from the header or the body; 0: none. */
int answer__exception(const struct answer *answer);
/* An insert has no body; the answer to a query has one. */
enum answer_means answer__means(const struct answer *answer, bool is_insert);
/* Whether the server certainly did not store the batch. */
bool answer__is_certain(enum answer_means means, const struct answer *answer);
/* "ok", "unreached", …: for a label of a metric. */
const char *answer__word(enum answer_means means);
/* -EBADMSG: the body is not one number. */
int answer__number(const struct answer *answer, uint64_t *ret);
/* The first two numbers of "26.7.2.1", as 2607. -EBADMSG. */
int answer__version(const struct answer *answer, unsigned int *ret);
