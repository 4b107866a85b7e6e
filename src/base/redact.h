/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Removes secrets from the arguments of programs, for output that people share: the values of
 * options, NAME=value words, headers and query parameters whose name is password, token, key or the
 * like, and the passwords in URLs. A secret without such a name stays.
 */
#pragma once

enum redact_args {
	REDACT_DEFAULT, /* default: REDACT_SECRETS in pages and exports, otherwise REDACT_NOTHING */
	REDACT_NOTHING, /* "full" */
	REDACT_SECRETS, /* "redacted" */
	REDACT_ALL_ARGS, /* "none" */
};

/* Their words, starting with REDACT_NOTHING; ends with NULL. */
extern const char *const redact_words[];

#define REDACT_MARK "[redacted]"

/*
 * The shown part of a line with arguments; "" with REDACT_ALL_ARGS. NULL: out of memory. The caller
 * frees it.
 */
char *redact__line(const char *text, enum redact_args how);
/*
 * The same for the fields of an event, a JSON object: redacts its texts; with REDACT_ALL_ARGS,
 * "args" becomes null. A text that is not a JSON object is treated as a line. If nothing needs to
 * change, the result is identical to the byte.
 */
char *redact__fields(const char *fields, enum redact_args how);
