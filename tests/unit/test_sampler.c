/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up stacks and samples, and a supervisor that answers what their code is. */
#include "../harness.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/code_wire.h"
#include "agent/sampler.h"
#include "base/clock.h"
#include "bpf/stack.h"
#include "fold/sampling.h"

/* So long that the time until the supervisor answers does not matter. */
#define LONG_NS     UINT64_C(100000000000000)
#define KERNEL_BASE UINT64_C(0xffffffff81000000)

/* --- a supervisor ----------------------------------------------------------------------------- */

struct supervisor {
	int fd;
	uint32_t app, libc; /* numbers of two modules; others do not exist */
	bool is_on;
	unsigned used, left;
	uint64_t when_ns;         /* when sampling begins and ends; 0: now */
	pthread_mutex_t patience; /* whoever has it keeps the supervisor from answering */
	pthread_t thread;
};

static int answer(struct supervisor *supervisor, const struct code_question *question,
		  struct code_answer *ret)
{
	if (question->wish == CODE_SAMPLE) {
		supervisor->is_on = question->number;
		ret->size = supervisor->is_on;
		ret->base = supervisor->when_ns ? supervisor->when_ns : clock__now_ns();
	}
	if (question->wish == CODE_KERNEL && question->number - KERNEL_BASE < 0x1000000) {
		ret->base = KERNEL_BASE;
		ret->size = 0x1000000;
		snprintf(ret->build_id, sizeof(ret->build_id), "cc");
		snprintf(ret->path, sizeof(ret->path), "vmlinux");
		return 0;
	}
	if (question->wish != CODE_MODULE)
		return question->wish == CODE_KERNEL ? -ENOENT : 0;
	if (question->number != supervisor->app && question->number != supervisor->libc)
		return -ENOENT;
	snprintf(ret->build_id, sizeof(ret->build_id), "%s",
		 question->number == supervisor->app ? "" : "bb");
	snprintf(ret->path, sizeof(ret->path), "/%s",
		 question->number == supervisor->app ? "app" : "libc");
	ret->size = 1000;
	return 0;
}

static void *serve(void *context)
{
	struct supervisor *supervisor = context;
	struct code_question question;

	while (recv(supervisor->fd, &question, sizeof(question), 0) == sizeof(question)) {
		struct code_answer reply = { .sequence = question.sequence,
					     .wish = (uint8_t)question.wish };
		struct code_answer stale = { .sequence = question.sequence - 1 };

		supervisor->used += question.wish == CODE_USED;
		supervisor->left += question.wish == CODE_LEAVE;
		if (question.wish == CODE_USED || question.wish == CODE_LEAVE ||
		    question.wish == CODE_REST)
			continue;
		pthread_mutex_lock(&supervisor->patience);
		reply.err = answer(supervisor, &question, &reply);
		pthread_mutex_unlock(&supervisor->patience);
		(void)!send(supervisor->fd, &stale, sizeof(stale), MSG_NOSIGNAL);
		(void)!send(supervisor->fd, &reply, sizeof(reply), MSG_NOSIGNAL);
	}
	close(supervisor->fd);
	return NULL;
}

/* --- a sampler -------------------------------------------------------------------------------- */

static uint64_t workload_of(void *context, const struct folding_process *process)
{
	return process->cgroup_id;
}

static const char *service_of(void *context, uint64_t workload)
{
	return "";
}

static void name_group(const char *name, char *ret, size_t size)
{
	snprintf(ret, size, "%s", name);
}

struct bench {
	struct supervisor supervisor;
	struct folding *folding;
	struct sampler *sampler;
};

static struct bench *make_idle(uint32_t app, uint32_t libc)
{
	const struct folding_options options = { workload_of, service_of, name_group, NULL, NULL };
	struct bench *bench = calloc(1, sizeof(*bench));
	struct code_client *client;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	bench->supervisor = (struct supervisor) { .fd = pair[0], .app = app, .libc = libc };
	pthread_mutex_init(&bench->supervisor.patience, NULL);
	assert_int_equal(pthread_create(&bench->supervisor.thread, NULL, serve, &bench->supervisor),
			 0);
	assert_int_equal(folding__new(&options, &bench->folding), 0);
	assert_int_equal(sampler__new(&bench->sampler), 0);
	assert_int_equal(code_client__new(pair[1], &client), 0);
	sampler__connect(bench->sampler, bench->folding, client, -1);
	return bench;
}

/* The supervisor of this test may be late. */
static void choose(struct bench *bench, bool on, double probability)
{
	sampler__choose(bench->sampler, on, probability);
	for (int i = 0; bench->supervisor.is_on != on && i < 10000; i++)
		usleep(1000);
	assert_int_equal(bench->supervisor.is_on, on);
	sampler__step(bench->sampler);
}

static struct bench *make(uint32_t app, uint32_t libc)
{
	struct bench *bench = make_idle(app, libc);

	sampler__clear(bench->sampler, clock__now_ns());
	choose(bench, true, 1.0);
	return bench;
}

static void release(struct bench *bench)
{
	sampler__free(bench->sampler);
	pthread_join(bench->supervisor.thread, NULL);
	folding__free(bench->folding);
	free(bench);
}

static void send_stack_that_ends(struct bench *bench, uint64_t hash, const uint64_t *frames,
				 uint16_t count, enum stack_end end)
{
	size_t size = sizeof(struct stack_record) + count * sizeof(*frames);
	struct stack_record *record = calloc(1, size);

	record->head =
		(struct wire_head) { .size = (uint32_t)size, .kind = STACK_FRAMES, .version = 1 };
	record->hash = hash;
	record->count = count;
	record->end = (uint8_t)end;
	memcpy(record + 1, frames, count * sizeof(*frames));
	assert_int_equal(sampler__take(bench->sampler, &record->head), 0);
	free(record);
}

static void send_stack(struct bench *bench, uint64_t hash, const uint64_t *frames, uint16_t count)
{
	send_stack_that_ends(bench, hash, frames, count, STACK_END_ROOT);
}

static void send_sample(struct bench *bench, uint64_t thread, uint64_t user, uint64_t kernel)
{
	const struct sample_record record = {
		.head = { .size = sizeof(record), .kind = STACK_SAMPLE, .version = 1 },
		.thread = thread,
		.user = user,
		.kernel = kernel,
		.weight_ns = 100,
		.count = 1,
		.slot = SLOT_RUN_ANY,
	};

	assert_int_equal(sampler__take(bench->sampler, &record.head), 0);
}

static const struct fact_profile *profile_of(struct bench *bench)
{
	const struct fact_profile *profile;

	assert_int_equal(sampler__profile(bench->sampler, 60, clock__now_ns() + LONG_NS, &profile),
			 0);
	assert_non_null(profile);
	return profile;
}

/* A stack of three files, in the numbering of one host. */
static uint64_t hash_with(uint32_t app, uint32_t libc, uint64_t kernel_hash)
{
	struct bench *bench = make(app, libc);
	const uint64_t user[] = { FRAME_MAKE(libc, 0x30), FRAME_MAKE(app, 0x20), 0x7f0000001000,
				  0x7f0000002000, FRAME_MAKE(app, 0x10) };
	const uint64_t kernel[] = { KERNEL_BASE + 0x500, KERNEL_BASE + 0x401 };
	const struct fact_profile *profile;
	uint64_t stack;

	send_stack(bench, 1, user, 5);
	send_stack(bench, kernel_hash, kernel, 2);
	send_sample(bench, 11, 1, kernel_hash);
	sampler__note_end(bench->sampler, 11, 77);
	profile = profile_of(bench);
	assert_int_equal(profile->sample_count, 1);
	assert_int_equal(profile->samples[0].workload, 77);
	assert_int_equal(profile->samples[0].ns, 100);
	assert_int_equal(profile->samples[0].n, 1);
	assert_int_equal(profile->stack_count, 1);
	assert_int_equal(profile->module_count, 4);
	/* Root first; two frames of generated code are one. */
	assert_int_equal(profile->stacks[0].depth, 6);
	assert_int_equal(profile->stacks[0].offsets[0], 0x10);
	assert_int_equal(profile->stacks[0].offsets[1], 0);
	assert_int_equal(profile->stacks[0].modules[1], sampling__hash_file("[anon]", 0));
	assert_int_equal(profile->stacks[0].offsets[2], 0x20);
	assert_int_equal(profile->stacks[0].modules[2], sampling__hash_file("/app", 1000));
	assert_int_equal(profile->stacks[0].modules[3], sampling__hash_build_id("bb"));
	/* A return address is one byte further than its call. */
	assert_int_equal(profile->stacks[0].modules[4], sampling__hash_build_id("cc"));
	assert_int_equal(profile->stacks[0].offsets[4], 0x400);
	assert_int_equal(profile->stacks[0].offsets[5], 0x500);
	stack = profile->stacks[0].stack;
	assert_int_equal(profile->samples[0].stack, stack);
	assert_int_equal(sampler__quality(bench->sampler).anonymous, 2);
	release(bench);
	return stack;
}

static void a_stack_has_the_same_hash_whatever_the_numbers_of_its_modules(void **state)
{
	assert_int_equal(hash_with(1, 2, 5), hash_with(4000, 3, 9));
}

static void the_kinds_of_modules_are_told(void **state)
{
	struct bench *bench = make(1, 2);
	const uint64_t user[] = { FRAME_MAKE(2, 1), FRAME_MAKE(1, 1), FRAME_MAKE(99, 1) };
	const struct fact_profile *profile;

	send_stack(bench, 1, user, 3);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	profile = profile_of(bench);
	assert_int_equal(profile->module_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct fact_module *module = &profile->modules[i];

		assert_string_equal(module->kind, *module->build_id               ? "elf"
						  : !strcmp(module->path, "/app") ? "file"
										  : "jit");
	}
	release(bench);
}

static void samples_of_unknown_threads_wait_and_then_count_all_the_same(void **state)
{
	struct bench *bench = make(1, 2);
	const uint64_t user[] = { FRAME_MAKE(2, 1) };

	send_stack(bench, 1, user, 1);
	send_sample(bench, 11, 1, 0);
	send_sample(bench, 11, 1, 0);
	send_sample(bench, 12, 1, 0);
	sampler__step(bench->sampler);
	sampler__note_end(bench->sampler, 12, 5);
	assert_int_equal(profile_of(bench)->sample_count, 1);
	sampler__step(bench->sampler);
	assert_int_equal(profile_of(bench)->sample_count, 2);
	assert_int_equal(profile_of(bench)->samples[1].workload, UINT64_MAX);
	assert_int_equal(profile_of(bench)->samples[1].ns, 200);
	assert_int_equal(sampler__quality(bench->sampler).without_workload, 2);
	release(bench);
}

static void a_process_whose_mappings_are_not_known_is_one_frame_of_its_own(void **state)
{
	struct bench *bench = make(1, 2);
	const uint64_t user[] = { 0x7f0000001000, 0x7f0000002000 };
	const uint64_t known[] = { 0x7f0000001000, FRAME_MAKE(2, 1) };

	send_stack_that_ends(bench, 1, user, 2, STACK_END_NOT_READY);
	send_stack_that_ends(bench, 2, known, 2, STACK_END_NOT_READY);
	send_sample(bench, 11, 1, 0);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->stack_count, 1);
	assert_int_equal(profile_of(bench)->stacks[0].depth, 1);
	assert_int_equal(profile_of(bench)->stacks[0].modules[0],
			 sampling__hash_file("[not mapped yet]", 0));
	assert_int_equal(profile_of(bench)->stacks[0].offsets[0], 0);
	assert_int_equal(sampler__quality(bench->sampler).unmapped, 2);
	assert_int_equal(sampler__quality(bench->sampler).anonymous, 1);
	/* Generated code of a process that is known. */
	send_sample(bench, 11, 2, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->stack_count, 2);
	assert_int_equal(sampler__quality(bench->sampler).unmapped, 2);
	release(bench);
}

static void a_sample_without_its_stack_keeps_its_weight(void **state)
{
	struct bench *bench = make(1, 2);

	send_sample(bench, 11, 404, 405);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->sample_count, 1);
	assert_int_equal(profile_of(bench)->samples[0].stack, SAMPLING_OTHER);
	assert_int_equal(profile_of(bench)->samples[0].ns, 100);
	assert_int_equal(profile_of(bench)->stack_count, 0);
	assert_int_equal(sampler__quality(bench->sampler).lost, 2);
	release(bench);
}

static void a_deep_stack_keeps_its_innermost_frames(void **state)
{
	struct bench *bench = make(1, 2);
	uint64_t frames[600];

	for (size_t i = 0; i < 600; i++)
		frames[i] = FRAME_MAKE(2, i + 1);
	send_stack(bench, 1, frames, 600);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->stacks[0].depth, 512);
	assert_int_equal(profile_of(bench)->stacks[0].offsets[511], 1);
	assert_int_equal(profile_of(bench)->stacks[0].offsets[0], 512);
	assert_int_equal(sampler__quality(bench->sampler).cut, 1);
	release(bench);
}

static void records_that_make_no_sense_are_counted(void **state)
{
	struct bench *bench = make(1, 2);
	struct stack_record stack = {
		.head = { .size = sizeof(stack), .kind = STACK_FRAMES, .version = 1 }, .count = 7
	};
	struct sample_record sample = {
		.head = { .size = sizeof(sample), .kind = STACK_SAMPLE, .version = 1 },
		.slot = SLOT_COUNT,
	};

	assert_int_equal(sampler__take(bench->sampler, &stack.head), 0);
	assert_int_equal(sampler__take(bench->sampler, &sample.head), 0);
	sample.slot = SLOT_NONE;
	assert_int_equal(sampler__take(bench->sampler, &sample.head), 0);
	sample.head.size--;
	assert_int_equal(sampler__take(bench->sampler, &sample.head), 0);
	sample.head.kind = 99;
	assert_int_equal(sampler__take(bench->sampler, &sample.head), 0);
	assert_int_equal(sampler__quality(bench->sampler).malformed, 5);
	release(bench);
}

static void a_minute_without_samples_lets_go_of_the_code(void **state)
{
	struct bench *bench = make(1, 2);
	const uint64_t user[] = { FRAME_MAKE(2, 1) };
	const struct fact_profile *profile;

	choose(bench, true, 0.5);
	sampler__clear(bench->sampler, clock__now_ns());
	assert_true(bench->supervisor.is_on);
	send_stack(bench, 1, user, 1);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->samples[0].ns, 200);
	sampler__clear(bench->sampler, clock__now_ns());
	choose(bench, false, 1.0);
	assert_false(bench->supervisor.is_on);
	sampler__clear(bench->sampler, clock__now_ns());
	choose(bench, false, 1.0);
	assert_int_equal(sampler__profile(bench->sampler, 60, clock__now_ns(), &profile), 0);
	assert_null(profile);
	/* An answer comes after all earlier notes. */
	choose(bench, true, 1.0);
	assert_int_equal(bench->supervisor.left, 1);
	/* The stack is not known any more. */
	send_sample(bench, 11, 1, 0);
	assert_int_equal(sampler__quality(bench->sampler).lost, 1);
	release(bench);
}

static void a_stack_without_names_gets_them_when_it_comes_again(void **state)
{
	struct bench *bench = make(1, 2);
	const uint64_t user[] = { FRAME_MAKE(2, 1) };

	pthread_mutex_lock(&bench->supervisor.patience);
	send_stack(bench, 1, user, 1);
	send_sample(bench, 11, 1, 0);
	pthread_mutex_unlock(&bench->supervisor.patience);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->stacks[0].modules[0],
			 sampling__hash_file("[unanswered]", 0));
	assert_int_equal(sampler__quality(bench->sampler).unanswered, 1);
	sampler__clear(bench->sampler, clock__now_ns());
	for (uint64_t i = 2; sampler__quality(bench->sampler).unanswered == i - 1; i++) {
		usleep(1000);
		sampler__step(bench->sampler);
		send_stack(bench, 1, user, 1);
	}
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(profile_of(bench)->stack_count, 1);
	assert_int_equal(profile_of(bench)->stacks[0].modules[0], sampling__hash_build_id("bb"));
	assert_int_equal(profile_of(bench)->stacks[0].offsets[0], 1);
	release(bench);
}

/* Sampling is on for so many of 60 seconds. */
static const struct fact_profile *sampled_for(struct bench *bench, uint64_t seconds)
{
	const uint64_t begin_ns = clock__now_ns() + LONG_NS, second_ns = UINT64_C(1000000000);
	const uint64_t user[] = { FRAME_MAKE(2, 1) };
	const struct fact_profile *profile;

	bench->supervisor.when_ns = begin_ns;
	sampler__clear(bench->sampler, begin_ns);
	choose(bench, true, 1.0);
	send_stack(bench, 1, user, 1);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	bench->supervisor.when_ns = begin_ns + seconds * second_ns;
	choose(bench, false, 1.0);
	assert_int_equal(sampler__profile(bench->sampler, 60, begin_ns + 60 * second_ns, &profile),
			 0);
	return profile;
}

static void samples_of_a_part_of_a_minute_stand_for_all_of_it(void **state)
{
	struct bench *bench = make_idle(1, 2);
	const struct fact_profile *profile = sampled_for(bench, 15);

	assert_non_null(profile);
	assert_int_equal(profile->samples[0].ns, 400);
	assert_int_equal(profile->samples[0].n, 1);
	assert_true(profile->samples[0].ns2 > 159999 && profile->samples[0].ns2 < 160001);
	assert_int_equal(profile->duration_ns, UINT64_C(60000000000));
	profile = sampled_for(bench, 60);
	assert_int_equal(profile->samples[0].ns, 100);
	assert_int_equal(sampler__quality(bench->sampler).left_out, 0);
	release(bench);
}

static void samples_of_a_small_part_of_a_minute_are_left_out_and_counted(void **state)
{
	struct bench *bench = make_idle(1, 2);

	assert_null(sampled_for(bench, 5));
	assert_int_equal(sampler__quality(bench->sampler).left_out, 1);
	release(bench);
}

static void what_an_earlier_worker_left_in_the_ring_is_ignored(void **state)
{
	struct bench *bench = make_idle(1, 2);
	const uint64_t user[] = { FRAME_MAKE(2, 1) };
	const struct fact_profile *profile;

	send_stack(bench, 1, user, 1);
	send_sample(bench, 11, 1, 0);
	sampler__note_end(bench->sampler, 11, 5);
	assert_int_equal(sampler__profile(bench->sampler, 60, 1, &profile), 0);
	assert_null(profile);
	assert_int_equal(sampler__quality(bench->sampler).lost, 0);
	release(bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_the_same_hash_whatever_the_numbers_of_its_modules),
		cmocka_unit_test(the_kinds_of_modules_are_told),
		cmocka_unit_test(samples_of_unknown_threads_wait_and_then_count_all_the_same),
		cmocka_unit_test(a_process_whose_mappings_are_not_known_is_one_frame_of_its_own),
		cmocka_unit_test(a_sample_without_its_stack_keeps_its_weight),
		cmocka_unit_test(a_deep_stack_keeps_its_innermost_frames),
		cmocka_unit_test(records_that_make_no_sense_are_counted),
		cmocka_unit_test(a_minute_without_samples_lets_go_of_the_code),
		cmocka_unit_test(a_stack_without_names_gets_them_when_it_comes_again),
		cmocka_unit_test(samples_of_a_part_of_a_minute_stand_for_all_of_it),
		cmocka_unit_test(samples_of_a_small_part_of_a_minute_are_left_out_and_counted),
		cmocka_unit_test(what_an_earlier_worker_left_in_the_ring_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
