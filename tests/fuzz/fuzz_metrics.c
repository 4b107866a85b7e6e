/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What clients and foreign programs can put into metrics: headers, addresses, names of services.
 * Whatever the name, the page has one line for it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "metrics/accept.h"
#include "metrics/listener.h"
#include "metrics/pages.h"
#include "metrics/totals.h"

/* Those that are not compressed. */
#define PLAIN_PAGES                                                                                \
	(1u << PAGES_PAGE(PAGES_TEXT, false) | 1u << PAGES_PAGE(PAGES_OPEN_METRICS, false) |       \
	 1u << PAGES_PAGE(PAGES_PROTOBUF, false))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct workload *find_workload(void *context, uint64_t id)
{
	return context;
}

static size_t count_lines(const char *text, size_t size)
{
	size_t lines = 0;

	for (size_t i = 0; i < size; i++)
		lines += text[i] == '\n';
	return lines;
}

static void show(char *name)
{
	static const struct totals_agent agent = { .version = "", .kernel = "", .level = "" };
	static size_t lines;
	struct workload workload = { .service = name, .namespace_name = name };
	struct bucket_row row = { .ns = 1, .thread_ns = 1 };
	struct exposition *exposition = NULL;
	struct totals *totals = NULL;
	struct pages *pages = NULL;
	const void *text;
	size_t size;

	if (totals__new(&(struct totals_options) { .detail = TOTALS_SERVICE }, &totals) ||
	    totals__add_step(totals, &row, 1, 1, find_workload, &workload) ||
	    totals__expose(totals, &agent, &exposition) || pages__new(exposition, &pages) ||
	    pages__prepare(pages, PLAIN_PAGES) ||
	    pages__get(pages, PAGES_PAGE(PAGES_TEXT, false), &text, &size))
		abort();
	if (lines && lines != count_lines(text, size))
		abort();
	lines = count_lines(text, size);
	pages__unref(pages);
	totals__free(totals);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct listener_address address;
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	if (accept__format(text) >= PAGES_FORMATS)
		abort();
	accept__gzip(text);
	listener__parse(text, &address);
	show(text);
	free(text);
	return 0;
}
