/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The finished pages of one step, one for each format, plain and compressed. Each is made at most
 * once: with pages__prepare(), or when it is first asked for. Any thread may use them, and they
 * live until the last reference is dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "metrics/exposition.h"

enum pages_format { PAGES_TEXT, PAGES_OPEN_METRICS, PAGES_PROTOBUF, PAGES_FORMATS };

/* The number of a page: its format, and whether it is compressed. */
#define PAGES_PAGE(format, is_gzip) ((unsigned int)(format) * 2 + ((is_gzip) ? 1 : 0))
#define PAGES_COUNT                 (PAGES_FORMATS * 2)

struct pages;

/* Takes over the exposition; *ret has one reference. */
int pages__new(struct exposition *exposition, struct pages **ret);
struct pages *pages__ref(struct pages *pages);
void pages__unref(struct pages *pages);

/* Makes the pages of a set: bit n is page number n. */
int pages__prepare(struct pages *pages, unsigned int set);
/* The bytes of a page, valid as long as the caller's reference. -ENOMEM or -EIO. */
int pages__get(struct pages *pages, unsigned int page, const void **ret, size_t *ret_size);

/* The value of Content-Type. */
const char *pages__type(enum pages_format format);
size_t pages__series(const struct pages *pages);
/* What the pages are made from; valid as long as the caller's reference. */
const struct exposition *pages__exposition(const struct pages *pages);
