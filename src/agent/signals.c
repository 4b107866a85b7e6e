/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/hooks.h"
#include "core/series.h"

struct reader {
	const struct signal *signal;
	struct bpf_link *links[SIGNAL_HOOKS];
	struct series *series;
};

struct signals {
	struct reader all[SIGNAL_COUNT];
	size_t count;
	struct bpf_object *object;
	struct series_barrier barrier;
	uint64_t stale; /* steps that a signal was not brought up to date or read to the end */
};

DEFINE_CLEANUP(struct signals *, signals__free)

static void release(struct reader *reader)
{
	for (size_t i = 0; i < SIGNAL_HOOKS; i++)
		hooks__detach(reader->links[i]);
	series__free(reader->series);
	*reader = (struct reader) {};
}

/*
 * The ledger attaches its own programs, those that call the parts. The hooks of iterators are
 * attached too: refresh() needs their links when the process has no privileges any more.
 */
static int attach(struct reader *reader, const struct part *part, const struct bpf_object *object)
{
	int served = 0;

	for (size_t i = 0; part->signal->hooks[i].event; i++) {
		const struct hook_use *use = &part->hooks[i];
		int err = 0;

		if (!use->program)
			continue;
		if (signal__owns(part->signal->name, use->program))
			err = hooks__attach(object, use->program, NULL, &reader->links[i]);
		served += !err;
		if (err)
			log_warning(
				"'%s' of signal '%s' does not attach (%s); continuing without it",
				use->event, part->signal->name, strerror(-err));
	}
	return served ? 0 : -ENOTSUP;
}

static int open_reader(struct reader *reader, const struct part *part,
		       const struct bpf_object *object)
{
	const struct signal *signal = part->signal;
	int err = series__new(object, signal->name, signal->number, signal__values(signal),
			      &reader->series);

	if (err)
		return err;
	reader->signal = signal;
	series__control(reader->series)->every_thread = true;
	return attach(reader, part, object);
}

int signals__open(struct part *parts, struct bpf_object *object, struct signals **ret)
{
	cleanup(signals__free_p) struct signals *signals = calloc(1, sizeof(*signals));

	if (!signals)
		return -ENOMEM;
	signals->object = object;
	for (const struct part *part = parts; part->signal; part++) {
		struct reader *reader = &signals->all[signals->count];
		int err;

		/* The ledger has said why it is off. */
		if (!part->is_on)
			continue;
		err = open_reader(reader, part, object);
		if (!err) {
			signals->count++;
			continue;
		}
		log_warning("signal '%s' does not start (%s) [see 'gapless doctor']; continuing "
			    "without it",
			    part->signal->name, strerror(-err));
		release(reader);
	}
	if (signals->count)
		signals->barrier = series__barrier();
	*ret = TAKE(signals);
	return 0;
}

void signals__free(struct signals *signals)
{
	if (!signals)
		return;
	for (size_t i = 0; i < signals->count; i++)
		release(&signals->all[i]);
	series__barrier_close(&signals->barrier);
	free(signals);
}

/* Logs the first failure only. */
static void note(struct signals *signals, const struct reader *reader, int err)
{
	if (err && !signals->stale++)
		log_warning("signal '%s' cannot be read now (%s); continuing with what it has",
			    reader->signal->name, strerror(-err));
}

/* Sums that no event updates: totals of open connections. */
static void refresh(struct signals *signals)
{
	for (size_t i = 0; i < signals->count; i++) {
		struct reader *reader = &signals->all[i];

		if (reader->signal->refresh && series__control(reader->series)->enabled)
			note(signals, reader,
			     reader->signal->refresh(signals->object, reader->links, false));
	}
}

void signals__enable(struct signals *signals, bool on)
{
	bool is_new = false;

	for (size_t i = 0; i < signals->count; i++) {
		struct series_control *control = series__control(signals->all[i].series);

		if (on && !control->enabled) {
			control->since_ns = clock__now_ns();
			is_new = true;
		}
		control->enabled = on;
	}
	/* Finds the connections that are open already. */
	if (is_new)
		refresh(signals);
}

struct taking {
	const struct signal *signal;
	struct signal_sums *to;
};

static int take_sum(void *context, const struct series_key *key, const struct series_sum *sum)
{
	const struct taking *taking = context;

	return signal_sums__add(taking->to, taking->signal, key, sum);
}

static int take_bucket(void *context, const struct series_place *place, uint32_t value,
		       uint32_t bucket, uint32_t added)
{
	const struct taking *taking = context;

	return signal_sums__add_bucket(taking->to, taking->signal, place, value, bucket, added);
}

int signals__step(struct signals *signals, struct signal_sums *to)
{
	int err = 0;

	if (!signals->count)
		return 0;
	refresh(signals);
	for (size_t i = 0; i < signals->count; i++)
		series__switch(signals->all[i].series);
	series__settle(&signals->barrier);
	for (size_t i = 0; i < signals->count && err != -ENOMEM; i++) {
		struct taking taking = { signals->all[i].signal, to };
		const struct series_takers takers = { .take_sum = take_sum,
						      .take_bucket = take_bucket,
						      .context = &taking };

		err = series__take(signals->all[i].series, &takers);
		note(signals, &signals->all[i], err);
	}
	return err == -ENOMEM ? err : 0;
}

size_t signals__count(const struct signals *signals)
{
	return signals->count;
}

struct signals_quality signals__quality(const struct signals *signals)
{
	struct signals_quality quality = { .stale = signals->stale };

	for (size_t i = 0; i < signals->count; i++) {
		const struct series_control *control = series__control(signals->all[i].series);

		quality.no_room += control->lost[LOST_MAP_FULL];
		quality.untracked += control->lost[LOST_NO_STORAGE];
		quality.unnamed += control->overflow.count;
		quality.not_in_histograms += control->no_histogram;
	}
	return quality;
}
