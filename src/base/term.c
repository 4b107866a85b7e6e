/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/term.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int is_colour(FILE *out)
{
	const char *no = getenv("NO_COLOR");
	const char *kind = getenv("TERM");

	return !(no && *no) && isatty(fileno(out)) && !(kind && !strcmp(kind, "dumb"));
}

const char *term__on(FILE *out, enum term_style style)
{
	static const char *const codes[] = {
		[TERM_PLAIN] = "",        [TERM_BOLD] = "\033[1m",  [TERM_DIM] = "\033[2m",
		[TERM_GOOD] = "\033[32m", [TERM_WARN] = "\033[33m", [TERM_BAD] = "\033[31m",
	};

	return is_colour(out) ? codes[style] : "";
}

const char *term__off(FILE *out, enum term_style style)
{
	return style != TERM_PLAIN && is_colour(out) ? "\033[0m" : "";
}

const char *term__colour(FILE *out, int colour)
{
	static const char *const codes[] = { "\033[30m", "\033[31m", "\033[32m", "\033[33m",
					     "\033[34m", "\033[35m", "\033[36m", "\033[37m" };

	return is_colour(out) ? codes[colour & 7] : "";
}

const char *term__plain(FILE *out)
{
	return is_colour(out) ? "\033[0m" : "";
}

int term__width(FILE *out)
{
	struct winsize size;

	if (ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return 100;
	return size.ws_col < 40 ? 40 : size.ws_col;
}

/* A UTF-8 character takes one column, however many bytes it has. */
static int columns_of(const char *word, int length)
{
	int columns = 0;

	for (int i = 0; i < length; i++)
		columns += (word[i] & 0xc0) != 0x80;
	return columns;
}

void term__wrap(FILE *out, const char *words, int indent, int width)
{
	int column = indent;

	while (*words) {
		int length = (int)strcspn(words, " \n"), columns = columns_of(words, length);

		if (column > indent && column + 1 + columns > width) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (column > indent) {
			fputc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", length, words);
		column += columns;
		words += length;
		words += strspn(words, " \n");
	}
	fputc('\n', out);
}
