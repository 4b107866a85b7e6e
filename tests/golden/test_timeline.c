/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording with stacks in the formats that have a time axis, to the byte. */
#include "../harness.h"

#include <stdio.h>

#include "export/exporter.h"
#include "golden.h"
#include "sample.h"

static char *path, *requests_path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write_with_stacks(path);
	requests_path = sample__path();
	sample__write_with_requests(requests_path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	sample__remove(requests_path);
	return 0;
}

static char *export(const char *recording, const struct exporter *exporter,
		    const struct profile_options *more, size_t *ret_size)
{
	struct profile_options options = more ? *more : (struct profile_options) {};
	struct profile *profile = NULL;
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, ret_size);

	options.accounts = exporter->accounts;
	assert_int_equal(profile__load(recording, &options, &profile), 0);
	assert_int_equal(exporter->write(profile, out), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(profile);
	return bytes;
}

static void expect(const char *name, const struct exporter *exporter,
		   const struct profile_options *options)
{
	size_t size = 0;
	char *bytes = export(path, exporter, options, &size);

	golden__expect(name, bytes);
	free(bytes);
}

/* Fields that have fields, by the way to them. All others with a length are texts. */
static bool is_message(const char *way)
{
	static const char *const ways[] = {
		"1",       "1.6",       "1.6.1",   "1.11",    "1.11.4",  "1.12",    "1.12.5",
		"1.12.6",  "1.12.7",    "1.12.16", "1.12.17", "1.12.18", "1.12.19", "1.59",
		"1.59.12", "1.59.12.1", "1.60",    "1.60.3",  "1.60.4",  "1.66",
	};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (!strcmp(way, ways[i]))
			return true;
	return false;
}

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
	uint64_t value = 0;

	for (int shift = 0; shift < 64; shift += 7) {
		assert_true(*at < end);
		value |= (uint64_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return value;
	}
	fail();
	return 0;
}

static void print_text(FILE *out, const unsigned char *at, size_t size)
{
	fputc('"', out);
	for (size_t i = 0; i < size; i++)
		fprintf(out, at[i] >= 0x20 && at[i] < 0x7f ? "%c" : "\\x%02x", at[i]);
	fputc('"', out);
}

/* Protocol buffers as text, by numbers alone: knows nothing of how they were written. */
static void decode(FILE *out, const unsigned char *at, const unsigned char *end, const char *way)
{
	while (at < end) {
		uint64_t tag = varint(&at, end), size;
		double real;
		char field[64];

		snprintf(field, sizeof(field), "%s%s%d", way, *way ? "." : "", (int)(tag >> 3));
		fprintf(out, " %d:", (int)(tag >> 3));
		switch (tag & 7) {
		case 0:
			fprintf(out, "%llu", (unsigned long long)varint(&at, end));
			break;
		case 1:
			assert_true(end - at >= 8);
			memcpy(&real, at, sizeof(real));
			fprintf(out, "%g", real);
			at += 8;
			break;
		default:
			assert_int_equal(tag & 7, 2);
			size = varint(&at, end);
			assert_true(size <= (uint64_t)(end - at));
			if (is_message(field)) {
				fputs("{", out);
				decode(out, at, at + size, field);
				fputs(" }", out);
			} else {
				print_text(out, at, size);
			}
			at += size;
		}
		if (!*way)
			fputc('\n', out);
	}
}

static void expect_perfetto(const char *name, const char *recording)
{
	size_t size = 0, text_size = 0;
	char *bytes = export(recording, &export_perfetto, NULL, &size), *text = NULL;
	FILE *out = open_memstream(&text, &text_size);

	decode(out, (unsigned char *)bytes, (unsigned char *)bytes + size, "");
	fclose(out);
	golden__expect(name, text);
	free(text);
	free(bytes);
}

static void perfetto(void **state)
{
	expect_perfetto("export.perfetto.txt", path);
}

/* With an arrow from a request to the query that was made for it. */
static void perfetto_with_requests(void **state)
{
	expect_perfetto("export-windows.perfetto.txt", requests_path);
}

static void firefox(void **state)
{
	expect("export.firefox.json", &export_firefox, NULL);
}

static void firefox_of_a_cut(void **state)
{
	expect("export-cut.firefox.json", &export_firefox,
	       &(struct profile_options) { .scope.from.ns = 5 * SECOND,
					   .scope.to.ns = 8 * SECOND });
}

static void chrome(void **state)
{
	expect("export.chrome.json", &export_chrome, NULL);
}

static void chrome_of_a_cut(void **state)
{
	expect("export-cut.chrome.json", &export_chrome,
	       &(struct profile_options) { .scope.from.ns = 5 * SECOND,
					   .scope.to.ns = 8 * SECOND });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox),  cmocka_unit_test(firefox_of_a_cut),
		cmocka_unit_test(chrome),   cmocka_unit_test(chrome_of_a_cut),
		cmocka_unit_test(perfetto), cmocka_unit_test(perfetto_with_requests),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
