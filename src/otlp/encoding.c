/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of opentelemetry/proto/metrics/v1/metrics.proto. They are written with base/proto.h
 * for the reason given in metrics/render_protobuf.c.
 */
#include "otlp/encoding.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

enum { REQUEST_RESOURCE = 1 };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPE = 2 };
enum { ATTRIBUTES = 1 };
enum { SCOPE_SCOPE = 1, SCOPE_METRIC = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum {
	METRIC_NAME = 1,
	METRIC_DESCRIPTION = 2,
	METRIC_UNIT = 3,
	METRIC_GAUGE = 5,
	METRIC_SUM = 7,
	METRIC_EXPONENTIAL = 10,
};
enum { DATA_POINT = 1, DATA_TEMPORALITY = 2, DATA_MONOTONIC = 3 };
enum { CUMULATIVE = 2 };
enum {
	NUMBER_START = 2,
	NUMBER_TIME = 3,
	NUMBER_DOUBLE = 4,
	NUMBER_INT = 6,
	NUMBER_ATTRIBUTES = 7,
};
enum {
	EXPONENTIAL_ATTRIBUTES = 1,
	EXPONENTIAL_START = 2,
	EXPONENTIAL_TIME = 3,
	EXPONENTIAL_COUNT = 4,
	EXPONENTIAL_SUM = 5,
	EXPONENTIAL_SCALE = 6,
	EXPONENTIAL_ZERO_COUNT = 7,
	EXPONENTIAL_POSITIVE = 8,
	EXPONENTIAL_ZERO_THRESHOLD = 14,
};
enum { BUCKETS_OFFSET = 1, BUCKETS_COUNTS = 2 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1 };

/* Buffers of nested messages, the inner ones first. */
struct writer {
	const struct encoding_context *context;
	struct encoding_scratch scratch;
	struct proto value, point, data, metric, scope, resource;
};

static void writer__release(struct writer *writer)
{
	encoding__release(&writer->scratch);
	proto__release(&writer->value);
	proto__release(&writer->point);
	proto__release(&writer->data);
	proto__release(&writer->metric);
	proto__release(&writer->scope);
	proto__release(&writer->resource);
}

void encoding__release(struct encoding_scratch *scratch)
{
	proto__release(&scratch->value);
	proto__release(&scratch->attribute);
}

void encoding__attribute(struct encoding_scratch *scratch, struct proto *parent, unsigned int field,
			 const char *key, const char *value)
{
	if (!*value)
		return;
	proto__text(&scratch->value, ANY_STRING, value);
	proto__text(&scratch->attribute, KEY_VALUE_KEY, key);
	proto__message(&scratch->attribute, KEY_VALUE_VALUE, &scratch->value);
	proto__message(parent, field, &scratch->attribute);
}

static void add_labels(struct writer *writer, unsigned int field,
		       const struct exposition_family *family, const char *value)
{
	for (int i = 0; i < EXPOSITION_LABELS && family->labels[i]; i++) {
		encoding__attribute(&writer->scratch, &writer->point, field, family->labels[i],
				    value);
		value = exposition__next(value);
	}
}

static uint64_t start_of(const struct writer *writer, const struct exposition_sample *sample)
{
	return writer->context->start_ns + sample->age_ns;
}

static void add_number(struct writer *writer, const struct exposition_family *family,
		       const struct exposition_sample *sample, const char *values)
{
	struct proto *point = &writer->point;

	if (family->type == EXPOSITION_COUNTER)
		proto__fixed64(point, NUMBER_START, start_of(writer, sample));
	proto__fixed64(point, NUMBER_TIME, writer->context->time_ns);
	if (!sample->digits && sample->number <= INT64_MAX)
		proto__fixed64(point, NUMBER_INT,
			       sample->is_negative ? -sample->number : sample->number);
	else
		proto__double(point, NUMBER_DOUBLE, exposition__value(sample));
	add_labels(writer, NUMBER_ATTRIBUTES, family, values);
}

/*
 * Bucket i of OTLP begins where bucket i of Prometheus ends: the bounds of bucket i are
 * (2^(i/8), 2^((i+1)/8)] there and (2^((i-1)/8), 2^(i/8)] here.
 */
static void add_buckets(struct writer *writer, const struct bounds_native *native)
{
	uint64_t counts[BOUNDS_NATIVE_MOST];
	size_t count = 0, at = 0;

	for (size_t i = 0; i < native->spans; i++) {
		const struct bounds_span *span = &native->span[i];

		for (int32_t k = 0; i && k < span->gap; k++)
			counts[count++] = 0;
		for (uint32_t k = 0; k < span->length; k++)
			counts[count++] = native->count[at++];
	}
	if (!count)
		return;
	proto__number(&writer->value, BUCKETS_OFFSET, proto__zigzag(native->span[0].gap - 1));
	proto__numbers(&writer->value, BUCKETS_COUNTS, counts, count);
	proto__message(&writer->point, EXPONENTIAL_POSITIVE, &writer->value);
}

static void add_exponential(struct writer *writer, const struct exposition_family *family,
			    const struct exposition_sample *sample, const char *values)
{
	struct proto *point = &writer->point;
	struct bounds_native native;
	uint64_t all;

	bounds__native(sample->histogram, &native);
	all = native.zero_count;
	for (size_t i = 0; i < native.buckets; i++)
		all += native.count[i];
	add_labels(writer, EXPONENTIAL_ATTRIBUTES, family, values);
	proto__fixed64(point, EXPONENTIAL_START, start_of(writer, sample));
	proto__fixed64(point, EXPONENTIAL_TIME, writer->context->time_ns);
	proto__fixed64(point, EXPONENTIAL_COUNT, all);
	proto__double(point, EXPONENTIAL_SUM, exposition__double(sample->histogram->sum_ns, 9));
	proto__number(point, EXPONENTIAL_SCALE, proto__zigzag(BOUNDS_SCHEMA));
	proto__fixed64(point, EXPONENTIAL_ZERO_COUNT, native.zero_count);
	add_buckets(writer, &native);
	proto__double(point, EXPONENTIAL_ZERO_THRESHOLD, BOUNDS_ZERO_SECONDS);
}

/* The unit as UCUM writes it. A gauge without a unit has none: "1" would be a ratio. */
static const char *unit_of(const struct exposition_family *family)
{
	static const char *const units[][2] = {
		{ "seconds", "s" },
		{ "bytes", "By" },
		{ "ratio", "1" },
	};

	for (size_t i = 0; family->unit && i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(family->unit, units[i][0]))
			return units[i][1];
	return "";
}

static void begin_metric(struct writer *writer, const struct exposition_family *family)
{
	char name[EXPOSITION_LABEL_BYTES];

	snprintf(name, sizeof(name), "%s", family->name);
	for (char *at = name; *at; at++)
		if (*at == '_')
			*at = '.';
	proto__text(&writer->metric, METRIC_NAME, name);
	proto__text(&writer->metric, METRIC_DESCRIPTION, family->help);
	proto__text(&writer->metric, METRIC_UNIT, unit_of(family));
}

static void end_metric(struct writer *writer, const struct exposition_family *family)
{
	static const unsigned int fields[] = {
		[EXPOSITION_COUNTER] = METRIC_SUM,
		[EXPOSITION_GAUGE] = METRIC_GAUGE,
		[EXPOSITION_HISTOGRAM] = METRIC_EXPONENTIAL,
	};

	if (family->type != EXPOSITION_GAUGE)
		proto__number(&writer->data, DATA_TEMPORALITY, CUMULATIVE);
	proto__number(&writer->data, DATA_MONOTONIC, family->type == EXPOSITION_COUNTER);
	proto__message(&writer->metric, fields[family->type], &writer->data);
	proto__message(&writer->scope, SCOPE_METRIC, &writer->metric);
}

static void add_resource(struct writer *writer)
{
	const struct encoding_context *context = writer->context;

	for (size_t i = 0; i < context->resource_count; i++)
		encoding__attribute(&writer->scratch, &writer->data, ATTRIBUTES,
				    context->resource[i].key, context->resource[i].value);
	proto__message(&writer->resource, RESOURCE_RESOURCE, &writer->data);
	proto__text(&writer->data, SCOPE_NAME, "gapless");
	proto__text(&writer->data, SCOPE_VERSION, context->version);
	proto__message(&writer->scope, SCOPE_SCOPE, &writer->data);
}

void encoding__metrics(const struct exposition *exposition, const struct encoding_context *context,
		       struct proto *out)
{
	cleanup(writer__release) struct writer writer = { .context = context };

	add_resource(&writer);
	for (size_t i = 0; i < exposition->sample_count; i++) {
		const struct exposition_sample *sample = &exposition->samples[i];
		const struct exposition_family *family = &exposition->families[sample->family];
		const char *values = exposition__values(exposition, sample);

		if (!i || sample[-1].family != sample->family)
			begin_metric(&writer, family);
		if (sample->histogram)
			add_exponential(&writer, family, sample, values);
		else
			add_number(&writer, family, sample, values);
		proto__message(&writer.data, DATA_POINT, &writer.point);
		if (i + 1 == exposition->sample_count || sample[1].family != sample->family)
			end_metric(&writer, family);
	}
	proto__message(&writer.resource, RESOURCE_SCOPE, &writer.scope);
	proto__message(out, REQUEST_RESOURCE, &writer.resource);
}
