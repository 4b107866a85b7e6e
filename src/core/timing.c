#include "core/timing.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include "base/clock.h"
#include "core/loader.h"

void timing__add(struct timing *timing, const struct bpf_object *object)
{
	if (timing->object_count < TIMING_OBJECTS)
		timing->objects[timing->object_count++] = object;
}

static uint64_t run_ns(const struct timing *timing)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < timing->object_count; i++)
		sum += loader__run_ns(timing->objects[i]);
	return sum;
}

void timing__set(struct timing *timing, bool on)
{
	if (on == (timing->fd > 0))
		return;
	if (on) {
		int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);

		timing->fd = fd > 0 ? fd : 0;
		timing->since_ns = clock__now_ns();
		timing->run_ns_then = run_ns(timing);
		return;
	}
	timing->run_ns += run_ns(timing) - timing->run_ns_then;
	timing->wall_ns += clock__now_ns() - timing->since_ns;
	close(timing->fd);
	timing->fd = 0;
}

uint64_t timing__ns(const struct timing *timing, uint64_t wall_ns)
{
	if (!timing->wall_ns)
		return 0;
	return (uint64_t)((double)timing->run_ns * (double)wall_ns / (double)timing->wall_ns);
}
