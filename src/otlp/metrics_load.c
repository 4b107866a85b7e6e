/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "otlp/metrics_load.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/gzip.h"

struct metrics_load {
	struct courier_load load; /* the first member */
	struct pages *pages;
	struct encoding_context context;
};

static int pack(struct courier_load *load, size_t at, char **ret, size_t *ret_bytes)
{
	struct metrics_load *metrics = (struct metrics_load *)load;
	cleanup(proto__release) struct proto proto = {};

	(void)at;
	encoding__metrics(pages__exposition(metrics->pages), &metrics->context, &proto);
	if (proto__failed(&proto))
		return -ENOMEM;
	return gzip__pack(proto.bytes, proto.size, ret, ret_bytes);
}

static void free_load(struct courier_load *load)
{
	struct metrics_load *metrics = (struct metrics_load *)load;

	pages__unref(metrics->pages);
	free(metrics);
}

int metrics_load__new(struct pages *pages, const struct encoding_context *context,
		      struct courier_load **ret)
{
	struct metrics_load *metrics = calloc(1, sizeof(*metrics));

	if (!metrics)
		return -ENOMEM;
	metrics->load = (struct courier_load) { .count = 1, .pack = pack, .free = free_load };
	metrics->pages = pages__ref(pages);
	metrics->context = *context;
	*ret = &metrics->load;
	return 0;
}
