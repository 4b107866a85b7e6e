/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/url_query.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "store/batch.h"

void url_query__escape(struct url_query *query, const char *text)
{
	size_t length = strlen(query->text);

	for (; *text && length + 4 < sizeof(query->text); text++) {
		unsigned char c = (unsigned char)*text;
		bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '_';

		length += (size_t)snprintf(query->text + length, 4, is_plain ? "%c" : "%%%02X", c);
	}
}

void url_query__add(struct url_query *query, const char *text)
{
	size_t length = strlen(query->text);

	snprintf(query->text + length, sizeof(query->text) - length, "%s", text);
}

void url_query__begin(struct url_query *query, const char *format, ...)
{
	char sql[BATCH_COLUMNS_BYTES + 256];
	va_list args;

	va_start(args, format);
	vsnprintf(sql, sizeof(sql), format, args);
	va_end(args);
	strcpy(query->text, "query=");
	url_query__escape(query, sql);
}
