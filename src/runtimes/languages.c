/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/language.h"

static const struct language *const languages[RUNTIME_KINDS] = {
	[RUNTIME_PYTHON] = &language_python, [RUNTIME_HOTSPOT] = &language_hotspot,
	[RUNTIME_GO] = &language_go,         [RUNTIME_V8] = &language_v8,
	[RUNTIME_RUBY] = &language_ruby,     [RUNTIME_PHP] = &language_php,
};

const struct language *language__of(enum runtime_kind kind)
{
	return kind < RUNTIME_KINDS ? languages[kind] : NULL;
}
