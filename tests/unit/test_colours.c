/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kinds are told apart by their colours, by eyes without red or green receptors as well. Those are
 * simulated as Machado, Oliveira and Fernandes do (2009, severity 1), distances are CIE 1976.
 */
#include "../harness.h"

#include <math.h>

#include "vocabulary/code_language.h"
#include "vocabulary/states.h"

/* 2.3 is the least that can be seen side by side. Colours here are apart, and in a legend. */
#define LEAST_DISTANCE 20.0
#define LEAST_CONTRAST 18.0

#define ON_LIGHT 0xffffff
#define ON_DARK  0x181c22

struct triple {
	double at[3];
};

enum eyes { NORMAL, PROTAN, DEUTAN, EYES };

static const double sees[EYES][3][3] = {
	[NORMAL] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
	[PROTAN] = { { 0.152286, 1.052583, -0.204868 },
		     { 0.114503, 0.786281, 0.099216 },
		     { -0.003882, -0.048116, 1.051998 } },
	[DEUTAN] = { { 0.367322, 0.860646, -0.227968 },
		     { 0.280085, 0.672501, 0.047413 },
		     { -0.011820, 0.042940, 0.968881 } },
};

static struct triple times(const double matrix[3][3], struct triple value)
{
	struct triple result = {};

	for (int row = 0; row < 3; row++)
		for (int i = 0; i < 3; i++)
			result.at[row] += matrix[row][i] * value.at[i];
	return result;
}

static struct triple linear(uint32_t colour)
{
	struct triple result;

	for (int i = 0; i < 3; i++) {
		double value = (colour >> (16 - 8 * i) & 0xff) / 255.0;

		result.at[i] = value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
	}
	return result;
}

static double curve(double value)
{
	return value > 0.008856 ? cbrt(value) : 7.787 * value + 16.0 / 116;
}

static struct triple lab(uint32_t colour, enum eyes eyes)
{
	static const double xyz[3][3] = { { 0.4124564, 0.3575761, 0.1804375 },
					  { 0.2126729, 0.7151522, 0.0721750 },
					  { 0.0193339, 0.1191920, 0.9503041 } };
	struct triple seen = times(sees[eyes], linear(colour)), at;

	for (int i = 0; i < 3; i++)
		seen.at[i] = fmin(1, fmax(0, seen.at[i]));
	at = times(xyz, seen);
	at = (struct triple) { { curve(at.at[0] / 0.95047), curve(at.at[1]),
				 curve(at.at[2] / 1.08883) } };
	return (struct triple) { { 116 * at.at[1] - 16, 500 * (at.at[0] - at.at[1]),
				   200 * (at.at[1] - at.at[2]) } };
}

static double distance(uint32_t a, uint32_t b, enum eyes eyes)
{
	struct triple x = lab(a, eyes), y = lab(b, eyes);

	return sqrt(pow(x.at[0] - y.at[0], 2) + pow(x.at[1] - y.at[1], 2) +
		    pow(x.at[2] - y.at[2], 2));
}

static void check_pair(const char *what, uint32_t a, uint32_t b, double least)
{
	for (enum eyes eyes = NORMAL; eyes < EYES; eyes++)
		if (distance(a, b, eyes) < least)
			fail_msg("%s: #%06x and #%06x are %.1f apart for eyes %d", what, a, b,
				 distance(a, b, eyes), eyes);
}

static void the_distance_is_the_usual_one(void **state)
{
	assert_true(fabs(distance(0x000000, 0xffffff, NORMAL) - 100) < 0.1);
	assert_true(distance(0xff0000, 0x00ff00, NORMAL) > 150);
	/* Red and this olive are the same to eyes without red receptors, or nearly. */
	assert_true(distance(0xff0000, 0x6b5c00, PROTAN) < 10);
	assert_true(distance(0xff0000, 0x6b5c00, NORMAL) > 60);
}

static void kinds_are_told_apart_whatever_the_eyes(void **state)
{
	for (int a = 0; a < KIND_COUNT; a++) {
		const struct kind_words *one = kinds__words(a);

		check_pair(one->key, one->light, ON_LIGHT, LEAST_CONTRAST);
		check_pair(one->key, one->dark, ON_DARK, LEAST_CONTRAST);
		for (int b = a + 1; b < KIND_COUNT; b++) {
			check_pair(one->key, one->light, kinds__words(b)->light, LEAST_DISTANCE);
			check_pair(one->key, one->dark, kinds__words(b)->dark, LEAST_DISTANCE);
		}
	}
}

static void languages_are_told_apart_whatever_the_eyes(void **state)
{
	for (int a = 0; a < LANGUAGE_COUNT; a++) {
		const struct code_language_look *one = code_language__look(a);

		check_pair(code_language__key(a), one->light, ON_LIGHT, LEAST_CONTRAST);
		check_pair(code_language__key(a), one->dark, ON_DARK, LEAST_CONTRAST);
		for (int b = a + 1; b < LANGUAGE_COUNT; b++) {
			check_pair(code_language__key(a), one->light, code_language__look(b)->light,
				   LEAST_DISTANCE);
			check_pair(code_language__key(a), one->dark, code_language__look(b)->dark,
				   LEAST_DISTANCE);
		}
	}
}

static void every_runtime_has_a_language(void **state)
{
	for (int kind = RUNTIME_NONE + 1; kind < RUNTIME_KINDS; kind++) {
		enum code_language language = code_language__of(kind);

		assert_true(code_language__has_runtime(language));
		assert_string_equal(code_language__key(language), runtime__words(kind)->key);
		assert_string_equal(code_language__name(language), runtime__words(kind)->language);
	}
	assert_int_equal(code_language__of(RUNTIME_NONE), LANGUAGE_NATIVE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_distance_is_the_usual_one),
		cmocka_unit_test(kinds_are_told_apart_whatever_the_eyes),
		cmocka_unit_test(languages_are_told_apart_whatever_the_eyes),
		cmocka_unit_test(every_runtime_has_a_language),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
