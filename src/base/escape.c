/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/escape.h"

#include <string.h>

/* Prints up to the first of `stops`. Skips and returns it; returns 0 at the end. */
static char print_until(FILE *out, const char **text, const char *stops)
{
	size_t length = strcspn(*text, stops);
	char stop = (*text)[length];

	fwrite(*text, 1, length, out);
	*text += length + (stop != 0);
	return stop;
}

void escape__json(FILE *out, const char *text)
{
	char stop;

	fputc('"', out);
	while ((stop = print_until(out, &text, "\"\\")))
		fprintf(out, "\\%c", stop);
	fputc('"', out);
}

void escape__xml(FILE *out, const char *text)
{
	char stop;

	while ((stop = print_until(out, &text, "<>&\"")))
		fputs(stop == '<'   ? "&lt;"
		      : stop == '>' ? "&gt;"
		      : stop == '&' ? "&amp;"
				    : "&quot;",
		      out);
}
