/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/publish.h"
#include "core/ring.h"
#include "core/series.h"
#include "vocabulary/counters.h"

/* Slow events per second: above the first, the threshold doubles; below the second, it halves. */
#define MOST_SLOW   200
#define FEWEST_SLOW 20

struct session {
	const struct signal *signal;
	struct session_options options;
	struct hook_use *hooks; /* of the part */
	struct bpf_link *links[SIGNAL_HOOKS];
	struct ring *ring;
	struct series *series;
	struct publish *publish;
	struct event event; /* large; reused for every record */
	uint64_t malformed;
	uint64_t stale; /* number of failed refreshes */
	uint64_t slow_then;
	uint64_t events; /* in the last session__write() */
};

DEFINE_CLEANUP(struct session *, session__free)

static int take_record(void *context, const struct wire_head *head)
{
	struct session *session = context;
	const struct session_options *options = &session->options;
	int64_t stack = 0;
	int err = 0;

	session->event = (struct event) { .time_ns = head->time_ns };
	if (session->signal->decode(head, head->size, &session->event)) {
		session->malformed++;
		return 0;
	}
	if (session->event.kind == EVENT_NAMES && session->signal->name_object)
		session->signal->name_object(&session->event);
	if (session->event.stack && options->find_stack)
		err = options->find_stack(options->stack_context, session->event.stack,
					  session->event.time_ns, &stack);
	return err ? err : publish__event(session->publish, &session->event, stack);
}

static int set_up(struct session *session)
{
	const struct session_options *options = &session->options;
	const struct signal *signal = session->signal;
	struct bpf_map *ring;
	char name[64];
	int err = series__new(options->object, signal->name, signal->number, signal__values(signal),
			      &session->series);

	if (err)
		return err;
	snprintf(name, sizeof(name), "%s_ring", signal->name);
	ring = bpf_object__find_map_by_name(options->object, name);
	series__control(session->series)->slow_ns = options->slow_ns;
	series__control(session->series)->every_thread = options->every_thread;
	err = publish__new(signal, options->number, options->recording, &session->publish);
	if (!err)
		publish__set_finder(session->publish, &options->finder);
	if (!err && ring)
		err = ring__new(bpf_map__fd(ring), take_record, session, &session->ring);
	return err;
}

int session__open(struct part *part, const struct session_options *options, struct session **ret)
{
	cleanup(session__free_p) struct session *session = calloc(1, sizeof(*session));
	int err;

	if (!session)
		return -ENOMEM;
	session->signal = part->signal;
	session->hooks = part->hooks;
	session->options = *options;
	err = set_up(session);
	if (err) {
		log_warning("signal '%s' cannot be set up (%s); continuing without it",
			    part->signal->name, strerror(-err));
		return err;
	}
	*ret = TAKE(session);
	return 0;
}

static int attach_hook(struct session *session, size_t number)
{
	const struct hook_use *use = &session->hooks[number];
	const struct signal *signal = session->signal;

	if (use->flags & HOOK_BY_SIGNAL || !signal__owns(signal->name, use->program))
		return 0;
	return hooks__attach(session->options.object, use->program, NULL, &session->links[number]);
}

/*
 * The ledger attaches its own programs, those that call the parts. A hook that does not attach
 * disables only what it serves (law 5).
 */
int session__start(struct session *session)
{
	int served = 0, err;

	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		struct hook_use *use = &session->hooks[i];

		if (!use->program)
			continue;
		err = attach_hook(session, i);
		served += !err;
		if (!err)
			continue;
		log_warning("'%s' of signal '%s' does not attach (%s); continuing without it",
			    use->event, session->signal->name, strerror(-err));
		use->program = NULL;
	}
	err = served && session->signal->attach ? session->signal->attach(session->options.object)
						: 0;
	if (err)
		log_warning("signal '%s' does not start; continuing without it",
			    session->signal->name);
	if (served || err)
		return err;
	log_warning("signal '%s' does not start: no hook attaches; continuing without it",
		    session->signal->name);
	return -ENOTSUP;
}

void session__enable(struct session *session, bool on)
{
	struct series_control *control = series__control(session->series);

	if (on)
		control->since_ns = clock__now_ns();
	control->enabled = on;
}

bool session__is_enabled(const struct session *session)
{
	return series__control(session->series)->enabled;
}

uint64_t session__cost_ns(const struct session *session)
{
	return session->events * session->signal->event_ns;
}

void session__refresh(struct session *session, bool is_last)
{
	int err = 0;

	if (session->signal->refresh && session->series &&
	    series__control(session->series)->enabled)
		err = session->signal->refresh(session->options.object, session->links, is_last);
	session->stale += err != 0;
	if (err && session->stale == 1)
		log_warning(
			"signal '%s' is not brought up to date (%s); continuing with what it sends",
			session->signal->name, strerror(-err));
}

void session__stop(struct session *session)
{
	if (session->signal->detach)
		session->signal->detach();
	for (size_t i = 0; i < SIGNAL_HOOKS; i++) {
		hooks__detach(session->links[i]);
		session->links[i] = NULL;
	}
	if (session->signal->detach)
		session->signal->detach();
}

void session__free(struct session *session)
{
	if (!session)
		return;
	session__stop(session);
	ring__free(session->ring);
	series__free(session->series);
	publish__free(session->publish);
	free(session);
}

int session__poll(struct session *session)
{
	return session->ring ? ring__poll(session->ring, 0) : 0;
}

void session__switch(struct session *session)
{
	series__switch(session->series);
}

/* The overflow has no fiber. */
static int take_fiber(struct session *session, const struct series_key *key,
		      const struct series_sum *sum)
{
	const struct session_options *options = &session->options;
	const char *reason = session->signal->operation(key->operation);
	struct signal_fiber_of fiber;

	if (!options->take_fiber || !key->place || !session->signal->fiber(key, &fiber))
		return 0;
	return options->take_fiber(options->fiber_context, &fiber, reason ? reason : "", sum);
}

static int take_sum(void *context, const struct series_key *key, const struct series_sum *sum)
{
	struct session *session = context;
	struct series_key less = *key;
	int err = 0;

	session->events += sum->count;
	if (session->signal->fiber) {
		err = take_fiber(session, key, sum);
		less.object[0] = less.object[1] = 0;
	}
	return err ? err : publish__sum(session->publish, &less, sum);
}

static int take_bucket(void *context, const struct series_place *place, uint32_t value,
		       uint32_t bucket, uint32_t count)
{
	const struct session *session = context;

	return publish__bucket(session->publish, place, value, bucket, count);
}

static int take_owned(void *context, const struct series_owned *owned, uint64_t count)
{
	const struct session *session = context;

	return publish__owned(session->publish, owned, count);
}

static int take_own_event(void *context, const struct event *event)
{
	const struct session *session = context;

	return publish__event(session->publish, event, 0);
}

int session__write(struct session *session, int64_t from, int64_t to)
{
	const struct series_takers takers = { .take_sum = take_sum,
					      .take_bucket = take_bucket,
					      .take_owned = take_owned,
					      .context = session };
	int err;

	session->events = 0;
	publish__slices(session->publish, from, to);
	err = session->signal->hand_over ? session->signal->hand_over(take_own_event, session) : 0;
	if (!err)
		err = series__take(session->series, &takers);
	return err || !session->signal->hand_over_sums
		       ? err
		       : session->signal->hand_over_sums(take_sum, session);
}

static int put_quality(const struct session *session, enum counter counter, uint64_t value)
{
	const struct counter_words *words = counters__words(counter);
	char name[96];

	snprintf(name, sizeof(name), "%s_%s", session->signal->name, words->name);
	return recording__put_quality(session->options.recording, name, (int64_t)value, words->bias,
				      words->remedy);
}

int session__write_quality(const struct session *session)
{
	const struct series_control *control = series__control(session->series);
	const struct publish_quality quality = publish__quality(session->publish);
	uint64_t malformed = session->malformed;
	int err = 0;

	if (session->ring)
		malformed += ring__malformed(session->ring);
	err |= put_quality(session, COUNTER_EVENTS_LOST, control->lost[LOST_RING_FULL]);
	err |= put_quality(session, COUNTER_NO_ROOM, control->lost[LOST_MAP_FULL]);
	err |= put_quality(session, COUNTER_SUMS_UNNAMED,
			   control->overflow.count + quality.unnamed);
	err |= put_quality(session, COUNTER_NOT_IN_HISTOGRAMS, control->no_histogram);
	err |= put_quality(session, COUNTER_UNPAIRED, control->unpaired);
	err |= put_quality(session, COUNTER_EVENTS_UNSENT, control->unsent);
	if (session->signal->refresh)
		err |= put_quality(session, COUNTER_STALE, session->stale);
	err |= put_quality(session, COUNTER_EVENTS_OVER, quality.events_over);
	err |= put_quality(session, COUNTER_SIGNAL_MALFORMED, malformed);
	err |= put_quality(session, COUNTER_UNTRACKED, control->lost[LOST_NO_STORAGE]);
	if (session->signal->left_out)
		err |= put_quality(session, COUNTER_LEFT_OUT, session->signal->left_out());
	err |= put_quality(
		session, COUNTER_SIGNAL_RECURSION,
		loader__recursion_misses(session->options.object, session->signal->name));
	return err ? -EIO : 0;
}

int session__forget(struct session *session, uint64_t before_ns)
{
	return publish__forget(session->publish, before_ns, session->options.object);
}

void session__hold_rate(struct session *session)
{
	struct series_control *control = series__control(session->series);
	uint64_t slow = control->slow - session->slow_then;

	session->slow_then = control->slow;
	if (slow > MOST_SLOW)
		control->slow_ns *= 2;
	else if (slow < FEWEST_SLOW && control->slow_ns / 2 >= session->options.slow_ns)
		control->slow_ns /= 2;
}

const struct signal *session__signal(const struct session *session)
{
	return session->signal;
}

void session__add_hooks(const struct session *session, json_t *list)
{
	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		const struct hook_use *use = &session->hooks[i];
		char tag[LOADER_TAG_BYTES] = "";

		if (!use->event)
			continue;
		if (use->program)
			loader__tag(session->options.object, use->program, tag);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s, s:s}", "signal",
						      session->signal->name, "event", use->event,
						      "kind", use->program ? use->kind : NULL,
						      "tag", tag, "why_not", use->why_not));
	}
}
