/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/cgroup_limits.h"

#define RING_BYTES (1U << 20)
#define MOST_WAITS 16384
/* Stacks: 19 samples a second and CPU; not a divisor of what other clocks have. */
#define TICK_NS           (UINT64_C(1000000000) / 19)
#define SAMPLE_RING_BYTES (1U << 20)
#define MOST_STACKS       8192
/* Last records that wait for the next step; 2.3 MB. */
#define MOST_ENDED 4096
/* At level full: how much of its running time a thread's calls may cost; almost none of it. */
#define CALL_BUDGET 0.01
#define CALL_COUNTS 1e-6

struct collector {
	struct collector_options options;
	struct target target;
	struct ledger *ledger;
	struct folding *folding;
	struct bucket *step;
	uint64_t looked_ns; /* just before the last snapshot */
	bool has_failed;    /* the last step, of which `step` has a part */
	uint64_t missing;   /* records so far that did not arrive, see count_missing() */
};

DEFINE_CLEANUP(struct collector *, collector__free)

/* The number of the memory controller's hierarchy if it is one of version 1, else 0. */
static uint32_t cgroup_hierarchy(void)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/cgroups", "re");
	char line[256], name[64], mount[PATH_MAX];
	uint32_t number;

	if (cgroup_limits__mount(LIMITS_MEMORY, false, mount))
		return 0;
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "%63s %u", name, &number) == 2 && !strcmp(name, "memory"))
			return number;
	return 0;
}

static int take(void *context, const struct wire_head *head)
{
	struct collector *collector = context;

	if (head->kind != LEDGER_CGROUP)
		return folding__take(collector->folding, head);
	if (head->size == sizeof(struct ledger_cgroup_record) && collector->options.note_cgroup)
		collector->options.note_cgroup(collector->options.context, (const void *)head);
	return 0;
}

/* What is left out of the account. Failed attachments were logged where they failed. */
static void say_missing_hooks(const struct ledger *ledger)
{
	size_t count;
	const struct hook_use *uses = ledger__hooks(ledger, &count);

	for (size_t i = 0; i < count; i++)
		if (!uses[i].program && *uses[i].why_not)
			log_warning("'%s' cannot be hooked (%s); continuing without it",
				    uses[i].event, uses[i].why_not);
}

static void add_stacks(struct ledger_options *options)
{
	options->tick_ns = TICK_NS;
	options->is_paused = true;
	options->table_bytes = COLLECTOR_TABLE_BYTES;
	options->stack_ring_bytes = SAMPLE_RING_BYTES;
	options->most_stacks = MOST_STACKS;
}

int collector__open(const struct collector_options *options, struct features *features,
		    struct collector **ret)
{
	cleanup(collector__free_p) struct collector *collector = calloc(1, sizeof(*collector));
	struct ledger_options ledger_options = {
		.by_class = true,
		.full = options->full,
		.budget = options->full ? CALL_BUDGET : 0,
		.parts = options->parts,
		.no_occupants = !options->with_occupants,
		.with_cgroups = true,
		.cgroup_hierarchy = cgroup_hierarchy(),
		.ring_bytes = RING_BYTES,
		.most_waits = options->most_waits ? options->most_waits : MOST_WAITS,
	};
	const struct ledger_takers takers = { .take = take,
					      .context = collector,
					      .take_stack = options->take_stack,
					      .stack_context = options->stack_context };
	int err;

	if (!collector)
		return -ENOMEM;
	collector->options = *options;
	target__add_all(&collector->target);
	ledger_options.target = &collector->target;
	if (options->take_stack)
		add_stacks(&ledger_options);
	err = folding__new(&options->fold, &collector->folding);
	if (!err)
		err = bucket__new(&options->limits, &collector->step);
	if (!err)
		err = ledger__open(&ledger_options, features, &takers, &collector->ledger);
	if (err)
		return err;
	say_missing_hooks(collector->ledger);
	*ret = TAKE(collector);
	return 0;
}

void collector__free(struct collector *collector)
{
	if (!collector)
		return;
	ledger__free(collector->ledger);
	folding__free(collector->folding);
	bucket__free(collector->step);
	free(collector);
}

int collector__start(struct collector *collector, uint64_t *ret_start_ns)
{
	if (collector->options.full)
		ledger__calibrate(collector->ledger);
	return ledger__start(collector->ledger, ret_start_ns);
}

int collector__poll(struct collector *collector, int timeout_ms)
{
	int err = ledger__poll(collector->ledger, timeout_ms);

	if (collector->options.take_stack)
		ledger__hold_rate(collector->ledger);
	return err < 0 && err != -EINTR ? err : 0;
}

bool collector__is_pressed(const struct collector *collector)
{
	return folding__ended(collector->folding) >= MOST_ENDED;
}

/* The first call gets the sums from before the last step, the second one those since. */
static int drain(struct collector *collector)
{
	int err = 0;

	folding__expect_sums(collector->folding, clock__now_ns());
	for (int i = 0; i < 2 && !err; i++) {
		if (collector->options.full)
			err = ledger__drain_calls(collector->ledger, false, folding__take_calls,
						  collector->folding);
		if (!err)
			err = ledger__drain_sums(collector->ledger, false, folding__take_wait,
						 folding__take_occupant, collector->folding);
	}
	return err;
}

/* If one of these was a thread's last record, the thread would seem to go on in its state. */
static uint64_t count_missing(const struct collector *collector)
{
	return ledger__lost(collector->ledger, LOST_RING_FULL) +
	       ledger__quality(collector->ledger, QUALITY_TORN) +
	       folding__quality(collector->folding).torn;
}

static int empty_ring(struct collector *collector)
{
	int err;

	do {
		err = ledger__poll(collector->ledger, 0);
	} while (err > 0);
	return err;
}

static int read_all(struct collector *collector, bool is_whole)
{
	uint64_t began_ns, missing;
	int err;

	err = empty_ring(collector);
	if (!err)
		err = drain(collector);
	if (err)
		return err;
	missing = count_missing(collector);
	is_whole |= missing != collector->missing;
	collector->missing = missing;
	began_ns = clock__now_ns();
	err = folding__begin(collector->folding, began_ns, is_whole, collector->step);
	if (!err)
		err = ledger__snapshot(collector->ledger, is_whole ? 0 : collector->looked_ns,
				       folding__take, collector->folding);
	collector->looked_ns = began_ns;
	/* Whoever ended before the snapshot is not in it, but does not go on. */
	if (!err)
		err = empty_ring(collector);
	return err ? err : folding__end(collector->folding);
}

int collector__step(struct collector *collector, bool is_whole, const struct bucket **ret_step)
{
	int err;

	if (!collector->has_failed)
		bucket__clear(collector->step);
	err = read_all(collector, is_whole || collector->has_failed);
	collector->has_failed = err;
	if (err)
		folding__give_up(collector->folding);
	else
		*ret_step = collector->step;
	return err;
}

void collector__time_calls(struct collector *collector, bool is_timed)
{
	if (collector->options.full)
		ledger__limit_calls(collector->ledger, is_timed ? CALL_BUDGET : CALL_COUNTS);
}

uint64_t collector__folded(const struct collector *collector)
{
	return bucket__folded(collector->step);
}

struct folding *collector__folding(const struct collector *collector)
{
	return collector->folding;
}

struct ledger *collector__ledger(const struct collector *collector)
{
	return collector->ledger;
}
