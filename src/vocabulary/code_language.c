/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/code_language.h"

#include <stddef.h>

static const struct {
	enum runtime_kind runtime;
	const char *key, *name;
	struct code_language_look look;
} rows[LANGUAGE_COUNT] = {
#define LANGUAGE_ROW(id, runtime, key, name, light, dark, firefox)                                 \
	[LANGUAGE_##id] = { RUNTIME_##runtime, key, name, { light, dark, firefox } },
	LANGUAGES(LANGUAGE_ROW)
#undef LANGUAGE_ROW
};

const char *code_language__key(enum code_language language)
{
	const struct runtime_words *runtime = runtime__words(rows[language].runtime);

	return runtime ? runtime->key : rows[language].key;
}

const char *code_language__name(enum code_language language)
{
	const struct runtime_words *runtime = runtime__words(rows[language].runtime);

	return runtime ? runtime->language : rows[language].name;
}

const struct code_language_look *code_language__look(enum code_language language)
{
	return &rows[language].look;
}

enum code_language code_language__of(enum runtime_kind runtime)
{
	for (int i = 0; runtime != RUNTIME_NONE && i < LANGUAGE_COUNT; i++)
		if (rows[i].runtime == runtime)
			return i;
	return LANGUAGE_NATIVE;
}

bool code_language__has_runtime(enum code_language language)
{
	return rows[language].runtime != RUNTIME_NONE;
}
