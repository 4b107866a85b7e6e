/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a wait harmful? The rules are asked in the order of the strength of their evidence, and the
 * first one that fits decides. What no rule decides stays unclear.
 */
#include <stdlib.h>
#include <string.h>

#include "findings/analysis.h"
#include "vocabulary/roles.h"

/* A thread that runs less than one part in QUIET_PARTS of its life has nothing to do. */
#define QUIET_PARTS        2000
#define OPEN_PERCENT       90
#define URING_DISK_PERCENT 30

/* Facts about the thread and wait that are being judged. */
struct question {
	const struct model_sample *sample;
	const struct working *thread;
	const struct path *path;
	const struct place *place;
	enum ledger_slot slot;
};

static struct judged say(enum verdict verdict, enum ground ground)
{
	return (struct judged) { .verdict = verdict, .ground = ground };
}

bool judge__is_sure(enum ledger_slot slot)
{
	switch (slot) {
	case SLOT_WAIT_DISK:
	case SLOT_WAIT_FAULT:
	case SLOT_WAIT_KERNEL:
	case SLOT_WAIT_CHILD:
	case SLOT_WAIT_STOPPED:
	case SLOT_WAIT_LOCK_OWNED:
	case SLOT_WAIT_GIL:
	case SLOT_WAIT_SAFEPOINT:
	case SLOT_WAIT_GC:
		return true;
	default:
		return false;
	}
}

enum ground judge__ground(enum ledger_slot slot)
{
	return slot == SLOT_WAIT_LOCK_OWNED ? GROUND_OWNER : GROUND_CAUSE;
}

const char *judge__evidence(enum ground ground)
{
	static const char *const words[GROUND_COUNT] = {
		[GROUND_CAUSE] = "cause",     [GROUND_OWNER] = "owner",
		[GROUND_SOCKET] = "socket",   [GROUND_NAME] = "function",
		[GROUND_COMMAND] = "command", [GROUND_SIBLING] = "siblings",
		[GROUND_REQUEST] = "request", [GROUND_HOME] = "depth of the stack",
		[GROUND_TIMER] = "timer",     [GROUND_NONE] = "none",
	};

	return words[ground];
}

/* A local port that the kernel chose, and a peer's port that it did not: this side connected. */
static bool seems_client(const struct analysis *analysis, const struct model_sample *sample)
{
	const struct signals_object *object =
		signals__object(&analysis->model->signals, sample->object);
	const char *arrow = object && object->name ? strstr(object->name, MODEL_ARROW) : NULL;
	const char *local = arrow,
		   *peer = object && object->name ? strrchr(object->name, ':') : NULL;

	if (!arrow || !peer || peer < arrow)
		return false;
	while (local > object->name && local[-1] != ':')
		local--;
	return atoi(local) >= 32768 && atoi(peer + 1) < 32768 && atoi(peer + 1) > 0;
}

/* A file on a disk, or requests to disks by this process that cover a good part of the waiting. */
static bool is_disk_uring(const struct analysis *analysis, const struct model_sample *sample)
{
	const struct signals_signal *block = signals__of(&analysis->model->signals, ROLE_DISKS);
	const struct signals_object *object =
		signals__object(&analysis->model->signals, sample->object);
	int64_t ns = 0, waited = 0;

	if (object && object->kind && !strcmp(object->kind, "file"))
		return true;
	if (!block || block->main < 0)
		return false;
	for (size_t i = 0; i < block->series_count; i++)
		if (block->series[i].thread &&
		    block->series[i].thread->process == sample->thread->process)
			ns += block->series[i].sum.sum[block->main];
	for (size_t i = 0; i < sample->thread->cell_count; i++)
		if (sample->thread->cells[i].state == sample->state)
			waited = sample->thread->cells[i].ns;
	return model__reaches(ns, waited, URING_DISK_PERCENT);
}

/* Nobody ended it in nearly all of the thread's life, or the thread hardly ever runs. */
static bool is_quiet(const struct question *ask)
{
	const struct model_sample *sample = ask->sample;

	if (ask->thread->foreground || ask->slot == SLOT_WAIT_SLEEP || ask->path->lock)
		return false;
	if (sample->summed)
		return false;
	if (!sample->by && sample->count <= 1 &&
	    model__reaches(sample->wait_ns, ask->thread->life_ns, OPEN_PERCENT))
		return true;
	return !ask->place->hand_over && ask->slot != SLOT_WAIT_URING &&
	       ask->thread->run_ns < ask->thread->life_ns / QUIET_PARTS;
}

/* Waits for whatever another program may send. */
static bool is_for_others(enum ledger_slot slot)
{
	return slot == SLOT_WAIT_POLL || slot == SLOT_WAIT_NET || slot == SLOT_WAIT_ACCEPT;
}

/* What is left: only the depth of the stack, compared with the thread's home, can tell. */
static struct judged by_home(const struct question *ask)
{
	bool deeper = ask->thread->home && ask->path->depth > ask->thread->home + HOME_SLACK;
	bool sleeps = is_sleep(ask->slot, ask->path);

	if (ask->place->home && !sleeps)
		return say(VERDICT_HOME, GROUND_HOME);
	if (!ask->sample->whole || !ask->place->node)
		return say(sleeps ? VERDICT_SLEPT : VERDICT_UNCLEAR, GROUND_NONE);
	/*
	 * Generated code has stacks of varying depth. A server that keeps a connection open waits
	 * for the next request below its home.
	 */
	if (deeper)
		return ask->path->is_named && (!is_for_others(ask->slot) || ask->sample->in_request)
			       ? say(VERDICT_HELD, GROUND_HOME)
			       : say(sleeps ? VERDICT_SLEPT : VERDICT_UNCLEAR, GROUND_NONE);
	if (sleeps)
		return say(VERDICT_SLEPT, GROUND_NONE);
	if (ask->thread->home)
		return say(VERDICT_HOME, GROUND_HOME);
	return say(VERDICT_UNCLEAR, GROUND_NONE);
}

/* Evidence of the wait itself: its cause, its owner, its socket. */
static bool by_facts(const struct analysis *analysis, const struct question *ask,
		     struct judged *ret)
{
	const struct model_sample *sample = ask->sample;

	if (sample->state->overruled)
		*ret = say(sample->state->kind == KIND_IDLE ? VERDICT_HOME : VERDICT_HELD,
			   GROUND_CAUSE);
	else if (sample->is_owned)
		*ret = say(VERDICT_HELD, GROUND_OWNER);
	else if (judge__is_sure(ask->slot) || analysis__sends(analysis, sample->node) ||
		 (ask->slot == SLOT_WAIT_URING && is_disk_uring(analysis, sample)))
		*ret = say(VERDICT_HELD, judge__ground(ask->slot));
	else if (ask->path->flags & KNOWN_CARRIER || ask->slot == SLOT_WAIT_KTHREAD)
		*ret = say(VERDICT_HOME, GROUND_NAME);
	else if (ask->place->asked || (ask->slot == SLOT_WAIT_NET && !analysis->has_turns &&
				       seems_client(analysis, sample)))
		*ret = say(VERDICT_HELD, GROUND_SOCKET);
	else if (ask->slot == SLOT_WAIT_ACCEPT)
		*ret = say(VERDICT_HOME, GROUND_CAUSE);
	else if (ask->path->lock)
		*ret = say(VERDICT_HELD, GROUND_NAME);
	else
		return false;
	return true;
}

/* A process that the command started may be a server, which returns to this place. */
static bool may_serve(const struct question *ask)
{
	return ask->thread->started && ask->place->candidate &&
	       (is_for_others(ask->slot) || ask->slot == SLOT_WAIT_LOCK);
}

static struct judged judge(const struct analysis *analysis, const struct question *ask)
{
	bool sleeps = is_sleep(ask->slot, ask->path);
	struct judged ret;

	if (by_facts(analysis, ask, &ret))
		return ret;
	if (is_quiet(ask))
		return say(VERDICT_QUIET, GROUND_NONE);
	if (ask->thread->foreground && !may_serve(ask))
		return say(VERDICT_HELD, GROUND_COMMAND);
	if (ask->slot == SLOT_WAIT_URING)
		return say(VERDICT_UNCLEAR, GROUND_NONE);
	if (sleeps && ask->sample->in_request)
		return say(VERDICT_HELD, GROUND_REQUEST);
	if (ask->place->hand_over)
		return say(VERDICT_HELD, GROUND_SIBLING);
	if (ask->place->paced && !sleeps)
		return say(VERDICT_PACED, GROUND_TIMER);
	return by_home(ask);
}

/* Time of a thread in a state of which no stack was taken: the cause alone may decide. */
static enum verdict without_samples(enum ledger_slot slot)
{
	if (judge__is_sure(slot))
		return VERDICT_HELD;
	return slot == SLOT_WAIT_KTHREAD || slot == SLOT_WAIT_ACCEPT ? VERDICT_HOME
	       : slot == SLOT_WAIT_SLEEP                             ? VERDICT_SLEPT
								     : VERDICT_UNCLEAR;
}

static void judge_cell(struct analysis *analysis, const struct model_thread *thread,
		       const struct model_cell *cell)
{
	struct working *working = &analysis->threads[thread_index(analysis, thread)];
	int64_t weight_ns = 0;

	for (size_t i = 0; i < working->sample_count; i++) {
		uint32_t at = analysis->order[working->first_sample + i];

		if (analysis->model->samples[at].state == cell->state)
			weight_ns += analysis->model->samples[at].weight_ns;
	}
	if (!weight_ns) {
		working->verdict_ns[without_samples(cell->state->slot)] += cell->ns;
		return;
	}
	for (size_t i = 0; i < working->sample_count; i++) {
		uint32_t at = analysis->order[working->first_sample + i];
		const struct model_sample *sample = &analysis->model->samples[at];
		struct question ask = { .sample = sample, .thread = working };

		if (sample->state != cell->state)
			continue;
		ask.path = analysis__path(analysis, sample->node);
		ask.place = place__of(analysis, sample);
		ask.slot = cell->state->slot;
		analysis->judged[at] = judge(analysis, &ask);
		analysis->judged[at].ns =
			(int64_t)((double)cell->ns * (double)sample->weight_ns / (double)weight_ns);
		working->verdict_ns[analysis->judged[at].verdict] += analysis->judged[at].ns;
	}
}

void judge__all(struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->thread_count; i++)
		for (size_t j = 0; j < model->threads[i].cell_count; j++)
			if (is_wait(model->threads[i].cells[j].state))
				judge_cell(analysis, &model->threads[i],
					   &model->threads[i].cells[j]);
}
