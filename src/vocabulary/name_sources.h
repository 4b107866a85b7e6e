/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources of names, by name_sources.def. */
#pragma once

#include "vocabulary/name_sources.def"

enum name_source {
	NAME_UNKNOWN,
#define NAME_SOURCE_ID(id, key) NAME_##id,
	NAME_SOURCES(NAME_SOURCE_ID)
#undef NAME_SOURCE_ID
		NAME_SOURCE_COUNT,
};

/* NULL for NAME_UNKNOWN and for what is no source. */
const char *name_sources__key(enum name_source source);
