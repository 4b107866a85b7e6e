/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers are written from integers: a total of nanoseconds has nine decimals and loses none. A
 * double would round it after 104 days of thread time.
 */
#include <inttypes.h>
#include <string.h>

#include "metrics/render.h"

static void write_number(FILE *out, uint64_t number, unsigned int digits)
{
	uint64_t one = 1;

	for (unsigned int i = 0; i < digits; i++)
		one *= 10;
	fprintf(out, "%" PRIu64, number / one);
	if (digits)
		fprintf(out, ".%0*" PRIu64, (int)digits, number % one);
}

static void write_value(FILE *out, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			fputs_unlocked("\\n", out);
		else if (*value == '"' || *value == '\\')
			fprintf(out, "\\%c", *value);
		else
			putc_unlocked(*value, out);
	}
}

/* The labels and, if it is not NULL, `le`. */
static void write_labels(FILE *out, const struct exposition_family *family, const char *value,
			 const char *le)
{
	char before = '{';

	for (int i = 0; i < EXPOSITION_LABELS && family->labels[i]; i++) {
		if (*value) {
			putc_unlocked(before, out);
			fputs_unlocked(family->labels[i], out);
			fputs_unlocked("=\"", out);
			write_value(out, value);
			putc_unlocked('"', out);
			before = ',';
		}
		value = exposition__next(value);
	}
	if (le)
		fprintf(out, "%cle=\"%s\"", before, le);
	if (le || before == ',')
		putc_unlocked('}', out);
}

static void write_line(FILE *out, const struct exposition_family *family, const char *suffix,
		       const char *values, const char *le)
{
	fputs_unlocked(family->name, out);
	fputs_unlocked(suffix, out);
	write_labels(out, family, values, le);
	putc_unlocked(' ', out);
}

static void write_histogram(FILE *out, const struct exposition_family *family, const char *values,
			    const struct bounds_histogram *histogram)
{
	uint64_t below[BOUNDS_CLASSIC], all;
	char le[32];

	bounds__count(histogram, below, &all);
	for (size_t i = 0; i < BOUNDS_CLASSIC; i++) {
		snprintf(le, sizeof(le), "%.12g", (double)bounds__classic_ns(i) / 1e9);
		write_line(out, family, "_bucket", values, le);
		fprintf(out, "%" PRIu64 "\n", below[i]);
	}
	write_line(out, family, "_bucket", values, "+Inf");
	fprintf(out, "%" PRIu64 "\n", all);
	write_line(out, family, "_sum", values, NULL);
	write_number(out, histogram->sum_ns, 9);
	putc_unlocked('\n', out);
	write_line(out, family, "_count", values, NULL);
	fprintf(out, "%" PRIu64 "\n", all);
}

static void write_head(FILE *out, const struct exposition_family *family, bool is_open_metrics)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };
	/* OpenMetrics names the family of a counter without its suffix. */
	const char *suffix = family->type == EXPOSITION_COUNTER && !is_open_metrics ? "_total" : "";

	fprintf(out, "# HELP %s%s %s\n", family->name, suffix, family->help);
	fprintf(out, "# TYPE %s%s %s\n", family->name, suffix, types[family->type]);
	if (is_open_metrics && family->unit)
		fprintf(out, "# UNIT %s %s\n", family->name, family->unit);
}

void render__text(const struct exposition *exposition, bool is_open_metrics, FILE *out)
{
	uint32_t last = UINT32_MAX;

	for (size_t i = 0; i < exposition->sample_count; i++) {
		const struct exposition_sample *sample = &exposition->samples[i];
		const struct exposition_family *family = &exposition->families[sample->family];
		const char *values = exposition__values(exposition, sample);

		if (sample->family != last)
			write_head(out, family, is_open_metrics);
		last = sample->family;
		if (sample->histogram) {
			write_histogram(out, family, values, sample->histogram);
			continue;
		}
		write_line(out, family, family->type == EXPOSITION_COUNTER ? "_total" : "", values,
			   NULL);
		if (sample->is_negative)
			putc_unlocked('-', out);
		write_number(out, sample->number, sample->digits);
		putc_unlocked('\n', out);
	}
	if (is_open_metrics)
		fputs("# EOF\n", out);
}
