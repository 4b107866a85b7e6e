/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/counting.h"

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

struct counting {
	struct reader all[SIGNAL_COUNT];
	size_t count;
	struct bpf_object *object;
	struct series_barrier barrier;
	uint64_t stale; /* steps that a signal was not brought up to date or read to the end */
};

DEFINE_CLEANUP(struct counting *, counting__free)

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

int counting__open(struct part *parts, struct bpf_object *object, struct counting **ret)
{
	cleanup(counting__free_p) struct counting *counting = calloc(1, sizeof(*counting));

	if (!counting)
		return -ENOMEM;
	counting->object = object;
	for (const struct part *part = parts; part->signal; part++) {
		struct reader *reader = &counting->all[counting->count];
		int err;

		/* The ledger has said why it is off. */
		if (!part->is_on)
			continue;
		err = open_reader(reader, part, object);
		if (!err) {
			counting->count++;
			continue;
		}
		log_warning("signal '%s' does not start (%s) [see 'gapless doctor']; continuing "
			    "without it",
			    part->signal->name, strerror(-err));
		release(reader);
	}
	if (counting->count)
		counting->barrier = series__barrier();
	*ret = TAKE(counting);
	return 0;
}

void counting__free(struct counting *counting)
{
	if (!counting)
		return;
	for (size_t i = 0; i < counting->count; i++)
		release(&counting->all[i]);
	series__barrier_close(&counting->barrier);
	free(counting);
}

/* Logs the first failure only. */
static void note(struct counting *counting, const struct reader *reader, int err)
{
	if (err && !counting->stale++)
		log_warning("signal '%s' cannot be read now (%s); continuing with what it has",
			    reader->signal->name, strerror(-err));
}

/* Sums that no event updates: totals of open connections. */
static void refresh(struct counting *counting)
{
	for (size_t i = 0; i < counting->count; i++) {
		struct reader *reader = &counting->all[i];

		if (reader->signal->refresh && series__control(reader->series)->enabled)
			note(counting, reader,
			     reader->signal->refresh(counting->object, reader->links, false));
	}
}

void counting__enable(struct counting *counting, bool on)
{
	bool is_new = false;

	for (size_t i = 0; i < counting->count; i++) {
		struct series_control *control = series__control(counting->all[i].series);

		if (on && !control->enabled) {
			control->since_ns = clock__now_ns();
			is_new = true;
		}
		control->enabled = on;
	}
	/* Finds the connections that are open already. */
	if (is_new)
		refresh(counting);
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

int counting__step(struct counting *counting, struct signal_sums *to)
{
	int err = 0;

	if (!counting->count)
		return 0;
	refresh(counting);
	for (size_t i = 0; i < counting->count; i++)
		series__switch(counting->all[i].series);
	series__settle(&counting->barrier);
	for (size_t i = 0; i < counting->count && err != -ENOMEM; i++) {
		struct taking taking = { counting->all[i].signal, to };
		const struct series_takers takers = { .take_sum = take_sum,
						      .take_bucket = take_bucket,
						      .context = &taking };

		err = series__take(counting->all[i].series, &takers);
		note(counting, &counting->all[i], err);
	}
	return err == -ENOMEM ? err : 0;
}

size_t counting__count(const struct counting *counting)
{
	return counting->count;
}

struct counting_quality counting__quality(const struct counting *counting)
{
	struct counting_quality quality = { .stale = counting->stale };

	for (size_t i = 0; i < counting->count; i++) {
		const struct series_control *control = series__control(counting->all[i].series);

		quality.no_room += control->lost[LOST_MAP_FULL];
		quality.untracked += control->lost[LOST_NO_STORAGE];
		quality.unnamed += control->overflow.count;
		quality.not_in_histograms += control->no_histogram;
	}
	return quality;
}
