/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles are read again by a reader that knows nothing of the writer. */
#include "../harness.h"

#include <errno.h>
#include <stdlib.h>

#include "otlp.h"
#include "otlp/profile_load.h"
#include "otlp_minute.h"

#define ROOM ((size_t)8 << 20)

static unsigned char *plain; /* ROOM bytes */

static struct courier_load *load_of(enum profile_load_format format,
				    const struct fact_profile *profile, size_t most_samples,
				    size_t most_bytes)
{
	static const struct encoding_attribute host[] = { { "host.name", "h1" } };
	const struct profile_load_options options = {
		.format = format,
		.context = { .host = host, .host_count = 1, .version = "1" },
		.most_samples = most_samples,
		.most_bytes = most_bytes,
	};
	const struct fact_context context = minute_context();
	struct courier_load *load = NULL;

	assert_int_equal(profile_load__new(&options, profile, &context, &load), 0);
	return load;
}

static uint64_t first_of(struct wire packed)
{
	return wire_varint(&packed);
}

static struct wire string_of(struct wire wire, unsigned int table, uint64_t number)
{
	return wire_child(wire, table, (unsigned int)number);
}

/* --- pprof --- */

/* What a request's profiles have in all. */
struct sums {
	uint64_t ns, count;
	unsigned int series, samples;
	size_t largest; /* profile, plain */
	unsigned int most_samples;
};

static void add_profile(struct wire profile, struct sums *sums)
{
	size_t size = (size_t)(profile.end - profile.at);
	unsigned int samples = 0;
	struct wire_field field;

	while (wire_next(&profile, &field)) {
		struct wire values;

		if (field.number != 2)
			continue;
		values = wire_child(field.bytes, 2, 0);
		sums->count += wire_varint(&values);
		sums->ns += wire_varint(&values);
		assert_true(values.at == values.end);
		samples++;
	}
	sums->series++;
	sums->samples += samples;
	sums->most_samples = samples > sums->most_samples ? samples : sums->most_samples;
	sums->largest = size > sums->largest ? size : sums->largest;
}

static struct wire profile_of(struct wire series)
{
	struct wire raw = wire_child(wire_child(series, 2, 0), 1, 0);

	return otlp_unpack(raw.at, (size_t)(raw.end - raw.at), plain, ROOM);
}

static struct sums sums_of(struct courier_load *load)
{
	struct sums sums = {};

	for (size_t i = 0; i < load->count; i++) {
		char *body = NULL;
		size_t size;
		struct wire request, series;
		unsigned int n;

		assert_int_equal(load->pack(load, i, &body, &size), 0);
		request = (struct wire) { (unsigned char *)body, (unsigned char *)body + size };
		for (n = 0; (series = wire_child(request, 1, n)).at; n++)
			add_profile(profile_of(series), &sums);
		assert_int_equal(n, load->profiles[i]);
		free(body);
	}
	return sums;
}

static void every_series_arrives_and_totals_are_equal(void **state)
{
	struct courier_load *load = load_of(PROFILE_LOAD_PPROF, &minute_profile, 0, 0);
	struct sums sums;

	assert_int_equal(load->count, 1);
	sums = sums_of(load);
	assert_int_equal(sums.series, MINUTE_SERIES);
	assert_int_equal(sums.samples, 5);
	assert_int_equal(sums.ns, MINUTE_NS);
	assert_int_equal(sums.count, MINUTE_COUNT);
	load->free(load);
}

static bool has_label(struct wire series, const char *name, const char *value)
{
	struct wire label;

	for (unsigned int i = 0; (label = wire_child(series, 1, i)).at; i++)
		if (wire_is(wire_child(label, 1, 0), name))
			return wire_is(wire_child(label, 2, 0), value);
	return false;
}

/* The mapping with this number. */
static struct wire mapping_of(struct wire profile, uint64_t id)
{
	struct wire mapping;

	for (unsigned int i = 0; (mapping = wire_child(profile, 3, i)).at; i++)
		if (wire_number(mapping, 1) == id)
			return mapping;
	fail_msg("no mapping %u", (unsigned int)id);
	return mapping;
}

static struct wire location_of(struct wire profile, uint64_t id)
{
	struct wire location;

	for (unsigned int i = 0; (location = wire_child(profile, 4, i)).at; i++)
		if (wire_number(location, 1) == id)
			return location;
	fail_msg("no location %u", (unsigned int)id);
	return location;
}

static void check_frame(struct wire profile, uint64_t id, uint64_t address, const char *file,
			const char *build_id)
{
	struct wire location = location_of(profile, id);
	struct wire mapping = mapping_of(profile, wire_number(location, 2));

	assert_int_equal(wire_number(location, 3), address);
	assert_true(wire_number(mapping, 2) <= address && address < wire_number(mapping, 3));
	assert_true(wire_is(string_of(profile, 6, wire_number(mapping, 5)), file));
	assert_true(wire_is(string_of(profile, 6, wire_number(mapping, 6)), build_id));
	/* Names are the server's affair. */
	assert_int_equal(wire_number(mapping, 7), 0);
	assert_false(wire_has(location, 4));
}

static void frames_are_addresses_in_mappings_with_build_ids(void **state)
{
	struct courier_load *load = load_of(PROFILE_LOAD_PPROF, &minute_profile, 0, 0);
	struct wire request, series, profile, way, function;
	char *body = NULL;
	size_t size;

	assert_int_equal(load->pack(load, 0, &body, &size), 0);
	request = (struct wire) { (unsigned char *)body, (unsigned char *)body + size };
	/* "(unknown)", cart run, cart wait, db run. */
	assert_true(has_label(wire_child(request, 1, 0), "service_name", "(unknown)"));
	series = wire_child(request, 1, 2);
	assert_true(has_label(series, "__name__", "wall"));
	assert_true(has_label(series, "service_name", "cart"));
	assert_true(has_label(series, "namespace", "shop"));
	assert_true(has_label(series, "state", "wait"));
	profile = profile_of(series);
	assert_int_equal(otlp_count(profile, 3), 3);
	assert_int_equal(otlp_count(profile, 2), 2);
	/* Disk comes before lock. Innermost first. */
	way = wire_child(wire_child(profile, 2, 1), 1, 0);
	check_frame(profile, wire_varint(&way), 0x10, "[kernel]", "cc33");
	check_frame(profile, wire_varint(&way), 0x2345, "/usr/lib/libc.so.6", "bb22");
	check_frame(profile, wire_varint(&way), 0x1000, "/usr/bin/cart", "aa11");
	function = wire_child(location_of(profile, wire_varint(&way)), 4, 0);
	assert_true(way.at == way.end);
	assert_int_equal(otlp_count(profile, 5), 2);
	for (unsigned int i = 0; i < 2; i++)
		if (wire_number(wire_child(profile, 5, i), 1) == wire_number(function, 1))
			assert_true(wire_is(
				string_of(profile, 6, wire_number(wire_child(profile, 5, i), 2)),
				"wait.lock"));
	free(body);
	load->free(load);
}

/* Pyroscope drops a profile that has the labels and the time of another. */
static void every_profile_has_a_time_of_its_own(void **state)
{
	struct courier_load *load = load_of(PROFILE_LOAD_PPROF, &minute_profile, 1, 0);
	uint64_t begin_ns = minute_context().bucket_s * UINT64_C(1000000000), last = 0;
	struct wire request, series;
	char *body = NULL;
	size_t size;

	assert_int_equal(load->pack(load, 0, &body, &size), 0);
	request = (struct wire) { (unsigned char *)body, (unsigned char *)body + size };
	for (unsigned int i = 0; (series = wire_child(request, 1, i)).at; i++) {
		uint64_t time_ns = wire_number(profile_of(series), 9);

		assert_true(time_ns > last);
		assert_true(time_ns / 60000000000 == begin_ns / 60000000000 ||
			    begin_ns + 60000000000 > time_ns);
		last = time_ns;
	}
	assert_true(last % 60000000000 >= MINUTE_HOST_ID % 1000000000);
	free(body);
	load->free(load);
}

/* --- limits --- */

/* A minute with many samples of one series, each with a stack of its own. */
static struct fact_profile *large_minute(size_t samples, size_t depth)
{
	struct fact_profile *profile = calloc(1, sizeof(*profile));
	struct fact_sample *rows = calloc(samples, sizeof(*rows));
	struct fact_stack *stacks = calloc(samples, sizeof(*stacks));
	uint64_t *numbers = calloc(samples * depth, sizeof(*numbers));
	uint64_t *modules = calloc(depth, sizeof(*modules));

	for (size_t i = 0; i < depth; i++)
		modules[i] = 10;
	for (size_t i = 0; i < samples; i++) {
		rows[i] = (struct fact_sample) {
			.workload = 1, .slot = SLOT_RUN_USER, .stack = i + 1, .ns = i + 1, .n = 1
		};
		for (size_t k = 0; k < depth; k++)
			numbers[i * depth + k] = i * 64 + k * 7;
		stacks[i] = (struct fact_stack) { i + 1, modules, numbers + i * depth, depth };
	}
	*profile = (struct fact_profile) { rows, samples, stacks, samples, minute_modules, 1, 1 };
	return profile;
}

static void free_minute(struct fact_profile *profile)
{
	free((void *)profile->stacks[0].offsets);
	free((void *)profile->stacks[0].modules);
	free((void *)profile->stacks);
	free((void *)profile->samples);
	free(profile);
}

static void profiles_with_too_many_samples_are_split(void **state)
{
	struct fact_profile *minute = large_minute(17000, 2);
	struct courier_load *load = load_of(PROFILE_LOAD_PPROF, minute, 0, 0);
	struct sums sums = sums_of(load);

	assert_int_equal(sums.series, 2);
	assert_int_equal(sums.most_samples, 8500);
	assert_int_equal(sums.samples, 17000);
	assert_int_equal(sums.count, 17000);
	assert_int_equal(sums.ns, UINT64_C(17000) * 17001 / 2);
	assert_int_equal(load->too_large, 0);
	load->free(load);
	free_minute(minute);
}

static void profiles_with_too_many_bytes_are_split(void **state)
{
	struct fact_profile *minute = large_minute(4000, 100);
	struct courier_load *load = load_of(PROFILE_LOAD_PPROF, minute, 0, 0);
	struct sums sums = sums_of(load);

	assert_true(load->count > 1);
	assert_true(sums.largest <= (size_t)4 << 20);
	assert_true(sums.largest > (size_t)1 << 20);
	assert_int_equal(sums.count, 4000);
	assert_int_equal(sums.ns, UINT64_C(4000) * 4001 / 2);
	load->free(load);
	free_minute(minute);
}

static void a_sample_that_fits_nowhere_is_counted(void **state)
{
	struct fact_profile minute = minute_profile;
	struct courier_load *load;
	size_t most_bytes;

	/* The only sample without a stack. */
	minute.samples += 3;
	minute.sample_count = 1;
	load = load_of(PROFILE_LOAD_PPROF, &minute, 0, 0);
	most_bytes = sums_of(load).largest;
	load->free(load);
	load = load_of(PROFILE_LOAD_PPROF, &minute_profile, 0, most_bytes);
	assert_int_equal(load->too_large, 4);
	assert_int_equal(sums_of(load).ns, 20);
	load->free(load);
	load = load_of(PROFILE_LOAD_OTLP, &minute_profile, 0, 1);
	assert_int_equal(load->too_large, 5);
	assert_int_equal(load->count, 0);
	load->free(load);
}

static void an_old_minute_is_not_packed(void **state)
{
	const struct profile_load_options options = { .context = { .version = "1" } };
	struct fact_context context = minute_context();
	struct courier_load *load = NULL;
	char *body = NULL;
	size_t size;

	context.bucket_s -= 3600;
	assert_int_equal(profile_load__new(&options, &minute_profile, &context, &load), 0);
	assert_int_equal(load->pack(load, 0, &body, &size), -ESTALE);
	load->free(load);
}

static void texts_that_are_not_utf8_are_cleaned(void **state)
{
	const struct fact_module modules[] = { { 10, "aa11", "file", "/tmp/\xff\x1b", 0, 0, 0 } };
	struct fact_profile minute = minute_profile;
	struct courier_load *load;
	struct wire profile;
	char *body = NULL;
	size_t size;

	minute.modules = modules;
	minute.module_count = 1;
	load = load_of(PROFILE_LOAD_PPROF, &minute, 0, 0);
	assert_int_equal(load->pack(load, 0, &body, &size), 0);
	profile = profile_of(wire_child(
		(struct wire) { (unsigned char *)body, (unsigned char *)body + size }, 1, 0));
	assert_true(
		wire_is(string_of(profile, 6, wire_number(mapping_of(profile, 1), 5)), "/tmp/?\?"));
	free(body);
	load->free(load);
}

/* --- OTLP --- */

static struct wire request_of(struct courier_load *load, size_t at)
{
	char *body = NULL;
	size_t size;
	struct wire request;

	assert_int_equal(load->pack(load, at, &body, &size), 0);
	request = otlp_unpack(body, size, plain, ROOM);
	free(body);
	return request;
}

/* Whether an attribute of the dictionary has this key and value. */
static bool attribute_is(struct wire dictionary, uint64_t index, const char *key, const char *value)
{
	struct wire attribute = wire_child(dictionary, 6, (unsigned int)index);

	return wire_is(string_of(dictionary, 5, wire_number(attribute, 1)), key) &&
	       wire_is(wire_child(wire_child(attribute, 2, 0), 1, 0), value);
}

static void otlp_has_a_resource_for_each_service_and_equal_totals(void **state)
{
	struct courier_load *load = load_of(PROFILE_LOAD_OTLP, &minute_profile, 0, 0);
	struct wire request = request_of(load, 0), resource, profile, dictionary, sample;
	uint64_t ns = 0;

	assert_int_equal(load->count, 1);
	assert_int_equal(load->profiles[0], 3);
	assert_int_equal(otlp_count(request, 1), 3);
	dictionary = wire_child(request, 2, 0);
	for (unsigned int i = 0; i < 3; i++) {
		profile = wire_child(wire_child(wire_child(request, 1, i), 2, 0), 2, 0);
		assert_true(
			wire_is(string_of(dictionary, 5, wire_number(wire_child(profile, 1, 0), 1)),
				"wall"));
		assert_int_equal(wire_child(profile, 7, 0).end - wire_child(profile, 7, 0).at, 16);
		for (unsigned int k = 0; (sample = wire_child(profile, 2, k)).at; k++)
			ns += first_of(wire_child(sample, 4, 0));
	}
	assert_int_equal(ns, MINUTE_NS);
	resource = wire_child(wire_child(request, 1, 1), 1, 0);
	assert_true(otlp_has(resource, 1, "service.name", "cart"));
	assert_true(otlp_has(resource, 1, "k8s.namespace.name", "shop"));
	assert_true(otlp_has(resource, 1, "host.name", "h1"));
	load->free(load);
}

static void otlp_samples_have_state_cause_and_stack(void **state)
{
	struct courier_load *load = load_of(PROFILE_LOAD_OTLP, &minute_profile, 0, 0);
	struct wire request = request_of(load, 0), dictionary = wire_child(request, 2, 0);
	struct wire profile = wire_child(wire_child(wire_child(request, 1, 1), 2, 0), 2, 0);
	/* Run, then disk, then lock. */
	struct wire sample = wire_child(profile, 2, 2), numbers, location, mapping;

	assert_int_equal(first_of(wire_child(sample, 4, 0)), 5000000);
	numbers = wire_child(sample, 2, 0);
	assert_true(attribute_is(dictionary, wire_varint(&numbers), "state", "wait"));
	assert_true(attribute_is(dictionary, wire_varint(&numbers), "cause", "lock"));
	numbers = wire_child(wire_child(dictionary, 7, (unsigned int)wire_number(sample, 1)), 1, 0);
	location = wire_child(dictionary, 2, (unsigned int)wire_varint(&numbers));
	assert_int_equal(wire_number(location, 2), 0x10);
	assert_true(attribute_is(dictionary, first_of(wire_child(location, 4, 0)),
				 "profile.frame.type", "kernel"));
	mapping = wire_child(dictionary, 1, (unsigned int)wire_number(location, 1));
	assert_true(wire_is(string_of(dictionary, 5, wire_number(mapping, 4)), "[kernel]"));
	assert_true(attribute_is(dictionary, first_of(wire_child(mapping, 5, 0)),
				 "process.executable.build_id.gnu", "cc33"));
	/* The first entry of each table is empty. */
	for (unsigned int table = 1; table <= 7; table++)
		assert_true(wire_is(wire_child(dictionary, table, 0), ""));
	load->free(load);
}

static void otlp_requests_are_split_too(void **state)
{
	struct fact_profile *minute = large_minute(17000, 1);
	struct courier_load *load = load_of(PROFILE_LOAD_OTLP, minute, 0, 0);
	uint64_t ns = 0;

	assert_int_equal(load->count, 2);
	for (size_t i = 0; i < load->count; i++) {
		struct wire request = request_of(load, i), sample;
		struct wire profile = wire_child(wire_child(wire_child(request, 1, 0), 2, 0), 2, 0);
		struct wire_field field;

		while (wire_next(&profile, &field)) {
			sample = field.bytes;
			if (field.number == 2)
				ns += first_of(wire_child(sample, 4, 0));
		}
	}
	assert_int_equal(ns, UINT64_C(17000) * 17001 / 2);
	load->free(load);
	free_minute(minute);
}

static int make_room(void **state)
{
	plain = malloc(ROOM);
	return !plain;
}

static int free_room(void **state)
{
	free(plain);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_series_arrives_and_totals_are_equal),
		cmocka_unit_test(frames_are_addresses_in_mappings_with_build_ids),
		cmocka_unit_test(every_profile_has_a_time_of_its_own),
		cmocka_unit_test(profiles_with_too_many_samples_are_split),
		cmocka_unit_test(profiles_with_too_many_bytes_are_split),
		cmocka_unit_test(a_sample_that_fits_nowhere_is_counted),
		cmocka_unit_test(an_old_minute_is_not_packed),
		cmocka_unit_test(texts_that_are_not_utf8_are_cleaned),
		cmocka_unit_test(otlp_has_a_resource_for_each_service_and_equal_totals),
		cmocka_unit_test(otlp_samples_have_state_cause_and_stack),
		cmocka_unit_test(otlp_requests_are_split_too),
	};

	return cmocka_run_group_tests(tests, make_room, free_room);
}
