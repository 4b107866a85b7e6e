/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/self.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

static bool can_time(void)
{
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

void self__price_before(struct self *self)
{
	self->cpu = sched_getcpu();
	self->plain_switch_ns = can_time() ? 0 : switching__ns(self->cpu, PRICE_NS);
}

void self__price_after(struct self *self)
{
	double hooked_ns = self->plain_switch_ns > 0 ? switching__ns(self->cpu, PRICE_NS) : 0;

	self->switch_ns = hooked_ns > self->plain_switch_ns ? hooked_ns - self->plain_switch_ns : 0;
	if (self->switch_ns > MOST_PRICE_NS)
		self->switch_ns = MOST_PRICE_NS;
}

static void say_price(const struct self *self)
{
	if (self->switch_ns > 0)
		log_info("hooks cost %.0f ns per context switch, measured between two threads [the "
			 "kernel's timing of BPF programs needs CAP_SYS_ADMIN]",
			 self->switch_ns);
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

void self__start(struct self *self, const struct bpf_object *object, uint64_t now_ns)
{
	struct bpf_map *map;

	*self = (struct self) { .start_ns = now_ns,
				.plain_switch_ns = self->plain_switch_ns,
				.switch_ns = self->switch_ns };
	bpf_object__for_each_map (map, object) {
		/* Before Linux 6.4, the figure of a map that grows is that of a full one. */
		if (!(bpf_map__map_flags(map) & BPF_F_NO_PREALLOC))
			self->bpf_bytes += map_bytes(bpf_map__fd(map));
		/* What the kernel allocates later is not in its figure for the map. */
		if (bpf_map__type(map) == BPF_MAP_TYPE_TASK_STORAGE)
			self->storage_bytes += bpf_map__value_size(map);
	}
	timing__add(&self->timing, object);
	timing__set(&self->timing, true, &self->work);
	self->is_timing = self->is_timed = self->timing.fd > 0;
	if (!self->is_timed)
		say_price(self);
}

void self__add(struct self *self, uint64_t switches, uint64_t run_ns)
{
	self->work.switches += switches;
	self->work.run_ns += run_ns;
	if (!self->is_timing)
		return;
	timing__set(&self->timing, false, &self->work);
	self->is_timing = false;
}

void self__let_go(struct self *self)
{
	if (self->timing.fd > 0)
		close(self->timing.fd);
	self->timing.fd = 0;
	self->is_timing = false;
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

struct self_cost self__cost(struct self *self, size_t threads, uint64_t now_ns)
{
	struct timing_cost hooks = {};

	if (!self->is_timed)
		hooks.ns = self->switch_ns * (double)self->work.switches;
	else if (!self->is_timing)
		hooks = timing__cost(&self->timing, &self->timing.all, now_ns - self->start_ns,
				     self->work.run_ns, &self->work);
	return (struct self_cost) {
		.cpu_ns = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns(),
		.hook_ns = (uint64_t)hooks.ns,
		.anon_bytes = anon_bytes(),
		.bpf_bytes = self->bpf_bytes + threads * self->storage_bytes,
	};
}
