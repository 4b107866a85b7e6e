/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a client accepts. The headers come from it, so they may contain anything. */
#pragma once

#include <stdbool.h>

#include "metrics/pages.h"

/*
 * The format with the highest weight in an Accept header; NULL: no header. If the header names none
 * that there is, PAGES_TEXT, which every client of Prometheus can read.
 */
enum pages_format accept__format(const char *header);
/* Whether an Accept-Encoding header allows gzip. */
bool accept__gzip(const char *header);
