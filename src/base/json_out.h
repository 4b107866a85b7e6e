/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON written while it is made, for documents that are too large to be built in memory first.
 * Texts must be UTF-8 without control characters; json_out__json() takes any.
 *
 * Every function takes the key of the value, NULL inside an array. The first failure is kept and
 * everything after it is skipped.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_out {
	FILE *file;
	bool comma;   /* something stands before the next value … */
	bool begun;   /* … or before the whole */
	bool in_page; /* stands in a <script> element: of json_out__json(), no '<' and only ASCII */
	int err;
};

/* `bracket` is '{' or '['; close with '}' or ']'. */
void json_out__open(struct json_out *out, const char *key, char bracket);
void json_out__close(struct json_out *out, char bracket);
/* `text` NULL: null. */
void json_out__text(struct json_out *out, const char *key, const char *text);
void json_out__number(struct json_out *out, const char *key, int64_t number);
/* `number` divided by 10^digits, exactly: nanoseconds as milliseconds are 6 digits. */
void json_out__decimal(struct json_out *out, const char *key, int64_t number, int digits);
void json_out__bool(struct json_out *out, const char *key, bool value);
/* Nine digits; null if it is not finite. */
void json_out__real(struct json_out *out, const char *key, double number);
/* Takes the reference. NULL is out of memory. */
void json_out__json(struct json_out *out, const char *key, json_t *value);
void json_out__null(struct json_out *out, const char *key);
/* Ends the last line. 0 or the first error, -errno. */
int json_out__end(struct json_out *out);
