/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which stacks and modules go to the store, and when they go there again. */
#include "../harness.h"

#include <stdlib.h>

#include "agent/outlet_profile.h"
#include "store.h"

static char folder[64];

/* Nobody listens there, so the spool keeps everything that it has room for. */
static struct sink *open_sink(uint64_t room)
{
	const struct sink_options options = {
		.spool = { .folder = folder, .most_bytes = room },
		.http = { .url = "http://127.0.0.1:9", .timeout_s = 2 },
		.sender = { .host_id = 1, .no_spread = true },
		.boot = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0",
	};
	struct sink *sink = NULL;

	assert_int_equal(sink__new(&options, &sink), 0);
	return sink;
}

static void push(struct outlet_profile *sent, struct sink *sink, uint64_t minute_s, uint64_t stack)
{
	const uint64_t frames[] = { stack };
	const struct fact_host host = { .host_id = 1, .tenant = "" };
	const struct fact_context context = { &host, minute_s, NULL, NULL };
	const struct fact_sample sample = { .slot = SLOT_RUN_ANY, .stack = stack, .ns = 1, .n = 1 };
	const struct fact_stack stacks = { stack, frames, frames, 1 };
	const struct fact_module module = {
		.module = stack, .build_id = "", .kind = "file", .path = "/app"
	};
	const struct fact_profile profile = { .samples = &sample,
					      .sample_count = 1,
					      .stacks = &stacks,
					      .stack_count = 1,
					      .modules = &module,
					      .module_count = 1 };

	assert_int_equal(outlet_profile__push(sent, sink, &context, &profile), 0);
}

static void stacks_are_sent_once_a_day(void **state)
{
	struct outlet_profile sent = {};
	struct sink *sink;

	store_make_folder(folder);
	sink = open_sink(0);
	push(&sent, sink, STORE_MINUTE, 1);
	push(&sent, sink, STORE_MINUTE + 60, 2);
	push(&sent, sink, STORE_MINUTE + 120, 2);
	assert_int_equal(sent.stacks.count, 2);
	assert_int_equal(sent.modules.count, 2);
	push(&sent, sink, STORE_MINUTE + 86400, 2);
	assert_int_equal(sent.stacks.count, 1);
	assert_int_equal(sent.modules.count, 1);
	outlet_profile__release(&sent);
	sink__free(sink);
	store_remove_folder(folder);
}

static void what_was_sent_is_forgotten_when_the_spool_drops_a_batch(void **state)
{
	struct outlet_profile sent = {};
	struct sink_status status = {};
	struct sink *sink;

	store_make_folder(folder);
	/* Room for one batch. */
	sink = open_sink(250);
	push(&sent, sink, STORE_MINUTE, 1);
	for (int i = 0; i < 500 && !status.spool.dropped; i++) {
		usleep(10000);
		sink__status(sink, &status);
	}
	assert_true(status.spool.dropped > 0);
	push(&sent, sink, STORE_MINUTE + 60, 2);
	/* Not the first one any more. */
	assert_int_equal(sent.stacks.count, 1);
	assert_int_equal(sent.modules.count, 1);
	outlet_profile__release(&sent);
	sink__free(sink);
	store_remove_folder(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_sent_once_a_day),
		cmocka_unit_test(what_was_sent_is_forgotten_when_the_spool_drops_a_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
