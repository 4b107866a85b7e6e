/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/meta.h"

#include <errno.h>
#include <jansson.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/daytime.h"
#include "record/machine.h"

static int write_hooks(struct recording *recording, struct ledger *ledger,
		       const struct sessions *sessions, bool ticks)
{
	size_t count;
	const struct hook_use *uses = ledger__hooks(ledger, &count);
	cleanup(free_p) char *text = NULL;
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		char tag[LOADER_TAG_BYTES] = "";

		if (uses[i].program)
			loader__tag(ledger__object(ledger), uses[i].program, tag);
		json_array_append_new(list,
				      json_pack("{s:s, s:s?, s:s, s:s}", "event", uses[i].event,
						"kind", uses[i].program ? uses[i].kind : NULL,
						"tag", tag, "why_not", uses[i].why_not));
	}
	if (ticks) {
		char tag[LOADER_TAG_BYTES];

		loader__tag(ledger__object(ledger), "on_tick", tag);
		json_array_append_new(list,
				      json_pack("{s:s, s:s, s:s, s:s}", "event", "cpu-clock",
						"kind", "perf_event", "tag", tag, "why_not", ""));
	}
	sessions__add_hooks(sessions, list);
	text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text ? recording__set_text(recording, "hooks", text) : -ENOMEM;
}

int meta__write_calibration(struct recording *recording, const struct ledger *ledger)
{
	const struct ledger_calibration calibration = ledger__calibration(ledger);
	int err = 0;

	err |= recording__set_number(recording, "call_ns", (int64_t)calibration.plain_call_ns);
	err |= recording__set_number(recording, "hooked_call_ns",
				     (int64_t)calibration.hooked_call_ns);
	if (calibration.untimed_call_ns > 0)
		err |= recording__set_number(recording, "untimed_call_ns",
					     (int64_t)calibration.untimed_call_ns);
	err |= recording__set_number(recording, "crossing_ns", (int64_t)calibration.crossing_ns);
	return err ? -EIO : 0;
}

/* 1/HZ: the coarse clock advances once in each tick. 0: unknown. */
static int64_t kernel_tick_ns(void)
{
	struct timespec step = {};

	return clock_getres(CLOCK_MONOTONIC_COARSE, &step) ? 0 : step.tv_nsec;
}

int meta__write(struct recording *recording, struct ledger *ledger, const struct sessions *sessions,
		const struct run_options *options, uint64_t start_ns)
{
	struct utsname name;
	int err = 0;

	uname(&name);
	err |= recording__set_text(recording, "gapless_version", GAPLESS_VERSION);
	err |= recording__set_text(recording, "kernel", name.release);
	err |= recording__set_text(recording, "machine", name.machine);
	err |= recording__set_number(recording, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	err |= recording__set_number(recording, "kernel_tick_ns", kernel_tick_ns());
	err |= recording__set_text(recording, "level", options->full ? "full" : "sched");
	if (options->full)
		err |= recording__set_number(recording, "budget_ppm", options->budget_ppm);
	err |= recording__set_text(recording, "target", options->target.words);
	err |= recording__set_text(recording, "clock", "CLOCK_MONOTONIC");
	err |= recording__set_number(recording, "interval_ns", (int64_t)options->interval_ns);
	err |= recording__set_number(recording, "sample_period_ns", (int64_t)options->tick_ns);
	if (options->tick_ns)
		err |= recording__set_number(recording, "sample_seed",
					     (int64_t)ledger__seed(ledger));
	err |= recording__set_number(recording, "slow_ns", (int64_t)options->slow_ns);
	err |= recording__set_number(recording, "start_ns", (int64_t)start_ns);
	err |= recording__set_number(recording, "end_ns", (int64_t)start_ns);
	err |= recording__set_number(recording, "start_unix_ns",
				     (int64_t)(start_ns + clock__wall_offset_ns()));
	err |= recording__set_number(recording, "zone_s",
				     daytime__own_zone_s((int64_t)clock__read_ns(CLOCK_REALTIME)));
	err |= meta__write_calibration(recording, ledger);
	err |= write_hooks(recording, ledger, sessions, options->tick_ns);
	err |= machine__write(recording);
	err |= machine__write_maps(recording, ledger);
	return err ? -EIO : recording__commit(recording);
}
