/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/agent.h"

#include <malloc.h>

#include "agent/agent_internal.h"
#include "agent/notify.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"

#define SECOND_NS UINT64_C(1000000000)
#define MINUTE_NS (60 * SECOND_NS)
/* Look for signals and for a full ring at least this often. */
#define LOOK_MS 500
/* How often the service manager's watchdog hears from us. */
#define ALIVE_NS (10 * SECOND_NS)
/* Reading more threads than this takes too long to do it every ten seconds. */
#define MANY_THREADS 20000
/* The last worker's end is not longer ago, as far as the store is told. */
#define MOST_GAP_NS (60 * MINUTE_NS)
/* A shorter part of another minute counts in the current one. */
#define CLOCK_ERROR_NS (SECOND_NS / 10)
/* After this many failures in a row, another process tries. */
#define MOST_FAILURES 6

static void note_work(struct agent *agent, const struct bucket *step)
{
	struct timing_work work = {};
	size_t count;
	const struct bucket_row *rows = bucket__rows(step, &count);
	const struct folding_call *calls;

	/* At level full, a call begins running intervals, too. */
	for (size_t i = 0; i < count; i++)
		if (SLOT_IS_READY(rows[i].key.slot))
			work.switches += rows[i].count;
		else if (SLOT_IS_RUN(rows[i].key.slot))
			work.run_ns += rows[i].ns;
	calls = folding__calls(collector__folding(agent->collector), &count);
	for (size_t i = 0; i < count; i++)
		work.calls += calls[i].count;
	self__add(&agent->self, &work, clock__now_ns());
}

static void measure(struct agent *agent)
{
	agent->cost =
		self__cost(&agent->self, folding__threads(collector__folding(agent->collector)));
	sampler__cost(agent->sampler, &agent->cost);
}

static struct outlets_view view_of(struct agent *agent, const struct signal_sums *signals,
				   struct losses_row losses[LOSSES_COUNT])
{
	agent->own.rows_folded =
		bucket__folded(agent->minute) + collector__folded(agent->collector);
	agent->own.samples = sampler__quality(agent->sampler);
	losses__read(agent->collector, agent->counting, agent->identity, &agent->own, losses);
	return (struct outlets_view) { .identity = agent->identity,
				       .collector = agent->collector,
				       .minutes = &agent->minutes,
				       .losses = losses,
				       .signals = signals,
				       .cost = agent->cost,
				       .level = agent->governor.level,
				       .chosen = agent->chosen };
}

static struct governor_use use_of(const struct agent *agent)
{
	return (struct governor_use) {
		.now_ns = clock__now_ns(),
		.cpu_ns = agent->cost.cpu_ns,
		.hook_ns = agent->cost.hook_ns,
		.switches = agent->self.work.switches,
		.memory_bytes = agent->cost.anon_bytes + agent->cost.bpf_bytes,
	};
}

/* What this level, in this minute, records. */
static void use_level(struct agent *agent)
{
	bool is_sampled = agent->chosen.is_chosen && agent->governor.level >= GOVERNOR_STACKS;

	counting__enable(agent->counting, agent->governor.level >= GOVERNOR_SIGNALS);
	collector__time_calls(agent->collector, agent->governor.level >= GOVERNOR_FULL);
	sampler__choose(agent->sampler, is_sampled, agent->chosen.probability);
}

static void start_governor(struct agent *agent)
{
	const struct governor_limits limits = { .cpu_ppm = agent->config->budget.cpu_ppm,
						.memory_bytes = agent->config->budget.memory_bytes,
						.cpus = sys__cpus(),
						.most = agent__most_level(agent) };
	struct governor_use use;

	measure(agent);
	use = use_of(agent);
	if (!agent->has_run)
		governor__start(&agent->governor, &limits, &use);
	else if (governor__reconsider(&agent->governor, &limits, &use))
		log_info("level '%s' from now on: level or budget were configured anew",
			 governor__name(agent->governor.level));
}

/* The cost of hooks is known after they were timed for the first time. */
static void govern(struct agent *agent)
{
	struct governor_use use = use_of(agent);
	enum governor_reason reason;

	if (!self__is_settled(&agent->self))
		return;
	reason = governor__look(&agent->governor, &use);
	if (reason == GOVERNOR_UNCHANGED)
		return;
	agent->own.level_changes++;
	use_level(agent);
	log_info("level '%s' from now on: %s", governor__name(agent->governor.level),
		 reason == GOVERNOR_ROOM     ? "ten minutes within the budget"
		 : reason == GOVERNOR_MEMORY ? "memory beyond the budget [budget.memory]"
					     : "CPU time beyond the budget [budget.cpu_ppm]");
}

static void begin_minute(struct agent *agent, uint64_t now_ns)
{
	agent->chosen =
		chooser__begin(agent->chooser, agent->identity, agent->minutes.begin_s, now_ns);
	use_level(agent);
}

static int close_minute(struct agent *agent, uint64_t now_ns)
{
	struct losses_row losses[LOSSES_COUNT];
	struct outlets_view view;
	int err, profile_err;

	agent->own.minutes_open += !bucket__closes(agent->minute);
	view = view_of(agent, agent->signal_minute, losses);
	/* Without memory for the profile, the account goes out all the same. */
	profile_err =
		sampler__profile(agent->sampler, agent->minutes.begin_s, now_ns, &view.profile);
	err = outlets__minute(agent->outlets, &view, agent->minute);
	if (!err) {
		err = profile_err;
		*agent->covered_ns = now_ns;
	}
	minutes__begin(&agent->minutes, now_ns, clock__wall_offset_ns());
	sampler__clear(agent->sampler, now_ns);
	begin_minute(agent, now_ns);
	bucket__clear(agent->minute);
	signal_sums__clear(agent->signal_minute);
	/* The rows of a failed step have words. */
	if (!err && !agent->failures)
		err = folding__forget_words(collector__folding(agent->collector));
	malloc_trim(0);
	return err;
}

static int step_signals(struct agent *agent)
{
	int err;

	signal_sums__clear(agent->signal_step);
	err = counting__step(agent->counting, agent->signal_step);
	return err ? err : signal_sums__merge(agent->signal_minute, agent->signal_step);
}

static int take_step(struct agent *agent)
{
	uint64_t now_ns = clock__now_ns();
	/* Steps come a little early or late. */
	bool is_whole = now_ns - agent->whole_ns >= MINUTE_NS - SECOND_NS / 2;
	struct losses_row losses[LOSSES_COUNT];
	const struct bucket *step;
	struct outlets_view view;
	int err = identity__update(agent->identity, now_ns), signals_err;

	if (!err)
		err = collector__step(agent->collector, is_whole, &step);
	if (err)
		return err;
	signals_err = step_signals(agent);
	if (is_whole)
		agent->whole_ns = now_ns;
	sampler__step(agent->sampler);
	note_work(agent, step);
	measure(agent);
	govern(agent);
	err = bucket__merge(agent->minute, step);
	view = view_of(agent, agent->signal_step, losses);
	if (!err)
		err = outlets__step(agent->outlets, &view, step, now_ns - agent->stepped_ns);
	agent->stepped_ns = now_ns;
	if (!err)
		err = signals_err;
	if (!err)
		agent->failures = 0;
	if (!err && minutes__is_over(&agent->minutes, now_ns))
		err = close_minute(agent, now_ns);
	return err;
}

/* What failed once may work the next time. Accounts go on meanwhile, so only a step is late. */
static int bear(struct agent *agent, int err)
{
	if (!err)
		return 0;
	agent->own.steps_failed++;
	agent->whole_ns = 0;
	if (++agent->failures >= MOST_FAILURES)
		return err;
	log_warning("the accounts cannot be read now (%s); continuing with the next step",
		    strerror(-err));
	return 0;
}

static uint64_t interval_of(const struct agent *agent)
{
	if (agent->governor.level == GOVERNOR_SLOW ||
	    folding__threads(collector__folding(agent->collector)) > MANY_THREADS)
		return MINUTE_NS;
	return agent->config->interval_ns;
}

/* Whatever is wrong with the ring, a step finds it too, and counts it. */
static void look(const struct agent *agent, uint64_t most_ms)
{
	int ms = most_ms < LOOK_MS ? (int)most_ms : LOOK_MS;

	if (collector__poll(agent->collector, ms))
		usleep((useconds_t)ms * 1000);
}

/*
 * What the last worker had not handed over is lost with it. What is missing of earlier minutes goes
 * to the store now; whatever fails there is counted there.
 */
static void note_gap(struct agent *agent, uint64_t now_ns)
{
	uint64_t from_ns = *agent->covered_ns, passed_ns;
	struct losses_row losses[LOSSES_COUNT];
	struct outlets_view view = view_of(agent, agent->signal_minute, losses);
	struct minutes_gap gap;

	passed_ns = minutes__passed_ns(&agent->minutes, now_ns);
	if (!from_ns || from_ns > now_ns)
		from_ns = now_ns - passed_ns;
	if (now_ns - from_ns > MOST_GAP_NS)
		from_ns = now_ns - MOST_GAP_NS;
	while (minutes__split_gap(&agent->minutes, &from_ns, now_ns, &gap)) {
		/* The two workers read the clock at different times. */
		if (gap.ns > CLOCK_ERROR_NS)
			(void)outlets__unseen(agent->outlets, &view, &gap);
		agent->own.unseen_ns += gap.ns;
	}
	agent->own.unseen_ns += now_ns - from_ns;
	*agent->covered_ns = from_ns;
}

int agent__run(struct agent *agent, const struct agent_signals *signals)
{
	uint64_t now_ns = clock__now_ns(), next_ns, alive_ns = 0;
	int err = 0, late_err;

	minutes__start(&agent->minutes, now_ns, clock__wall_offset_ns());
	/* After a new configuration, the minute goes on. */
	if (!agent->has_run)
		note_gap(agent, now_ns);
	start_governor(agent);
	agent->has_run = true;
	begin_minute(agent, now_ns);
	next_ns = minutes__next(&agent->minutes, now_ns, interval_of(agent));
	while (!err && !signals->stop && !signals->reload) {
		now_ns = clock__now_ns();
		if (now_ns >= next_ns ||
		    (!agent->failures && collector__is_pressed(agent->collector))) {
			err = bear(agent, take_step(agent));
			next_ns =
				minutes__next(&agent->minutes, clock__now_ns(), interval_of(agent));
			continue;
		}
		if (now_ns - alive_ns >= ALIVE_NS) {
			notify__alive();
			alive_ns = now_ns;
		}
		look(agent, (next_ns - now_ns) / 1000000 + 1);
	}
	if (!err)
		err = bear(agent, take_step(agent));
	now_ns = clock__now_ns();
	/* After an error, another worker notes the gap. */
	if (signals->stop)
		agent->own.unseen_ns += MINUTE_NS - minutes__passed_ns(&agent->minutes, now_ns);
	late_err = close_minute(agent, now_ns);
	return err ? err : late_err;
}
