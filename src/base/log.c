/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line per call, written with one write so that lines of threads are not mixed. */
#include "base/log.h"

#include <errno.h>
#include <stdio.h>

#include "base/term.h"
#include "base/utf8.h"

static enum log_level shown = LOG_LEVEL_INFO;
static const char *place;

void log__set_level(enum log_level level)
{
	shown = level;
}

bool log__shows(enum log_level level)
{
	return level <= shown;
}

void log__set_place(const char *text)
{
	place = text;
}

const char *log__place(void)
{
	return place;
}

void log__write(enum log_level level, const char *format, ...)
{
	static const char *const prefix[] = { "error: ", "warning: ", "", "debug: " };
	static const enum term_style style[] = { TERM_BAD, TERM_WARN, TERM_PLAIN, TERM_DIM };
	int saved_errno = errno;
	char line[2048];
	size_t length;
	va_list args;

	if (!log__shows(level))
		return;
	length = (size_t)snprintf(line, sizeof(line) / 2, "%s%s", place ? place : "",
				  place ? ": " : "");
	if (length >= sizeof(line) / 2)
		length = sizeof(line) / 2 - 1;
	va_start(args, format);
	vsnprintf(line + length, sizeof(line) - length, format, args);
	va_end(args);
	/* The line may contain untrusted names of files and programs. */
	utf8__sanitize(line);
	fprintf(stderr, "gapless: %s%s%s%s\n", term__on(stderr, style[level]), prefix[level],
		term__off(stderr, style[level]), line);
	errno = saved_errno;
}
