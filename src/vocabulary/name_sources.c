/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/name_sources.h"

#include <stddef.h>

static const char *const keys[NAME_SOURCE_COUNT] = {
#define NAME_SOURCE_ROW(id, key) [NAME_##id] = key,
	NAME_SOURCES(NAME_SOURCE_ROW)
#undef NAME_SOURCE_ROW
};

const char *name_sources__key(enum name_source source)
{
	return source > NAME_UNKNOWN && source < NAME_SOURCE_COUNT ? keys[source] : NULL;
}
