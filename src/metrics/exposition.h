/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What one step shows to Prometheus, before it is written in one of the formats: families of
 * samples. It does not change after it was made, so threads can read it at the same time.
 *
 * The first failure is kept; exposition__failed() returns it at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/bounds.h"

enum exposition_type { EXPOSITION_COUNTER, EXPOSITION_GAUGE, EXPOSITION_HISTOGRAM };

#define EXPOSITION_LABELS 6
/* Longer values of labels are cut. */
#define EXPOSITION_LABEL_BYTES 128

/* All strings outlive the exposition, except that exposition__family() copies the name. */
struct exposition_family {
	const char *name; /* of a counter: without "_total" */
	const char *help; /* without line breaks, quotation marks and backslashes */
	const char *unit; /* the end of the name, "seconds"; NULL: none */
	enum exposition_type type;
	const char *labels[EXPOSITION_LABELS]; /* their names; NULL after the last one */
};

struct exposition_sample {
	uint32_t family;
	uint32_t values; /* the values of the labels, one after the other, in `text` */
	uint64_t number; /* divided by 10^digits, exactly */
	unsigned int digits;
	bool is_negative; /* only of gauges */
	uint64_t age_ns; /* of the totals when the series began: 0, or it replaces one that ended */
	struct bounds_histogram *histogram; /* only of histograms */
};

struct exposition {
	struct exposition_family *families;
	size_t family_count;
	struct exposition_sample *samples; /* those of a family follow each other */
	size_t sample_count;
	size_t series; /* as Prometheus counts them: lines of the classic text */
	char *text;
	size_t text_size, text_room;
	uint64_t age_ns; /* of the samples that are added next */
	int err;
};

int exposition__new(struct exposition **ret);
void exposition__free(struct exposition *exposition);

/* Begins a family. Samples belong to the last one that was begun. */
void exposition__family(struct exposition *exposition, const struct exposition_family *family);
/*
 * `values` has a value for each label of the family. They may come from foreign programs: what is
 * not UTF-8 and what controls a display becomes '?'. An empty value is the same as no label.
 */
void exposition__sample(struct exposition *exposition, const char *const *values, uint64_t number,
			unsigned int digits);
/* A gauge that can be below 0. */
void exposition__signed(struct exposition *exposition, const char *const *values, int64_t number);
/* Copies the histogram. */
void exposition__histogram(struct exposition *exposition, const char *const *values,
			   const struct bounds_histogram *histogram);
/* 0 or -ENOMEM. */
int exposition__failed(const struct exposition *exposition);

/* Copies a value as exposition__sample() does: cleans it and cuts it to the size of `ret`. */
void exposition__clean(const char *value, char ret[EXPOSITION_LABEL_BYTES]);
/* The first value of a sample; "" if its family has no labels. */
const char *exposition__values(const struct exposition *exposition,
			       const struct exposition_sample *sample);
/* The value after this one. */
const char *exposition__next(const char *value);
/* The value of a sample that is no histogram. */
double exposition__value(const struct exposition_sample *sample);
/* The double that is nearest to the number; above 2^53 its last bit may differ. */
double exposition__double(uint64_t number, unsigned int digits);
