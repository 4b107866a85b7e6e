/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "golden.h"

#include "../harness.h"

#include <stdio.h>

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file)
		return NULL;
	if (getdelim(&text, &size, '\0', file) < 0) {
		free(text);
		text = NULL;
	}
	fclose(file);
	return text;
}

static void write_all(const char *path, const char *text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

void golden__expect(const char *name, const char *text)
{
	char path[512], *expected;

	snprintf(path, sizeof(path), GOLDEN_FOLDER "/expected/%s", name);
	if (getenv("GAPLESS_GOLDEN_UPDATE"))
		write_all(path, text);
	expected = read_all(path);
	if (!expected)
		fail_msg("no '%s' [GAPLESS_GOLDEN_UPDATE=1 writes it]", path);
	assert_string_equal(text, expected);
	free(expected);
}
