/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/self.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>

#include "agent/switching.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/log.h"

/* How long a price is measured. */
#define PRICE_NS UINT64_C(45000000)
/* More than the hooks of a switch cost with cold caches: the measurement was disturbed. */
#define MOST_PRICE_NS 1500

/* --- prices ----------------------------------------------------------------------------------- */

/* The two threads make this many calls for each switch. */
#define CALLS_OF_SWITCH 2

void self__price_before(struct self *self)
{
	if (hook_timer__is_permitted())
		return;
	self->prices.cpu = sched_getcpu();
	self->prices.plain_switch_ns = switching__ns(self->prices.cpu, PRICE_NS);
	self->prices.plain_call_ns = timing__call_ns();
}

static double above(double more, double less)
{
	return more > less ? more - less : 0;
}

void self__price_after(struct self *self, bool with_calls)
{
	struct self_prices *prices = &self->prices;

	if (prices->plain_switch_ns <= 0)
		return;
	if (with_calls)
		prices->call_ns = above(timing__call_ns(), prices->plain_call_ns);
	prices->switch_ns = above(switching__ns(prices->cpu, PRICE_NS),
				  prices->plain_switch_ns + CALLS_OF_SWITCH * prices->call_ns);
	if (prices->switch_ns > MOST_PRICE_NS)
		prices->switch_ns = MOST_PRICE_NS;
}

static void say_prices(const struct self_prices *prices)
{
	char calls[64] = "";

	if (prices->call_ns > 0)
		snprintf(calls, sizeof(calls), " and %.0f ns per call", prices->call_ns);
	if (prices->switch_ns > 0)
		log_info("hooks cost %.0f ns per context switch%s, measured between two threads; "
			 "other hooks, and stacks, are not priced [the kernel's timing of BPF "
			 "programs needs CAP_SYS_ADMIN]",
			 prices->switch_ns, calls);
	else
		log_warning("what hooks cost could not be measured; continuing without it, for "
			    "metrics and for the budget");
}

/* --- use -------------------------------------------------------------------------------------- */

/* The kernel's own figure for the memory of a map. */
static uint64_t map_bytes(int fd)
{
	char path[64], line[128];
	cleanup(fclose_p) FILE *file = NULL;
	uint64_t bytes;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "memlock: %" SCNu64, &bytes) == 1)
			return bytes;
	return 0;
}

/*
 * What a thread has in this map, if every thread has something there: its account, and at level
 * full the sums of its calls. It is not in the kernel's figure for the map. The kernel adds up to
 * 80 bytes, and rounds the sum up to a power of two.
 */
static uint64_t storage_bytes(const struct bpf_map *map, bool with_calls)
{
	const char *name = bpf_map__name(map);
	uint64_t bytes = 64;

	if (strcmp(name, "threads") != 0 && !(with_calls && !strcmp(name, "call_sums")))
		return 0;
	while (bytes < bpf_map__value_size(map) + 80)
		bytes *= 2;
	return bytes;
}

int self__open(struct self *self, const struct bpf_object *object, bool with_calls)
{
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		/* Before Linux 6.4, the figure of a map that grows is that of a full one. */
		if (!(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
			self->bpf_bytes += map_bytes(bpf_map__fd(map));
		self->storage_bytes += storage_bytes(map, with_calls);
	}
	if (hook_timer__is_permitted())
		return hook_timer__new(object, &self->timer);
	say_prices(&self->prices);
	return 0;
}

void self__close(struct self *self)
{
	hook_timer__free(self->timer);
	self->timer = NULL;
}

int self__tend(struct self *self, uint64_t interval_ns)
{
	return self->timer ? hook_timer__tend(self->timer, interval_ns) : -1;
}

void self__pause(struct self *self)
{
	if (self->timer)
		hook_timer__pause(self->timer);
}

void self__start(struct self *self, uint64_t now_ns)
{
	self->work = self->priced = (struct timing_work) {};
	self->priced_ns = now_ns;
	self->switches = hook_timer__switches();
	self->hook_ns = 0;
}

/* Runs that no count explains are scaled by time. */
static void count_as_others(uint64_t *runs, uint64_t *ns, struct loader_runs *to)
{
	to->others += *runs;
	to->other_ns += *ns;
	*runs = *ns = 0;
}

/* What hooks cost since the last time, as long as it is known what they cost. */
static void price(struct self *self, uint64_t now_ns)
{
	struct timing timing = { .call_programs = hook_timer__call_programs(self->timer) };
	uint64_t switches = hook_timer__switches();
	struct timing_work work = { .calls = self->work.calls - self->priced.calls };
	struct timing_look look;

	if (!hook_timer__read(self->timer, &look))
		return;
	if (switches > self->switches && self->switches)
		work.switches = switches - self->switches;
	if (!work.switches || !look.work.switches)
		count_as_others(&look.runs.switches, &look.runs.switch_ns, &look.runs);
	if (!work.calls || !look.work.calls)
		count_as_others(&look.runs.calls, &look.runs.call_ns, &look.runs);
	self->hook_ns += timing__cost(&timing, &look, now_ns - self->priced_ns, 0, &work).ns;
	self->priced = self->work;
	self->priced_ns = now_ns;
	self->switches = switches;
}

void self__add(struct self *self, const struct timing_work *more, uint64_t now_ns)
{
	self->work.calls += more->calls;
	self->work.switches += more->switches;
	self->work.run_ns += more->run_ns;
	if (self->timer)
		price(self, now_ns);
	else
		self->hook_ns += self->prices.switch_ns * (double)more->switches +
				 self->prices.call_ns * (double)more->calls;
}

bool self__is_settled(const struct self *self)
{
	struct timing_look look;

	return !self->timer || hook_timer__read(self->timer, &look);
}

static uint64_t anon_bytes(void)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/self/smaps_rollup", "re");
	char line[128];
	uint64_t kilobytes;

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "Anonymous: %" SCNu64, &kilobytes) == 1)
			return kilobytes * 1024;
	return 0;
}

struct self_cost self__cost(const struct self *self, size_t threads)
{
	return (struct self_cost) {
		.cpu_ns = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns(),
		.hook_ns = (uint64_t)self->hook_ns,
		.is_partly = !self->timer,
		.anon_bytes = anon_bytes(),
		.bpf_bytes = self->bpf_bytes + threads * self->storage_bytes,
	};
}
