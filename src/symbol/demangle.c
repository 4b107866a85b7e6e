/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A short mangled name can expand to gigabytes, because each substitution can double its length.
 * The demanglers cannot be told to stop. So they write through a callback of ours, which leaves
 * them by longjmp() when the text is too long. That is safe because they hold no resources except
 * their stack. A name that does not fit stays mangled.
 */
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "base/cleanup.h"

#define MOST_SHOWN   8192
#define MOST_MANGLED 4096

struct output {
	jmp_buf enough;
	size_t length;
	char text[MOST_SHOWN];
};

static void append(const char *text, size_t length, void *context)
{
	struct output *output = context;

	if (length >= sizeof(output->text) - output->length)
		longjmp(output->enough, 1);
	memcpy(output->text + output->length, text, length);
	output->length += length;
}

static bool demangle(const char *name, struct output *output)
{
	const int options = DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO;

	output->length = 0;
	if (setjmp(output->enough))
		return false;
	/* Rust first, because its older names are also valid C++ names. */
	if (!rust_demangle_callback(name, options, append, output)) {
		output->length = 0;
		if (!cplus_demangle_v3_callback(name, options, append, output))
			return false;
	}
	output->text[output->length] = '\0';
	return output->length > 0;
}

static bool is_mangled(const char *name)
{
	return (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2) ||
		!strncmp(name, "_GLOBAL_", 8)) &&
	       strnlen(name, MOST_MANGLED + 1) <= MOST_MANGLED;
}

/* Returns a new string, NULL without memory. */
static char *show(const char *name, size_t length)
{
	cleanup(free_p) char *plain = strndup(name, length);
	struct output output;

	if (plain && is_mangled(plain) && demangle(plain, &output))
		return strdup(output.text);
	return TAKE(plain);
}

const char *demangle__show(struct map *cache, const char *name)
{
	/* The version of a symbol follows the @. */
	size_t length = strcspn(name, "@");
	char *shown;

	if (!length || (!name[length] && !is_mangled(name)))
		return name;
	shown = map__get(cache, (uintptr_t)name);
	if (shown)
		return shown;
	shown = show(name, length);
	if (!shown || map__put(cache, (uintptr_t)name, shown)) {
		free(shown);
		return NULL;
	}
	return shown;
}

void demangle__release(struct map *cache)
{
	map__free_values(cache);
}
