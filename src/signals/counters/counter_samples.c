/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/counters/counter_samples.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "core/hooks.h"
#include "core/sys.h"
#include "signals/counters/counters.h"

#define NAME_BYTES 96

/* The period unless one is given: about 100 stacks a second at the most of a CPU. */
static const struct {
	const char *name;
	__u32 type;
	__u64 config, period;
} known[] = {
	{ "page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 1 },
	{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN, 1 },
	{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1 },
	{ "context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1 },
	{ "cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1 },
	{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 20000000 },
	{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 20000000 },
	{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 50000 },
	{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 200000 },
};
#define KNOWN (sizeof(known) / sizeof(*known))

struct sampled {
	char name[NAME_BYTES];           /* with the period */
	char group[NAME_BYTES], *member; /* of a tracepoint; member NULL: `which` of `known` */
	size_t which;
	uint64_t period;
	struct bpf_link **links; /* one for each CPU; of a tracepoint, one */
	int count;
};

static struct sampled asked[COUNTERS_SAMPLED];
static size_t asked_count;

/* --- what users write ------------------------------------------------------------------------- */

/* The event without its period, which is set if there is one. */
static int split(const char *text, struct sampled *ret)
{
	const char *slash = strrchr(text, '/');
	size_t length = slash ? (size_t)(slash - text) : strlen(text);

	if (!length || length >= sizeof(ret->group))
		return -EINVAL;
	memcpy(ret->group, text, length);
	return slash ? parse__number(slash + 1, 1, INT64_MAX, &ret->period) : 0;
}

static int find_known(struct sampled *ret)
{
	ret->member = strchr(ret->group, ':');
	if (ret->member) {
		*ret->member++ = '\0';
		return *ret->group && *ret->member && !strpbrk(ret->member, ":/.") ? 0 : -EINVAL;
	}
	while (ret->which < KNOWN && strcmp(known[ret->which].name, ret->group))
		ret->which++;
	return ret->which < KNOWN ? 0 : -ENOENT;
}

static void say_known(const char *text, char *why, size_t size)
{
	snprintf(why, size, "'%s' is not EVENT or EVENT/PERIOD; events are GROUP:NAME", text);
	for (size_t i = 0; i < KNOWN; i++)
		words__say(why, size, ", %s", known[i].name);
}

int counter_samples__ask(const char *text, char *why, size_t size)
{
	struct sampled *sampled = &asked[asked_count];

	if (asked_count == COUNTERS_SAMPLED) {
		snprintf(why, size, "at most %d", COUNTERS_SAMPLED);
		return -E2BIG;
	}
	*sampled = (struct sampled) {};
	if (split(text, sampled) || find_known(sampled)) {
		say_known(text, why, size);
		return -EINVAL;
	}
	if (!sampled->period)
		sampled->period = sampled->member ? 1 : known[sampled->which].period;
	snprintf(sampled->name, sizeof(sampled->name), "%s%s%s/%" PRIu64, sampled->group,
		 sampled->member ? ":" : "", sampled->member ? sampled->member : "",
		 sampled->period);
	asked_count++;
	return 0;
}

const char *counter_samples__name(size_t number)
{
	return number < asked_count ? asked[number].name : NULL;
}

uint64_t counter_samples__period(size_t number)
{
	return number < asked_count ? asked[number].period : 0;
}

/* --- attaching -------------------------------------------------------------------------------- */

static int attach_tracepoint(const struct bpf_object *object, struct sampled *sampled, __u64 number)
{
	const struct hook_target target = { .provider = sampled->group,
					    .name = sampled->member,
					    .cookie = number };

	return hooks__attach(object, "counters_on_tracepoint", &target,
			     &sampled->links[sampled->count++]);
}

/* -ENODEV, -ENXIO: no such CPU, or it is offline. */
static int attach_on(const struct bpf_object *object, struct sampled *sampled, __u64 number,
		     int cpu)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = known[sampled->which].type,
					.config = known[sampled->which].config,
					.sample_period = sampled->period,
					.exclude_guest = 1 };
	struct hook_target target = { .event_fd = sys__perf_event_open(&attr, -1, cpu),
				      .cookie = number };
	int err;

	if (target.event_fd < 0)
		return target.event_fd;
	err = hooks__attach(object, "counters_on_overflow", &target,
			    &sampled->links[sampled->count]);
	if (err)
		close(target.event_fd);
	else
		sampled->count++;
	return err;
}

static int attach_counter(const struct bpf_object *object, struct sampled *sampled, __u64 number)
{
	for (int cpu = 0; cpu < sys__possible_cpus(); cpu++) {
		int err = attach_on(object, sampled, number, cpu);

		if (err && err != -ENODEV && err != -ENXIO)
			return err;
	}
	return sampled->count ? 0 : -ENODEV;
}

static void detach(struct sampled *sampled)
{
	while (sampled->count)
		hooks__detach(sampled->links[--sampled->count]);
	free(sampled->links);
	sampled->links = NULL;
}

void counter_samples__attach(const struct bpf_object *object)
{
	for (size_t i = 0; i < asked_count; i++) {
		struct sampled *sampled = &asked[i];
		int err = -ENOMEM;

		sampled->links = calloc((size_t)sys__possible_cpus() + 1, sizeof(*sampled->links));
		if (sampled->links)
			err = sampled->member ? attach_tracepoint(object, sampled, i)
					      : attach_counter(object, sampled, i);
		if (!err)
			continue;
		detach(sampled);
		log_warning("no stacks by '%s' (%s); continuing without them", sampled->name,
			    err == -ENOENT || err == -EOPNOTSUPP ? "this machine has no such event"
								 : strerror(-err));
	}
}

void counter_samples__detach(void)
{
	for (size_t i = 0; i < asked_count; i++)
		detach(&asked[i]);
}
