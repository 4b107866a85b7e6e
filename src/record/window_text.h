/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The begin of a request as text: what it has in common with others, and all that is known. */
#pragma once

#include <stddef.h>

#include "ledger/windows/windows.h"

/* "GET /orders/" with * for ids; "SELECT"; "": nothing. `text`: WINDOW_TEXT_BYTES of it. */
void window_text__class(enum window_protocol protocol, const char *text, char *ret, size_t size);

/* One line of what was sent. */
void window_text__line(enum window_protocol protocol, const char *text, char *ret, size_t size);
