/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ids in the header of an HTTP request, by which other tools know it. */
#pragma once

#include <stddef.h>

#define REQUEST_TRACE_SIZE 33 /* hexadecimal digits */
#define REQUEST_SPAN_SIZE  17
#define REQUEST_ID_SIZE    65

/* "": it has none. */
struct request_ids {
	char trace[REQUEST_TRACE_SIZE]; /* of traceparent (W3C Trace Context) */
	char span[REQUEST_SPAN_SIZE];   /* likewise: the request was sent in it */
	char request[REQUEST_ID_SIZE];  /* of x-request-id; one with odd characters is none */
};

/* `header`: the begin of a request, with or without NUL at its end. */
void request_ids__find(const char *header, size_t size, struct request_ids *ret);
