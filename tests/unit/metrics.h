/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of metrics share: workloads by number, pages as text. */
#pragma once

#include <stdio.h>

#include "metrics/pages.h"
#include "metrics/totals.h"
#include "vocabulary/states.h"

static const struct totals_agent quiet_agent = {
	.version = "0.2.0",
	.kernel = "6.12.9",
	.level = "sched",
};

/* Workload 7 is "service-007" in the namespace "shop"; 0 is not known. */
static inline const struct workload *numbered_workload(void *context, uint64_t id)
{
	static char service[32], namespace_name[] = "shop";
	static struct workload workload = { .service = service, .namespace_name = namespace_name };

	if (!id)
		return NULL;
	workload.id = id;
	snprintf(service, sizeof(service), "service-%03u", (unsigned int)id);
	return &workload;
}

/* A row that is its workload's whole life. */
static inline struct bucket_row row_of(uint64_t workload, enum ledger_slot slot, enum kind kind,
				       uint64_t ns)
{
	return (struct bucket_row) {
		.key = { .workload = workload,
			 .threads = "",
			 .object = "",
			 .by_service = "",
			 .by_threads = "",
			 .slot = (uint8_t)slot,
			 .kind = (uint8_t)kind },
		.ns = ns,
		.count = 1,
		.thread_ns = ns,
	};
}

/* Free the result. */
static inline char *page_of(const struct totals *totals, const struct totals_agent *agent,
			    enum pages_format format)
{
	struct exposition *exposition = NULL;
	struct pages *pages = NULL;
	const void *bytes;
	size_t size;
	char *text;

	assert_int_equal(totals__expose(totals, agent, &exposition), 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(format, false), &bytes, &size), 0);
	text = malloc(size + 1);
	assert_non_null(text);
	memcpy(text, bytes, size);
	text[size] = 0;
	pages__unref(pages);
	return text;
}
