/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes an exposition as the message ExportMetricsServiceRequest of OTLP 1.
 *
 * Families have the names of gapless-metrics(7) with dots for underscores, and their units: a
 * receiver that translates names for Prometheus, as VictoriaMetrics and the Collector do, arrives
 * at the same names again. Labels are attributes with the same names.
 *
 * Counters are monotonic cumulative sums, histograms are cumulative exponential histograms of scale
 * 3 with the buckets of metrics/bounds.h. Whole numbers are sent as integers, others as doubles,
 * rounded once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/proto.h"
#include "metrics/exposition.h"

struct encoding_attribute {
	const char *key, *value; /* without a value, it is left out */
};

struct encoding_context {
	const struct encoding_attribute *resource; /* where the figures come from */
	size_t resource_count;
	const char *version; /* of gapless */
	uint64_t start_ns;   /* Unix time at which the totals began */
	uint64_t time_ns;    /* Unix time of the step */
};

/* Buffers for attributes. Initialize with zeroes. */
struct encoding_scratch {
	struct proto value, attribute;
};
void encoding__release(struct encoding_scratch *scratch);
/* A KeyValue with a text as a field of `parent`; nothing if the text is empty. */
void encoding__attribute(struct encoding_scratch *scratch, struct proto *parent, unsigned int field,
			 const char *key, const char *value);

/* The caller asks proto__failed(). */
void encoding__metrics(const struct exposition *exposition, const struct encoding_context *context,
		       struct proto *out);
