/*
 * Takes secrets out of the arguments of programs, for what people share: the values of options and
 * NAME=value words that are called password, token, key or the like, those of such headers and
 * query parameters, and the passwords in addresses. A secret that nothing names stays.
 */
#pragma once

enum redact_args {
	REDACT_UNSAID,   /* as the output has it: a page and an export REDACT_SECRETS, else all */
	REDACT_NOTHING,  /* "full" */
	REDACT_SECRETS,  /* "redacted" */
	REDACT_ALL_ARGS, /* "none" */
};

/* The words for them, up to a NULL, from REDACT_NOTHING on. */
extern const char *const redact_words[];

#define REDACT_MARK "[redacted]"

/* What is shown of a line with arguments; "" with REDACT_ALL_ARGS. NULL: no memory. To be freed. */
char *redact__line(const char *text, enum redact_args how);
/*
 * The same for the fields of an event, a JSON object: its texts; with REDACT_ALL_ARGS, "args"
 * becomes null. What is no object is taken for a line. What needs no change stays to the byte.
 */
char *redact__fields(const char *fields, enum redact_args how);
