/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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
	struct kernel_half half; /* skel is NULL if the ledger is the kernel half */
	struct hook_use hooks[SIGNAL_HOOKS];
	struct bpf_link *links[SIGNAL_HOOKS];
	struct ring *ring;
	struct series *series;
	struct publish *publish;
	struct event event;   /* large; reused for every record */
	const uint64_t *lost; /* the kernel half's counters, memory-mapped */
	uint64_t malformed;
	uint64_t stale; /* number of failed refreshes */
	uint64_t slow_then;
};

DEFINE_CLEANUP(struct session *, session__free)

static int take_record(void *context, const struct wire_head *head)
{
	struct session *session = context;

	session->event = (struct event) { .time_ns = head->time_ns };
	if (session->signal->decode(head, head->size, &session->event)) {
		session->malformed++;
		return 0;
	}
	return publish__event(session->publish, &session->event);
}

/* Uses the ledger's map of threads, so that both kernel halves select the same threads. */
static int share_threads(const struct session *session)
{
	struct bpf_map *map = bpf_object__find_map_by_name(session->half.object, "threads");

	return map ? bpf_map__reuse_fd(map, session->options.threads_fd) : 0;
}

static void leave_out_syscalls(struct session *session)
{
	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		struct hook_use *use = &session->hooks[i];

		if (!use->program || !(use->flags & HOOK_AT_CALLS))
			continue;
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(session->half.object, use->program),
			false);
		use->program = NULL;
		snprintf(use->why_not, sizeof(use->why_not),
			 "level sched has no hooks at syscalls [--level full]");
	}
}

static int load(struct session *session, struct features *features)
{
	const struct signal *signal = session->signal;
	int err;

	if (signal->in_ledger) {
		session->half.object = session->options.ledger;
		return 0;
	}
	err = signal->open(&session->half);
	if (err) {
		log_warning("signal '%s' cannot be opened (%s); continuing without it",
			    signal->name, strerror(-err));
		return err;
	}
	if (!loader__choose(session->half.object, signal->hooks, features, session->hooks)) {
		log_warning(
			"signal '%s' has no working hook on this machine: %s [see 'gapless doctor']; "
			"continuing without it",
			signal->name, session->hooks[0].why_not);
		return -ENOTSUP;
	}
	if (session->options.no_syscall_hooks)
		leave_out_syscalls(session);
	err = share_threads(session);
	if (!err && signal->prepare)
		err = signal->prepare(session->half.object, session->hooks);
	loader__forget();
	if (!err)
		err = bpf_object__load_skeleton(session->half.skeleton);
	if (err) {
		loader__replay();
		log_warning(
			"signal '%s' does not load: %s [see 'gapless doctor']; continuing without it",
			signal->name, strerror(-err));
	}
	return err;
}

static int set_up(struct session *session)
{
	const struct session_options *options = &session->options;
	const char *name = session->signal->in_ledger ? "signal_ring" : "ring";
	struct bpf_map *ring = bpf_object__find_map_by_name(session->half.object, name);
	size_t size = 0;
	int err = series__new(session->half.object, signal__values(session->signal),
			      &session->series);

	if (err)
		return err;
	session->lost = series__section(
		session->half.object,
		session->signal->in_ledger ? ".data.signal_lost" : ".data.lost", &size);
	if (!session->lost || size != LOST_COUNT * sizeof(*session->lost))
		return -EPROTO;
	series__control(session->series)->slow_ns = options->slow_ns;
	series__control(session->series)->every_thread = options->every_thread;
	err = publish__new(session->signal, options->number, options->recording, &session->publish);
	if (!err && ring)
		err = ring__new(bpf_map__fd(ring), take_record, session, &session->ring);
	return err;
}

int session__open(const struct signal *signal, const struct session_options *options,
		  struct features *features, struct session **ret)
{
	cleanup(session__free_p) struct session *session = calloc(1, sizeof(*session));
	int err;

	if (!session)
		return -ENOMEM;
	session->signal = signal;
	session->options = *options;
	err = load(session, features);
	if (err)
		return err;
	err = set_up(session);
	if (err) {
		log_warning("signal '%s' cannot be set up (%s); continuing without it",
			    signal->name, strerror(-err));
		return err;
	}
	*ret = TAKE(session);
	return 0;
}

/* A hook that does not attach disables only its part of the signal (law 5). */
static int attach(struct session *session)
{
	int attached = 0, err;

	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		struct hook_use *use = &session->hooks[i];

		if (!use->program)
			continue;
		err = hooks__attach(session->half.object, use->program, NULL, &session->links[i]);
		if (!err) {
			attached++;
			continue;
		}
		log_warning("'%s' of signal '%s' does not attach (%s); continuing without it",
			    use->event, session->signal->name, strerror(-err));
		use->program = NULL;
	}
	return attached ? 0 : -ENOTSUP;
}

int session__start(struct session *session)
{
	int err = session->signal->in_ledger ? 0 : attach(session);

	if (err)
		log_warning("signal '%s' does not start: no hook attaches; continuing without it",
			    session->signal->name);
	return err;
}

void session__enable(struct session *session, bool on)
{
	series__control(session->series)->enabled = on;
}

void session__refresh(struct session *session, bool is_last)
{
	int err = 0;

	if (session->signal->refresh && session->series &&
	    series__control(session->series)->enabled)
		err = session->signal->refresh(session->half.object, is_last);
	session->stale += err != 0;
	if (err && session->stale == 1)
		log_warning(
			"signal '%s' is not brought up to date (%s); continuing with what it sends",
			session->signal->name, strerror(-err));
}

void session__stop(struct session *session)
{
	for (size_t i = 0; i < SIGNAL_HOOKS; i++) {
		hooks__detach(session->links[i]);
		session->links[i] = NULL;
	}
}

void session__free(struct session *session)
{
	if (!session)
		return;
	session__stop(session);
	ring__free(session->ring);
	series__free(session->series);
	publish__free(session->publish);
	if (session->half.skel)
		session->half.destroy(session->half.skel);
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

int session__write(struct session *session, int64_t from, int64_t to)
{
	const struct series_takers takers = { .take_sum = publish__sum,
					      .take_bucket = publish__bucket,
					      .context = session->publish };

	publish__slices(session->publish, from, to);
	return series__take(session->series, &takers);
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
	err |= put_quality(session, COUNTER_EVENTS_LOST, session->lost[LOST_RING_FULL]);
	if (!session->signal->in_ledger)
		err |= put_quality(session, COUNTER_NO_ROOM, session->lost[LOST_MAP_FULL]);
	err |= put_quality(session, COUNTER_SUMS_UNNAMED,
			   control->overflow.count + quality.unnamed);
	err |= put_quality(session, COUNTER_NOT_IN_HISTOGRAMS, control->no_histogram);
	err |= put_quality(session, COUNTER_UNPAIRED, control->unpaired);
	err |= put_quality(session, COUNTER_EVENTS_UNSENT, control->unsent);
	if (session->signal->refresh)
		err |= put_quality(session, COUNTER_STALE, session->stale);
	err |= put_quality(session, COUNTER_EVENTS_OVER, quality.events_over);
	err |= put_quality(session, COUNTER_SIGNAL_MALFORMED, malformed);
	if (!session->signal->in_ledger)
		err |= put_quality(session, COUNTER_UNTRACKED, session->lost[LOST_NO_STORAGE]);
	if (!session->signal->in_ledger)
		err |= put_quality(session, COUNTER_SIGNAL_RECURSION,
				   loader__recursion_misses(session->half.object));
	return err ? -EIO : 0;
}

int session__forget(struct session *session, uint64_t before_ns)
{
	return publish__forget(session->publish, before_ns, session->half.object);
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

const struct bpf_object *session__object(const struct session *session)
{
	return session->signal->in_ledger ? NULL : session->half.object;
}

void session__add_hooks(const struct session *session, json_t *list)
{
	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		const struct hook_use *use = &session->hooks[i];
		char tag[LOADER_TAG_BYTES] = "";

		if (!use->event)
			continue;
		if (use->program)
			loader__tag(session->half.object, use->program, tag);
		json_array_append_new(list, json_pack("{s:s, s:s, s:s?, s:s, s:s}", "signal",
						      session->signal->name, "event", use->event,
						      "kind", use->program ? use->kind : NULL,
						      "tag", tag, "why_not", use->why_not));
	}
}
