/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of io.prometheus.client in metrics.proto of Prometheus' client_model. They are few and
 * written with base/proto.h, as those of pprof and Perfetto are; generated code would need a
 * message object for each of thousands of samples.
 */
#include <string.h>

#include "base/cleanup.h"
#include "metrics/render.h"

enum { FAMILY_NAME = 1, FAMILY_HELP = 2, FAMILY_TYPE = 3, FAMILY_METRIC = 4 };
enum { METRIC_LABEL = 1, METRIC_GAUGE = 2, METRIC_COUNTER = 3, METRIC_HISTOGRAM = 7 };
enum { LABEL_NAME = 1, LABEL_VALUE = 2 };
enum { NUMBER_VALUE = 1 };
enum {
	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM = 2,
	HISTOGRAM_BUCKET = 3,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD = 6,
	HISTOGRAM_ZERO_COUNT = 7,
	HISTOGRAM_SPAN = 12,
	HISTOGRAM_DELTA = 13,
};
enum { BUCKET_COUNT = 1, BUCKET_BOUND = 2 };
enum { SPAN_OFFSET = 1, SPAN_LENGTH = 2 };

/* Buffers of nested messages, the inner ones first. */
struct writer {
	struct proto part, inner, metric, family;
};

static void writer__release(struct writer *writer)
{
	proto__release(&writer->part);
	proto__release(&writer->inner);
	proto__release(&writer->metric);
	proto__release(&writer->family);
}

static void add_labels(struct writer *writer, const struct exposition_family *family,
		       const char *value)
{
	for (int i = 0; i < EXPOSITION_LABELS && family->labels[i]; i++) {
		if (*value) {
			proto__text(&writer->inner, LABEL_NAME, family->labels[i]);
			proto__text(&writer->inner, LABEL_VALUE, value);
			proto__message(&writer->metric, METRIC_LABEL, &writer->inner);
		}
		value = exposition__next(value);
	}
}

static void add_classic(struct writer *writer, const struct bounds_histogram *histogram)
{
	uint64_t below[BOUNDS_CLASSIC], all;

	bounds__count(histogram, below, &all);
	proto__number_always(&writer->inner, HISTOGRAM_COUNT, all);
	proto__double(&writer->inner, HISTOGRAM_SUM, exposition__double(histogram->sum_ns, 9));
	for (size_t i = 0; i < BOUNDS_CLASSIC; i++) {
		proto__number_always(&writer->part, BUCKET_COUNT, below[i]);
		proto__double(&writer->part, BUCKET_BOUND,
			      exposition__double(bounds__classic_ns(i), 9));
		proto__message(&writer->inner, HISTOGRAM_BUCKET, &writer->part);
	}
}

static void add_native(struct writer *writer, const struct bounds_histogram *histogram)
{
	struct bounds_native native;
	uint64_t deltas[BOUNDS_NATIVE_MOST], last = 0;

	bounds__native(histogram, &native);
	proto__number(&writer->inner, HISTOGRAM_SCHEMA, proto__zigzag(BOUNDS_SCHEMA));
	proto__double(&writer->inner, HISTOGRAM_ZERO_THRESHOLD, BOUNDS_ZERO_SECONDS);
	proto__number(&writer->inner, HISTOGRAM_ZERO_COUNT, native.zero_count);
	for (size_t i = 0; i < native.spans; i++) {
		proto__number(&writer->part, SPAN_OFFSET, proto__zigzag(native.span[i].gap));
		proto__number(&writer->part, SPAN_LENGTH, native.span[i].length);
		proto__message(&writer->inner, HISTOGRAM_SPAN, &writer->part);
	}
	for (size_t i = 0; i < native.buckets; i++) {
		deltas[i] = proto__zigzag((int64_t)(native.count[i] - last));
		last = native.count[i];
	}
	proto__numbers(&writer->inner, HISTOGRAM_DELTA, deltas, native.buckets);
}

static void add_sample(struct writer *writer, const struct exposition_family *family,
		       const struct exposition_sample *sample, const char *values)
{
	add_labels(writer, family, values);
	if (sample->histogram) {
		add_classic(writer, sample->histogram);
		add_native(writer, sample->histogram);
		proto__message(&writer->metric, METRIC_HISTOGRAM, &writer->inner);
	} else {
		proto__double(&writer->inner, NUMBER_VALUE, exposition__value(sample));
		proto__message(&writer->metric,
			       family->type == EXPOSITION_COUNTER ? METRIC_COUNTER : METRIC_GAUGE,
			       &writer->inner);
	}
	proto__message(&writer->family, FAMILY_METRIC, &writer->metric);
}

static void begin_family(struct writer *writer, const struct exposition_family *family)
{
	static const int types[] = {
		[EXPOSITION_COUNTER] = 0,
		[EXPOSITION_GAUGE] = 1,
		[EXPOSITION_HISTOGRAM] = 4,
	};
	char name[EXPOSITION_LABEL_BYTES];

	snprintf(name, sizeof(name), "%s%s", family->name,
		 family->type == EXPOSITION_COUNTER ? "_total" : "");
	proto__text(&writer->family, FAMILY_NAME, name);
	proto__text(&writer->family, FAMILY_HELP, family->help);
	proto__number_always(&writer->family, FAMILY_TYPE, (uint64_t)types[family->type]);
}

void render__protobuf(const struct exposition *exposition, struct proto *out)
{
	cleanup(writer__release) struct writer writer = {};

	for (size_t i = 0; i < exposition->sample_count; i++) {
		const struct exposition_sample *sample = &exposition->samples[i];
		const struct exposition_family *family = &exposition->families[sample->family];

		if (!i || sample[-1].family != sample->family)
			begin_family(&writer, family);
		add_sample(&writer, family, sample, exposition__values(exposition, sample));
		if (i + 1 == exposition->sample_count || sample[1].family != sample->family)
			proto__delimited(out, &writer.family);
	}
}
