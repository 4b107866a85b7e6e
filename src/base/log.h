/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages for users, on stderr. Libraries (base, symbol, stacks, recording, export) never log
 * above debug; the caller that knows the context logs once. Safe to call from any thread.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above `level` are dropped; the default is info. */
void log__set_level(enum log_level level);
bool log__shows(enum log_level level);

/*
 * The origin of the text that is being parsed, "file:3". Every line begins with it until it is set
 * to NULL. The caller keeps the text. For use by one thread only.
 */
void log__set_place(const char *text);
const char *log__place(void);

__attribute__((format(printf, 2, 3))) void log__write(enum log_level level, const char *format,
						      ...);

#define log_error(...)   log__write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log__write(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(...)    log__write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...)   log__write(LOG_LEVEL_DEBUG, __VA_ARGS__)
