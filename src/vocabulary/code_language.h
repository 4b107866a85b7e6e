/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The languages of code_language.def. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vocabulary/code_language.def"
#include "vocabulary/runtimes.h"

enum code_language {
#define LANGUAGE_ID(id, runtime, ...) LANGUAGE_##id,
	LANGUAGES(LANGUAGE_ID)
#undef LANGUAGE_ID
		LANGUAGE_COUNT,
};

/* Colours, see code_language.def. */
struct code_language_look {
	uint32_t light, dark;
	const char *firefox;
};

const char *code_language__key(enum code_language language);
const char *code_language__name(enum code_language language);
const struct code_language_look *code_language__look(enum code_language language);
/* The language of a runtime's functions; LANGUAGE_NATIVE for RUNTIME_NONE. */
enum code_language code_language__of(enum runtime_kind runtime);
/* Whether its functions belong to a runtime, including those of Go, which are machine code. */
bool code_language__has_runtime(enum code_language language);
