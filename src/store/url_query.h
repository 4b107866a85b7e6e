/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows '?' in the URL of a request: a statement, and settings. What does not fit is left
 * out.
 *
 * Pure. Any thread.
 */
#pragma once

#define URL_QUERY_BYTES 8192

struct url_query {
	char text[URL_QUERY_BYTES];
};

/* "query=" and the statement. */
__attribute__((format(printf, 2, 3))) void url_query__begin(struct url_query *query,
							    const char *format, ...);
/* Appends text: as it is, or all but letters, digits and '_' as %XX. */
void url_query__add(struct url_query *query, const char *text);
void url_query__escape(struct url_query *query, const char *text);
