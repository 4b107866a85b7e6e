/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/query.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void query__begin(struct query *query)
{
	*query = (struct query) {};
	query->out = open_memstream(&query->text, &query->size);
	query->failed = !query->out;
}

void query__release(struct query *query)
{
	if (query->out)
		fclose(query->out);
	free(query->text);
	*query = (struct query) {};
}

const char *query__finish(struct query *query)
{
	if (query->out && fclose(query->out))
		query->failed = true;
	query->out = NULL;
	return query->failed ? NULL : query->text;
}

void query__add(struct query *query, const char *sql)
{
	if (!query->failed && fputs(sql, query->out) < 0)
		query->failed = true;
}

void query__number(struct query *query, uint64_t number)
{
	if (!query->failed && fprintf(query->out, "%" PRIu64, number) < 0)
		query->failed = true;
}

void query__real(struct query *query, double number)
{
	if (!query->failed && fprintf(query->out, "%.9g", number) < 0)
		query->failed = true;
}

void query__quote(struct query *query, const char *text)
{
	query__add(query, "'");
	for (; *text && !query->failed; text++) {
		unsigned char letter = (unsigned char)*text;

		if (letter == '\\' || letter == '\'')
			fprintf(query->out, "\\%c", letter);
		else if (letter < ' ' || letter == 0x7f)
			fprintf(query->out, "\\x%02X", letter);
		else
			fputc(letter, query->out);
	}
	query__add(query, "'");
}

void query__table(struct query *query, const struct query_tables *tables, const char *name)
{
	query__add(query, tables->database);
	query__add(query, ".");
	query__add(query, name);
	if (tables->is_cluster)
		query__add(query, "_all");
}

void query__moment(struct query *query, uint64_t unix_s)
{
	query__add(query, "toDateTime(");
	query__number(query, unix_s);
	query__add(query, ")");
}
