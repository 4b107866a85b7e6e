/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/pages.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "metrics/render.h"

struct body {
	char *bytes;
	size_t size;
};

struct pages {
	atomic_uint references;
	struct exposition *exposition;
	pthread_mutex_t lock; /* of the bodies */
	struct body bodies[PAGES_COUNT];
};

int pages__new(struct exposition *exposition, struct pages **ret)
{
	struct pages *pages = calloc(1, sizeof(*pages));

	if (!pages) {
		exposition__free(exposition);
		return -ENOMEM;
	}
	pages->references = 1;
	pages->exposition = exposition;
	pthread_mutex_init(&pages->lock, NULL);
	*ret = pages;
	return 0;
}

struct pages *pages__ref(struct pages *pages)
{
	pages->references++;
	return pages;
}

void pages__unref(struct pages *pages)
{
	if (!pages || --pages->references)
		return;
	for (size_t i = 0; i < PAGES_COUNT; i++)
		free(pages->bodies[i].bytes);
	pthread_mutex_destroy(&pages->lock);
	exposition__free(pages->exposition);
	free(pages);
}

static int render_text(struct pages *pages, enum pages_format format, struct body *ret)
{
	struct body body = {};
	FILE *out = open_memstream(&body.bytes, &body.size);
	bool failed;

	if (!out)
		return -ENOMEM;
	render__text(pages->exposition, format == PAGES_OPEN_METRICS, out);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (failed) {
		free(body.bytes);
		return -ENOMEM;
	}
	*ret = body;
	return 0;
}

static int render_protobuf(struct pages *pages, struct body *ret)
{
	struct proto proto = {};

	render__protobuf(pages->exposition, &proto);
	if (proto__failed(&proto)) {
		proto__release(&proto);
		return -ENOMEM;
	}
	*ret = (struct body) { (char *)proto.bytes, proto.size };
	return 0;
}

/* The lock is held. */
static int make(struct pages *pages, unsigned int page)
{
	struct body *body = &pages->bodies[page];
	enum pages_format format = page / 2;
	int err;

	if (body->bytes)
		return 0;
	if (page % 2) {
		const struct body *plain = &pages->bodies[page - 1];

		err = make(pages, page - 1);
		return err ? err : gzip__pack(plain->bytes, plain->size, &body->bytes, &body->size);
	}
	return format == PAGES_PROTOBUF ? render_protobuf(pages, body)
					: render_text(pages, format, body);
}

int pages__get(struct pages *pages, unsigned int page, const void **ret, size_t *ret_size)
{
	int err;

	pthread_mutex_lock(&pages->lock);
	err = make(pages, page);
	pthread_mutex_unlock(&pages->lock);
	if (err)
		return err;
	*ret = pages->bodies[page].bytes;
	*ret_size = pages->bodies[page].size;
	return 0;
}

int pages__prepare(struct pages *pages, unsigned int set)
{
	int err = 0;

	pthread_mutex_lock(&pages->lock);
	for (unsigned int i = 0; !err && i < PAGES_COUNT; i++)
		if (set & 1u << i)
			err = make(pages, i);
	pthread_mutex_unlock(&pages->lock);
	return err;
}

const char *pages__type(enum pages_format format)
{
	switch (format) {
	case PAGES_OPEN_METRICS:
		return "application/openmetrics-text; version=1.0.0; charset=utf-8";
	case PAGES_PROTOBUF:
		return "application/vnd.google.protobuf; "
		       "proto=io.prometheus.client.MetricFamily; encoding=delimited";
	default:
		return "text/plain; version=0.0.4; charset=utf-8";
	}
}

size_t pages__series(const struct pages *pages)
{
	return pages->exposition->series;
}

const struct exposition *pages__exposition(const struct pages *pages)
{
	return pages->exposition;
}
