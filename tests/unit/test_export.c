/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the exports: bytes, names, and recordings that are not what they should be. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "base/intern.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "export/exporter.h"
#include "export/tree.h"
#include "model/texts.h"
#include "sample.h"

static void expect_bytes(struct proto *proto, const char *bytes, size_t size)
{
	assert_false(proto__failed(proto));
	assert_int_equal(proto->size, size);
	assert_memory_equal(proto->bytes, bytes, size);
	proto__release(proto);
}
#define EXPECT_BYTES(proto, bytes) expect_bytes(proto, bytes, sizeof(bytes) - 1)

static void a_number_is_a_varint_and_zero_is_left_out(void **state)
{
	struct proto proto = {};

	proto__number(&proto, 1, 150);
	proto__number(&proto, 2, 0);
	proto__number_always(&proto, 3, 0);
	proto__number(&proto, 16, UINT64_MAX);
	EXPECT_BYTES(&proto, "\x08\x96\x01\x18\x00\x80\x01"
			     "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}

static void texts_and_fixed_numbers_have_their_wire_types(void **state)
{
	struct proto proto = {};

	proto__text(&proto, 2, "testing");
	proto__text(&proto, 3, "");
	proto__fixed64(&proto, 4, 0x0102030405060708);
	proto__double(&proto, 5, 1.0);
	EXPECT_BYTES(&proto, "\x12\x07testing\x1a\x00\x21\x08\x07\x06\x05\x04\x03\x02\x01"
			     "\x29\x00\x00\x00\x00\x00\x00\xf0\x3f");
}

static void numbers_are_packed_and_messages_nested(void **state)
{
	struct proto proto = {}, message = {};

	proto__numbers(&message, 4, (const uint64_t[]) { 3, 270, 86942 }, 3);
	proto__numbers(&message, 5, NULL, 0);
	proto__message(&proto, 1, &message);
	proto__number(&message, 1, 1);
	proto__message(&proto, 1, &message);
	proto__message(&proto, 2, &message);
	proto__release(&message);
	EXPECT_BYTES(&proto, "\x0a\x08\x22\x06\x03\x8e\x02\x9e\xa7\x05\x0a\x02\x08\x01\x12\x00");
}

static void a_buffer_grows_as_needed(void **state)
{
	struct proto proto = {};
	char text[1000];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 100; i++)
		proto__bytes(&proto, 1, text, sizeof(text));
	assert_false(proto__failed(&proto));
	assert_int_equal(proto.size, 100 * (sizeof(text) + 3));
	proto__release(&proto);
}

static void kept_texts_are_clean(void **state)
{
	static const char *const pairs[][2] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "µ€😀", "µ€😀" },
		{ "a\nb\x1b[31m\x7f", "a?b?[31m?" },
		{ "\xff\xc3x\xed\xa0\x80", "??x???" }, /* no lead, no tail, half of a pair */
		{ "\xe2\x80\xae", "?" },               /* turns the direction */
		{ "\xef\xbf\xbf", "?" },               /* U+FFFF, which XML refuses */
		{ "\xc0\xaf", "??" },                  /* too long for what it says */
		{ "cut \xf0\x9f\x98", "cut ???" },
	};
	struct texts texts = { .clean = true };

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		assert_string_equal(texts__keep(&texts, pairs[i][0]), pairs[i][1]);
	assert_ptr_equal(texts__repeat(&texts, "twice"), texts__repeat(&texts, "twice"));
	texts__release(&texts);
}

static void a_long_text_ends_in_an_ellipsis(void **state)
{
	struct texts texts = { .clean = true };
	char *text = malloc(3 * TEXTS_MOST + 1);
	const char *kept;

	for (size_t i = 0; i < TEXTS_MOST; i++)
		memcpy(text + 3 * i, "€", 3);
	text[3 * TEXTS_MOST] = '\0';
	kept = texts__keep(&texts, text);
	assert_true(strlen(kept) <= TEXTS_MOST);
	assert_true(strlen(kept) > TEXTS_MOST - 6);
	assert_string_equal(kept + strlen(kept) - strlen("€…"), "€…");
	memset(text, 'x', TEXTS_MOST - 1);
	text[TEXTS_MOST - 1] = '\0';
	assert_string_equal(texts__keep(&texts, text), text);
	texts__release(&texts);
	free(text);
}

static void names_are_numbered_once(void **state)
{
	struct intern names = {};
	char texts[1000][8];
	uint32_t number = 0;

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 1000; i++) {
			snprintf(texts[i], sizeof(texts[i]), "n%u", i);
			assert_int_equal(intern__find(&names, texts[i], &number), 0);
			assert_int_equal(number, i);
		}
	}
	assert_int_equal(names.count, 1000);
	intern__release(&names);
}

/* A recording of one thread that runs; the test adds what is wrong with it. */
static struct recording *begin(char **ret_path)
{
	struct recording *recording;

	*ret_path = sample__path();
	recording = sample__begin(*ret_path);
	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	assert_int_equal(
		recording__add_module(
			recording, &(struct recording_module) { 1, "file", "/usr/bin/app", NULL }),
		0);
	assert_int_equal(recording__add_frame(recording, 1, 1, 0x1000), 0);
	return recording;
}

static void add_sample_at(struct recording *recording, int64_t time_ns, int64_t stack,
			  int64_t weight_ns)
{
	const struct recording_sample sample = {
		.time_ns = SAMPLE_START_NS + time_ns,
		.thread = 1,
		.state = SAMPLE_RUN_USER,
		.stack = stack,
		.weight_ns = weight_ns,
		.count = 1,
		.flags = RECORDING_SAMPLE_TICK,
	};

	assert_int_equal(recording__add_sample(recording, &sample), 0);
}

static void add_sample(struct recording *recording, int64_t stack, int64_t weight_ns)
{
	add_sample_at(recording, SECOND, stack, weight_ns);
}

/* Finishes the recording, loads it, and removes it. */
static int load(struct recording *recording, char *path, const struct profile_options *options,
		struct profile **ret)
{
	int err;

	sample__finish(recording);
	err = profile__load(path, options ? options : &(struct profile_options) {}, ret);
	sample__remove(path);
	return err;
}

static void refuses(struct recording *recording, char *path, int expected)
{
	struct profile *profile = NULL;

	assert_int_equal(load(recording, path, NULL, &profile), expected);
	assert_null(profile);
}

static void a_recording_without_samples_has_no_data(void **state)
{
	char *path;
	struct recording *recording = begin(&path);

	refuses(recording, path, -ENODATA);
}

static void a_recording_of_an_older_gapless_has_no_data_either(void **state)
{
	char *path;
	struct recording *recording = begin(&path);
	struct profile *profile = NULL;
	sqlite3 *db = NULL;

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	sample__finish(recording);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "DROP VIEW samples; DROP VIEW frames; DROP TABLE sample;"
			     "DROP TABLE stack; DROP TABLE frame_line; DROP TABLE function;"
			     "DROP TABLE frame; DROP TABLE module",
			     NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(profile__load(path, &(struct profile_options) {}, &profile), -ENODATA);
	assert_int_equal(
		profile__load(path, &(struct profile_options) { .accounts = true }, &profile), 0);
	assert_int_equal(profile->account_count, 1);
	profile__free(profile);
	sample__remove(path);
}

static void accounts_are_data_if_they_are_asked_for(void **state)
{
	char *path;
	struct recording *recording = begin(&path);
	struct profile *profile = NULL;

	sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
	assert_int_equal(load(recording, path,
			      &(struct profile_options) { .accounts = true,
							  .scope.from.ns = 5 * SECOND,
							  .scope.to.ns = 20 * SECOND },
			      &profile),
			 0);
	assert_int_equal(profile->account_count, 1);
	assert_int_equal(profile->accounts[0].begin_ns, SAMPLE_START_NS + 5 * SECOND);
	assert_int_equal(profile->accounts[0].end_ns, SAMPLE_START_NS + 20 * SECOND);
	assert_int_equal(profile->accounts[0].ns, 15 * SECOND);
	profile__free(profile);
}

/* The profile in every format. */
static void write_all(const struct profile *profile)
{
	for (size_t i = 0; exporters[i]; i++) {
		char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(exporters[i]->write(profile, out), 0);
		fclose(out);
		free(text);
	}
}

static void stacks_that_lead_nowhere_are_counted(void **state)
{
	static const int64_t wrong[][3] = {
		{ 1, 2, 1 }, /* a parent that comes later */
		{ 1, 1, 1 }, /* its own parent */
		{ 1, 9, 1 }, /* no such parent */
		{ 1, 0, 7 }, /* no such frame */
		{ 1, 9, 7 }, /* neither */
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct profile *profile = NULL;
		char *path;
		struct recording *recording = begin(&path);

		recording__add_stack(recording, wrong[i][0], wrong[i][1], wrong[i][2]);
		recording__add_stack(recording, 2, 1, 1);
		add_sample(recording, 2, 1);
		assert_int_equal(load(recording, path, NULL, &profile), 0);
		assert_int_equal(profile->code.torn, 1);
		assert_int_equal(profile->code.stacks[0].parent, PROFILE_NONE);
		assert_int_equal(profile->code.stacks[1].depth, 1);
		write_all(profile);
		profile__free(profile);
	}
}

static void code_without_its_module_or_function_has_a_substitute(void **state)
{
	const struct recording_function function = { 1, 8, "f", NULL, NULL, 0, NULL };
	const struct recording_line lines[] = { { .frame = 2, .function = 1 },
						{ .frame = 3, .function = 9 },
						{ .frame = 7, .function = 1 } };
	static const char *const names[] = { "app+0x1000", "f", "?+0x30", NULL };
	struct profile *profile = NULL;
	char *path;
	struct recording *recording = begin(&path);
	int err = recording__add_function(recording, &function);

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		err |= recording__add_line(recording, &lines[i]);
	err |= recording__add_frame(recording, 2, 1, 0x20);
	err |= recording__add_frame(recording, 3, 8, 0x30);
	for (int64_t i = 1; i <= 3; i++)
		err |= recording__add_stack(recording, i, i - 1, i);
	assert_int_equal(err, 0);
	add_sample(recording, 3, 1);
	assert_int_equal(load(recording, path, NULL, &profile), 0);
	assert_int_equal(profile->code.torn, 0);
	for (size_t i = 0; names[i]; i++) {
		uint32_t line = profile->code.frames[i].first_line;

		assert_string_equal(
			profile->code.functions[profile->code.lines[line].function].name, names[i]);
	}
	write_all(profile);
	profile__free(profile);
}

static void a_sample_of_no_stack_is_counted(void **state)
{
	struct profile *profile = NULL;
	char *path;
	struct recording *recording = begin(&path);

	add_sample(recording, 1, 1);
	assert_int_equal(load(recording, path, NULL, &profile), 0);
	assert_int_equal(profile->code.torn, 1);
	assert_int_equal(profile->samples[0].stack, PROFILE_NONE);
	profile__free(profile);
}

static void a_sample_at_an_edge_belongs_to_the_time_before_it(void **state)
{
	const struct profile_options options = { .scope.from.ns = 2 * SECOND,
						 .scope.to.ns = 3 * SECOND };
	struct profile *profile = NULL;
	char *path;
	struct recording *recording = begin(&path);

	for (int64_t i = 1; i <= 4; i++)
		add_sample_at(recording, i * SECOND, 0, i);
	assert_int_equal(load(recording, path, &options, &profile), 0);
	assert_int_equal(profile->sample_count, 1);
	assert_int_equal(profile->samples[0].weight_ns, 3);
	profile__free(profile);
}

/* A wait from 1 to 9 s that stands for 16 s: a cut of 2 s has a quarter of it, wherever it lies. */
static void a_cut_inside_a_long_wait_has_its_part(void **state)
{
	static const struct {
		int64_t from, to, end, wait, weight;
	} cuts[] = {
		{ 3, 5, 5, 2, 4 }, { 8, 10, 9, 1, 2 }, { 0, 2, 2, 1, 2 }, { 0, 10, 9, 8, 16 }
	};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		const struct profile_options options = { .scope.from.ns = cuts[i].from * SECOND,
							 .scope.to.ns = cuts[i].to * SECOND };
		struct profile *profile = NULL;
		char *path;
		struct recording *recording = begin(&path);

		assert_int_equal(
			recording__add_sample(recording,
					      &(struct recording_sample) {
						      .time_ns = SAMPLE_START_NS + 9 * SECOND,
						      .thread = 1,
						      .state = SAMPLE_POLL,
						      .weight_ns = 16 * SECOND,
						      .wait_ns = 8 * SECOND,
						      .count = 1 }),
			0);
		assert_int_equal(load(recording, path, &options, &profile), 0);
		assert_int_equal(profile->sample_count, 1);
		assert_int_equal(profile->samples[0].time_ns - SAMPLE_START_NS,
				 cuts[i].end * SECOND);
		assert_int_equal(profile->samples[0].wait_ns, cuts[i].wait * SECOND);
		assert_int_equal(profile->samples[0].weight_ns, cuts[i].weight * SECOND);
		profile__free(profile);
	}
}

/* Signal 1 with one measure in bytes. */
static void add_signal(struct recording *recording)
{
	const struct recording_signal signal = { 1, "block", "about it", "requests" };

	assert_int_equal(recording__add_signal(recording, &signal), 0);
	assert_int_equal(recording__add_measure(recording, 1, 0, "size", "bytes"), 0);
}

/* From second 9 to 12, in cuts that end before it does, hold it, and begin after it did. */
static void a_cut_has_the_part_of_an_event_that_is_inside(void **state)
{
	static const struct {
		int64_t from, to, begin, end;
	} cuts[] = { { 0, 10, 9, 10 }, { 5, 20, 9, 12 }, { 11, 20, 11, 12 }, { 10, 11, 10, 11 } };

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		const struct profile_options options = { .accounts = true,
							 .scope.from.ns = cuts[i].from * SECOND,
							 .scope.to.ns = cuts[i].to * SECOND };
		const struct recording_event event = { .signal = 1,
						       .time_ns = SAMPLE_START_NS + 12 * SECOND,
						       .duration_ns = 3 * SECOND,
						       .thread = 1,
						       .place = "vda",
						       .operation = "read",
						       .fields = "{}" };
		struct profile *profile = NULL;
		char *path;
		struct recording *recording = begin(&path);

		sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
		add_signal(recording);
		assert_int_equal(recording__add_event(recording, &event), 0);
		assert_int_equal(load(recording, path, &options, &profile), 0);
		assert_int_equal(profile->event_count, 1);
		assert_int_equal(profile->events[0].time_ns - SAMPLE_START_NS,
				 cuts[i].end * SECOND);
		assert_int_equal(profile->events[0].duration_ns,
				 (cuts[i].end - cuts[i].begin) * SECOND);
		write_all(profile);
		profile__free(profile);
	}
}

/* What a series of its own counted. */
static void add_bytes(struct recording *recording, int64_t id, int64_t from, int64_t to,
		      int64_t bytes)
{
	const struct recording_series series = {
		.id = id, .signal = 1, .thread = 1, .object = id, .place = "", .operation = "read"
	};
	const struct recording_sum sum = {
		.series = id, .from = from, .to = to, .count = 1, .sum = { bytes }
	};

	assert_int_equal(recording__add_series(recording, &series), 0);
	assert_int_equal(recording__add_sum(recording, &sum), 0);
}

/*
 * Of the last second before an edge of slices of 10 s and the first one behind it, a tenth of each
 * slice; and a twentieth of what was counted over two. Without a cut nothing is lost.
 */
static void a_cut_has_the_part_of_what_was_counted_that_is_inside(void **state)
{
	static const struct {
		int64_t from, to;
		size_t count;
		int64_t points[3][3]; /* begin, end, sum */
	} cuts[] = {
		{ 19, 21, 2, { { 19, 20, 100 + 200 }, { 20, 21, 200 } } },
		{ 5, 15, 1, { { 5, 15, 500 + 2000 } } },
		{ 0, 0, 2, { { 0, 20, 1000 + 4000 }, { 20, 30, 2000 } } },
	};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
		const struct profile_options options = { .accounts = true,
							 .scope.from.ns = cuts[i].from * SECOND,
							 .scope.to.ns = cuts[i].to * SECOND };
		struct profile *profile = NULL;
		char *path;
		struct recording *recording = begin(&path);

		sample__account(recording, 1, SAMPLE_RUN_USER, 1, 3, 30 * SECOND, 1);
		add_signal(recording);
		add_bytes(recording, 1, 2, 2, 1000);
		add_bytes(recording, 2, 1, 2, 4000);
		add_bytes(recording, 3, 3, 3, 2000);
		assert_int_equal(load(recording, path, &options, &profile), 0);
		assert_int_equal(profile->counter_count, 1);
		assert_int_equal(profile->point_total, cuts[i].count);
		for (size_t j = 0; j < cuts[i].count; j++) {
			const struct profile_point *point = &profile->points[j];

			assert_int_equal(point->begin_ns - SAMPLE_START_NS,
					 cuts[i].points[j][0] * SECOND);
			assert_int_equal(point->end_ns - SAMPLE_START_NS,
					 cuts[i].points[j][1] * SECOND);
			assert_int_equal(point->sum, cuts[i].points[j][2]);
		}
		profile__free(profile);
	}
}

/* A kernel lock's holder is one too, whatever the state is called. */
static void the_evidence_says_who_held_a_lock(void **state)
{
	struct profile *profile = NULL;
	char *path;
	struct recording *recording = begin(&path);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(recording__add_wait(recording,
						     &(struct recording_wait) {
							     .thread = 1,
							     .state = SAMPLE_LOCK_OPEN,
							     .object = i,
							     .by = 2,
							     .evidence = i ? "owner" : "waker",
							     .ns = SECOND,
							     .count = 1 }),
				 0);
		assert_int_equal(
			recording__add_sample(recording,
					      &(struct recording_sample) {
						      .time_ns = SAMPLE_START_NS + (i + 2) * SECOND,
						      .thread = 1,
						      .state = SAMPLE_LOCK_OPEN,
						      .object = i,
						      .by = 2,
						      .evidence = i ? "owner" : "waker",
						      .weight_ns = SECOND,
						      .wait_ns = SECOND,
						      .count = 1 }),
			0);
	}
	assert_int_equal(load(recording, path, NULL, &profile), 0);
	assert_int_equal(profile->samples[0].evidence, PROFILE_WAKER);
	assert_int_equal(profile->samples[1].evidence, PROFILE_OWNER);
	profile__free(profile);
}

static void nobody_ended_a_wait_that_timed_out(void **state)
{
	struct profile *profile = NULL;
	char *path;
	struct recording *recording = begin(&path);

	assert_int_equal(recording__add_sample(recording,
					       &(struct recording_sample) {
						       .time_ns = SAMPLE_START_NS + 2 * SECOND,
						       .thread = 1,
						       .state = SAMPLE_LOCK_OPEN,
						       .by = 2,
						       .evidence = "timeout",
						       .weight_ns = SECOND,
						       .wait_ns = SECOND,
						       .count = 1 }),
			 0);
	assert_int_equal(load(recording, path, NULL, &profile), 0);
	assert_int_equal(profile->samples[0].evidence, PROFILE_TIMEOUT);
	assert_int_equal(profile->samples[0].by, PROFILE_NONE);
	profile__free(profile);
}

static void weights_must_be_sane(void **state)
{
	char *path;
	struct recording *recording = begin(&path);

	add_sample(recording, 0, -1);
	refuses(recording, path, -EBADMSG);
	recording = begin(&path);
	add_sample(recording, 0, INT64_MAX);
	add_sample(recording, 0, 1);
	refuses(recording, path, -EBADMSG);
}

static void a_stack_may_be_deep_but_not_without_end(void **state)
{
	for (int64_t depth = CODE_MOST_DEPTH; depth <= CODE_MOST_DEPTH + 1; depth++) {
		char *path, *text = NULL;
		struct recording *recording = begin(&path);
		struct profile *profile = NULL;
		size_t size = 0;

		for (int64_t i = 1; i <= depth; i++)
			recording__add_stack(recording, i, i - 1, 1);
		add_sample(recording, depth, 1);
		assert_int_equal(load(recording, path, NULL, &profile),
				 depth > CODE_MOST_DEPTH ? -EBADMSG : 0);
		for (size_t i = 0; profile && exporters[i]; i++) {
			FILE *out = open_memstream(&text, &size);

			assert_int_equal(exporters[i]->write(profile, out), 0);
			fclose(out);
			free(text);
		}
		profile__free(profile);
	}
}

static void extremes_and_unknown_threads_have_a_substitute(void **state)
{
	const struct recording_sample sample = {
		.time_ns = INT64_MIN,
		.thread = -7,
		.by = INT64_MAX,
		.state = SAMPLE_LOCK,
		.object = 99,
		.count = INT64_MAX,
		.period_ns = INT64_MIN,
		.weight_ns = INT64_MAX,
		.wait_ns = INT64_MAX,
		.none = "",
		.end = "\n",
	};
	char *path, *text = NULL;
	struct recording *recording = begin(&path);
	struct profile *profile = NULL;
	size_t size = 0;

	assert_int_equal(recording__add_sample(recording, &sample), 0);
	assert_int_equal(recording__set_number(recording, "start_unix_ns", INT64_MIN), 0);
	assert_int_equal(load(recording, path, NULL, &profile), 0);
	assert_int_equal(profile->sample_count, 1);
	assert_int_equal(profile->samples[0].time_ns, SAMPLE_START_NS);
	assert_string_equal(profile->threads[profile->samples[0].thread].comm, "?");
	assert_int_equal(profile->samples[0].stack, PROFILE_NONE);
	assert_null(profile->samples[0].object);
	for (size_t i = 0; exporters[i]; i++) {
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(exporters[i]->write(profile, out), 0);
		fclose(out);
		free(text);
	}
	profile__free(profile);
}

static void weights_agree_with_accounts(void **state)
{
	const struct profile_options options = { .accounts = true };
	struct profile *profile = NULL;
	char *path = sample__path();
	int64_t sums[16][16] = {};

	sample__write_with_stacks(path);
	assert_int_equal(profile__load(path, &options, &profile), 0);
	sample__remove(path);
	for (size_t i = 0; i < profile->account_count; i++)
		sums[profile->accounts[i].thread][profile->accounts[i].state] +=
			profile->accounts[i].ns;
	for (size_t i = 0; i < profile->sample_count; i++)
		sums[profile->samples[i].thread][profile->samples[i].state] -=
			profile->samples[i].weight_ns;
	for (size_t i = 0; i < 16; i++)
		for (size_t j = 0; j < profile->state_count; j++)
			if (strcmp(profile->states[j].state, "unseen"))
				assert_int_equal(sums[i][j], 0);
	assert_int_equal(profile->period_ns, 10101010);
	profile__free(profile);
}

static void idle_waits_and_gapless_itself_can_be_left_out(void **state)
{
	struct profile *profile = NULL;
	char *path = sample__path();

	sample__write_with_stacks(path);
	assert_int_equal(
		profile__load(path, &(struct profile_options) { .no_idle = true }, &profile), 0);
	assert_int_equal(profile->left_out_ns, 19800 * MS);
	assert_int_equal(profile->sample_count, 77);
	profile__free(profile);
	profile = NULL;
	assert_int_equal(
		profile__load(path, &(struct profile_options) { .with_own = true }, &profile), 0);
	assert_int_equal(profile->left_out_ns, 0);
	assert_int_equal(profile->sample_count, 82);
	profile__free(profile);
	assert_int_equal(profile__load(path,
				       &(struct profile_options) { .scope.from.ns = 30 * SECOND },
				       &profile),
			 -ERANGE);
	sample__remove(path);
}

static void the_tree_counts_every_nanosecond_once(void **state)
{
	struct profile *profile = NULL;
	struct tree *tree = NULL;
	char *path = sample__path();
	int64_t sum_ns = 0, run_ns = 0;
	size_t visited = 0;

	sample__write_with_stacks(path);
	assert_int_equal(profile__load(path, &(struct profile_options) {}, &profile), 0);
	sample__remove(path);
	for (size_t i = 0; i < profile->sample_count; i++) {
		sum_ns += profile->samples[i].weight_ns;
		if (profile->states[profile->samples[i].state].is_run)
			run_ns += profile->samples[i].weight_ns;
	}
	assert_int_equal(tree__build(profile, true, &tree), 0);
	assert_int_equal(tree->nodes[0].total_ns, sum_ns);
	assert_int_equal(tree->nodes[0].run_ns, run_ns);
	for (uint32_t node = 0; node != PROFILE_NONE; node = tree__next(tree, node))
		visited++;
	assert_int_equal(visited, tree->count);
	tree__free(tree);
	profile__free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_a_varint_and_zero_is_left_out),
		cmocka_unit_test(texts_and_fixed_numbers_have_their_wire_types),
		cmocka_unit_test(numbers_are_packed_and_messages_nested),
		cmocka_unit_test(a_buffer_grows_as_needed),
		cmocka_unit_test(kept_texts_are_clean),
		cmocka_unit_test(a_long_text_ends_in_an_ellipsis),
		cmocka_unit_test(names_are_numbered_once),
		cmocka_unit_test(a_recording_without_samples_has_no_data),
		cmocka_unit_test(a_recording_of_an_older_gapless_has_no_data_either),
		cmocka_unit_test(accounts_are_data_if_they_are_asked_for),
		cmocka_unit_test(stacks_that_lead_nowhere_are_counted),
		cmocka_unit_test(code_without_its_module_or_function_has_a_substitute),
		cmocka_unit_test(a_sample_of_no_stack_is_counted),
		cmocka_unit_test(a_sample_at_an_edge_belongs_to_the_time_before_it),
		cmocka_unit_test(a_cut_inside_a_long_wait_has_its_part),
		cmocka_unit_test(a_cut_has_the_part_of_an_event_that_is_inside),
		cmocka_unit_test(a_cut_has_the_part_of_what_was_counted_that_is_inside),
		cmocka_unit_test(the_evidence_says_who_held_a_lock),
		cmocka_unit_test(nobody_ended_a_wait_that_timed_out),
		cmocka_unit_test(weights_must_be_sane),
		cmocka_unit_test(a_stack_may_be_deep_but_not_without_end),
		cmocka_unit_test(extremes_and_unknown_threads_have_a_substitute),
		cmocka_unit_test(weights_agree_with_accounts),
		cmocka_unit_test(idle_waits_and_gapless_itself_can_be_left_out),
		cmocka_unit_test(the_tree_counts_every_nanosecond_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
