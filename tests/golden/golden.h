/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an output is held against: files in expected/. GAPLESS_GOLDEN_UPDATE=1 rewrites them. */
#pragma once

#include <stddef.h>

/* Fails the test if `text` is not what the file `name` has, to the byte. */
void golden__expect(const char *name, const char *text);

/*
 * A protocol buffer as lines of "FIELD: VALUE", without knowing what the fields are: bytes that
 * read as a message are shown as one, others as text. Fails the test on anything malformed. To be
 * freed.
 */
char *golden__proto_text(const unsigned char *bytes, size_t size);
