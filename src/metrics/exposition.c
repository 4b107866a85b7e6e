/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/exposition.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "base/vec.h"

/* The largest whole number below which a double has them all. */
#define EXACT (UINT64_C(1) << 53)

int exposition__new(struct exposition **ret)
{
	struct exposition *exposition = calloc(1, sizeof(*exposition));

	if (!exposition)
		return -ENOMEM;
	*ret = exposition;
	return 0;
}

void exposition__free(struct exposition *exposition)
{
	if (!exposition)
		return;
	for (size_t i = 0; i < exposition->family_count; i++)
		free((char *)exposition->families[i].name);
	for (size_t i = 0; i < exposition->sample_count; i++)
		free(exposition->samples[i].histogram);
	free(exposition->families);
	free(exposition->samples);
	free(exposition->text);
	free(exposition);
}

int exposition__failed(const struct exposition *exposition)
{
	return exposition->err;
}

void exposition__clean(const char *value, char ret[EXPOSITION_LABEL_BYTES])
{
	size_t length = strnlen(value, EXPOSITION_LABEL_BYTES - 1);

	/* Do not cut a character in two. */
	while (value[length] && length && ((unsigned char)value[length] & 0xc0) == 0x80)
		length--;
	memcpy(ret, value, length);
	ret[length] = 0;
	utf8__sanitize(ret);
}

const char *exposition__values(const struct exposition *exposition,
			       const struct exposition_sample *sample)
{
	return exposition->families[sample->family].labels[0] ? exposition->text + sample->values
							      : "";
}

const char *exposition__next(const char *value)
{
	return value + strlen(value) + 1;
}

double exposition__double(uint64_t number, unsigned int digits)
{
	double one = 1;

	for (unsigned int i = 0; i < digits; i++)
		one *= 10;
	/* Both are exact, so this rounds once, to the double that the text of the number gives. */
	if (number <= EXACT)
		return (double)number / one;
	return (double)((long double)number / (long double)one);
}

double exposition__value(const struct exposition_sample *sample)
{
	double value = exposition__double(sample->number, sample->digits);

	return sample->is_negative ? -value : value;
}

void exposition__family(struct exposition *exposition, const struct exposition_family *family)
{
	char *name = exposition->err ? NULL : strdup(family->name);
	struct exposition_family *added = NULL;

	if (name)
		added = APPEND(&exposition->families, &exposition->family_count);
	if (!added) {
		free(name);
		exposition->err = -ENOMEM;
		return;
	}
	*added = *family;
	added->name = name;
	exposition->age_ns = 0;
}

static int add_text(struct exposition *exposition, const char *value)
{
	char clean[EXPOSITION_LABEL_BYTES];
	size_t size;

	exposition__clean(value, clean);
	size = strlen(clean) + 1;
	if (exposition->text_room - exposition->text_size < size) {
		size_t room = exposition->text_room ? exposition->text_room * 2 : 4096;
		char *grown = realloc(exposition->text, room);

		if (!grown)
			return -ENOMEM;
		exposition->text = grown;
		exposition->text_room = room;
	}
	memcpy(exposition->text + exposition->text_size, clean, size);
	exposition->text_size += size;
	return 0;
}

static struct exposition_sample *add_sample(struct exposition *exposition,
					    const char *const *values)
{
	const struct exposition_family *family =
		&exposition->families[exposition->family_count - 1];
	struct exposition_sample *sample;
	size_t start = exposition->text_size;

	for (int i = 0; !exposition->err && i < EXPOSITION_LABELS && family->labels[i]; i++)
		exposition->err = add_text(exposition, values[i]);
	if (exposition->err)
		return NULL;
	sample = APPEND(&exposition->samples, &exposition->sample_count);
	if (!sample) {
		exposition->err = -ENOMEM;
		return NULL;
	}
	sample->family = (uint32_t)(exposition->family_count - 1);
	sample->values = (uint32_t)start;
	sample->age_ns = exposition->age_ns;
	return sample;
}

void exposition__sample(struct exposition *exposition, const char *const *values, uint64_t number,
			unsigned int digits)
{
	struct exposition_sample *sample = exposition->err ? NULL : add_sample(exposition, values);

	if (!sample)
		return;
	sample->number = number;
	sample->digits = digits;
	exposition->series++;
}

void exposition__signed(struct exposition *exposition, const char *const *values, int64_t number)
{
	uint64_t size = number < 0 ? -(uint64_t)number : (uint64_t)number;

	exposition__sample(exposition, values, size, 0);
	if (!exposition->err)
		exposition->samples[exposition->sample_count - 1].is_negative = number < 0;
}

void exposition__histogram(struct exposition *exposition, const char *const *values,
			   const struct bounds_histogram *histogram)
{
	struct exposition_sample *sample = exposition->err ? NULL : add_sample(exposition, values);

	if (!sample)
		return;
	sample->histogram = malloc(sizeof(*histogram));
	if (!sample->histogram) {
		exposition->err = -ENOMEM;
		return;
	}
	*sample->histogram = *histogram;
	exposition->series += BOUNDS_SERIES;
}
