/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/chain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"

#define MOST_HOPS        8
#define MOST_WAITS       300
#define LEAST_EXPLAINED  0.5
#define LEAST_IN_SECTION 20

/* A stretch of a culprit's time that is being explained, and the weight it stands for. */
struct stretch {
	const struct model_thread *thread;
	int64_t from_ns, to_ns;
	double weight_ns;
	int hop;
	const struct model_thread *seen[MOST_HOPS + 2];
};

struct search {
	struct analysis *analysis;
	const struct cause *cause;
	struct chain *chain;
	bool failed;
};

static const struct model_sample *sample_at(const struct analysis *analysis,
					    const struct working *thread, size_t i)
{
	return &analysis->model->samples[analysis->order[thread->first_sample + i]];
}

/* The index of the thread's first sample that ends at or after `ns`. */
static size_t first_after(const struct analysis *analysis, const struct working *thread, int64_t ns)
{
	size_t low = 0, high = thread->sample_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sample_at(analysis, thread, middle)->time_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How much of [from, to] a sample explains. Short intervals are rarely drawn, so they weigh more.
 */
static double overlap(const struct model_sample *sample, int64_t from_ns, int64_t to_ns)
{
	int64_t begin_ns = sample->time_ns - sample->wait_ns, end_ns = sample->time_ns;

	if (sample->tick)
		return end_ns > to_ns ? 0
				      : fmin((double)sample->weight_ns, (double)(to_ns - from_ns));
	begin_ns = begin_ns < from_ns ? from_ns : begin_ns;
	end_ns = end_ns > to_ns ? to_ns : end_ns;
	if (end_ns <= begin_ns || sample->wait_ns <= 0)
		return 0;
	return (double)(end_ns - begin_ns) *
	       fmax(1, (double)sample->weight_ns / (double)sample->wait_ns);
}

static bool is_past(const struct model_sample *sample, int64_t to_ns)
{
	return sample->time_ns - sample->wait_ns > to_ns;
}

/* A wait for the same thing as the one that is being explained. */
static bool is_same(const struct search *search, const struct model_sample *sample)
{
	const struct analysis *analysis = search->analysis;
	uint32_t number = analysis->cause_of[sample - analysis->model->samples];
	const struct cause *cause = number ? &analysis->causes[number - 1] : NULL;

	return cause && (cause == search->cause ||
			 (cause->what && search->cause->what && cause->ground != GROUND_CAUSE &&
			  !strcmp(cause->what, search->cause->what)));
}

static bool is_seen(const struct stretch *stretch, const struct model_thread *thread)
{
	for (int i = 0; i <= stretch->hop + 1 && i < MOST_HOPS + 2; i++)
		if (stretch->seen[i] == thread)
			return true;
	return false;
}

static struct chain_part describe(struct analysis *analysis, const struct model_sample *sample)
{
	const struct path *path = analysis__path(analysis, sample->node);
	size_t at = (size_t)(sample - analysis->model->samples);
	const struct cause *cause =
		analysis->cause_of[at] ? &analysis->causes[analysis->cause_of[at] - 1] : NULL;
	struct chain_part part = { .group = sample->thread->group,
				   .thread = sample->thread,
				   .function = path->caller,
				   .doing = CHAIN_RAN };

	if (sample->state->kind == KIND_READY) {
		part.doing = path->lock ? CHAIN_WOKEN : CHAIN_READY;
		part.function = 0;
	} else if (is_wait(sample->state)) {
		part.doing =
			analysis->judged[at].verdict == VERDICT_HOME ? CHAIN_AT_HOME : CHAIN_WAITED;
		part.state = sample->state;
		part.what = cause ? cause->what : path->wait;
		part.asleep = sample->state->slot == SLOT_WAIT_SLEEP || path->flags & KNOWN_SLEEP;
		part.peer = cause ? cause->peer : NULL;
		part.object = sample->state->slot == SLOT_WAIT_DISK ? sample->object : 0;
		part.by = sample->by && sample->by->id > 0 ? sample->by : NULL;
		if (part.doing == CHAIN_AT_HOME)
			part.function = 0;
	}
	return part;
}

static bool is_like(const struct chain_part *a, const struct chain_part *b)
{
	return a->doing == b->doing && a->group == b->group && a->state == b->state &&
	       a->asleep == b->asleep && a->function == b->function && a->object == b->object &&
	       a->peer == b->peer && a->via_peer == b->via_peer &&
	       (a->what == b->what || (a->what && b->what && !strcmp(a->what, b->what)));
}

static void merge_part(struct search *search, const struct chain_part *part)
{
	struct chain *chain = search->chain;
	struct chain_part *new;

	for (size_t i = 0; i < chain->count; i++) {
		if (!is_like(&chain->parts[i], part))
			continue;
		chain->parts[i].ns += part->ns;
		chain->parts[i].by = chain->parts[i].by ? chain->parts[i].by : part->by;
		return;
	}
	new = APPEND(&chain->parts, &chain->count);
	search->failed |= !new;
	if (new)
		*new = *part;
}

static void add_part(struct search *search, const struct model_sample *sample, double ns)
{
	struct chain_part part = describe(search->analysis, sample);

	part.ns = ns;
	search->chain->known_ns += ns;
	merge_part(search, &part);
}

static double follow(struct search *search, const struct stretch *stretch);

/* Whether the culprit waited for another thread that can be followed. */
static bool leads_on(const struct search *search, const struct stretch *stretch,
		     const struct model_sample *sample)
{
	const struct model_thread *by = sample->by;

	if (!is_wait(sample->state) || !by || by->id < 0 || by == stretch->thread ||
	    stretch->hop >= MOST_HOPS || is_seen(stretch, by) ||
	    !search->analysis->threads[thread_index(search->analysis, by)].sample_count)
		return false;
	switch (sample->state->slot) {
	case SLOT_WAIT_LOCK:
	case SLOT_WAIT_LOCK_OWNED:
	case SLOT_WAIT_GIL:
	case SLOT_WAIT_GC:
	case SLOT_WAIT_POLL:
	case SLOT_WAIT_NET:
	case SLOT_WAIT_PIPE:
	case SLOT_WAIT_CHILD:
		return true;
	default:
		return false;
	}
}

/* Follows the culprit's own wait, and returns how much that explains; if little, nothing is kept.
 */
static double follow_on(struct search *search, const struct stretch *stretch,
			const struct model_sample *sample, double ns)
{
	struct chain sub = {};
	struct search search_on = *search;
	struct stretch next = *stretch;
	struct chain_part via;
	double known;

	search_on.chain = &sub;
	next.thread = sample->by;
	next.hop++;
	next.seen[next.hop + 1] = stretch->thread;
	next.from_ns = sample->time_ns - sample->wait_ns;
	if (next.from_ns < stretch->from_ns)
		next.from_ns = stretch->from_ns;
	next.to_ns = sample->time_ns < stretch->to_ns ? sample->time_ns : stretch->to_ns;
	next.weight_ns = ns;
	known = next.to_ns > next.from_ns ? follow(&search_on, &next) : 0;
	if (known <= LEAST_EXPLAINED * ns)
		known = 0;
	via = describe(search->analysis, sample);
	for (size_t i = 0; known > 0 && i < sub.count; i++) {
		if (via.peer) {
			sub.parts[i].via_peer = via.peer;
			sub.parts[i].via_group = via.group;
			sub.parts[i].via_function = via.function;
		}
		merge_part(search, &sub.parts[i]);
	}
	if (known > 0)
		search->chain->known_ns += sub.known_ns;
	search->failed |= search_on.failed;
	free(sub.parts);
	return known;
}

/*
 * Adds what the thread did in [from, to], which stands for `weight_ns`. `stretch` has the limits
 * for hops. Returns how much is explained.
 */
static double add_doings(struct search *search, const struct stretch *stretch, int64_t from_ns,
			 int64_t to_ns, double weight_ns, bool scale_up)
{
	struct analysis *analysis = search->analysis;
	const struct working *thread = &analysis->threads[thread_index(analysis, stretch->thread)];
	size_t first = first_after(analysis, thread, from_ns);
	double sum = 0, known = 0, factor;

	for (size_t i = first; i < thread->sample_count; i++) {
		const struct model_sample *sample = sample_at(analysis, thread, i);

		if (is_past(sample, to_ns))
			break;
		sum += overlap(sample, from_ns, to_ns);
	}
	if (sum <= 0 || to_ns <= from_ns)
		return 0;
	factor = weight_ns / (scale_up ? sum : fmax(sum, (double)(to_ns - from_ns)));
	for (size_t i = first; i < thread->sample_count; i++) {
		const struct model_sample *sample = sample_at(analysis, thread, i);
		double ns = overlap(sample, from_ns, to_ns) * factor, on = 0;

		if (is_past(sample, to_ns))
			break;
		if (ns <= 0)
			continue;
		if (leads_on(search, stretch, sample))
			on = follow_on(search, stretch, sample, ns);
		if (on <= 0)
			add_part(search, sample, ns);
		known += on > 0 ? on : ns;
	}
	return known;
}

/* The thread ended the wait. Returns how much of the stretch is explained. */
static double follow(struct search *search, const struct stretch *stretch)
{
	struct analysis *analysis = search->analysis;
	const struct working *thread = &analysis->threads[thread_index(analysis, stretch->thread)];
	const struct model_sample *last = NULL;
	int64_t begin_ns = stretch->from_ns;
	double length, known, part;

	if (stretch->hop > MOST_HOPS || stretch->to_ns <= stretch->from_ns)
		return 0;
	for (size_t i = first_after(analysis, thread, stretch->from_ns + 1);
	     i < thread->sample_count; i++) {
		const struct model_sample *sample = sample_at(analysis, thread, i);

		if (sample->time_ns > stretch->to_ns)
			break;
		if (!is_wait(sample->state) || !is_same(search, sample))
			continue;
		begin_ns = sample->time_ns;
		last = sample;
	}
	length = (double)(stretch->to_ns - stretch->from_ns);
	part = (double)(stretch->to_ns - begin_ns) / length;
	known = add_doings(search, stretch, begin_ns, stretch->to_ns, stretch->weight_ns * part,
			   false);
	if (last && last->by && last->by->id > 0 && !is_seen(stretch, last->by) &&
	    stretch->hop < MOST_HOPS) {
		struct stretch before = *stretch;

		before.thread = last->by;
		before.to_ns = begin_ns;
		before.weight_ns = stretch->weight_ns * (1 - part);
		before.hop++;
		before.seen[before.hop + 1] = stretch->thread;
		known += follow(search, &before);
	}
	return known;
}

/* The thread owned the lock when the wait began. Returns how much of the stretch is explained. */
static double follow_owner(struct search *search, const struct stretch *stretch)
{
	struct analysis *analysis = search->analysis;
	const struct working *thread = &analysis->threads[thread_index(analysis, stretch->thread)];
	int64_t until_ns = stretch->to_ns;

	for (size_t i = first_after(analysis, thread, stretch->from_ns); i < thread->sample_count;
	     i++) {
		const struct model_sample *sample = sample_at(analysis, thread, i);
		int64_t begin_ns = sample->time_ns - sample->wait_ns;

		if (is_past(sample, stretch->to_ns))
			break;
		if (!is_wait(sample->state) || !is_same(search, sample))
			continue;
		if (begin_ns <= stretch->from_ns)
			return 0; /* it waited for the lock as well: the word was out of date */
		until_ns = begin_ns < until_ns ? begin_ns : until_ns;
	}
	return add_doings(search, stretch, stretch->from_ns, until_ns, stretch->weight_ns, true);
}

/* The thread that a wait is followed to; NULL: none. */
static const struct model_thread *culprit_of(const struct analysis *analysis,
					     const struct model_sample *sample)
{
	const struct model_thread *by = sample->by;

	if (by && by->id > 0 && by != sample->thread &&
	    analysis->threads[thread_index(analysis, by)].sample_count)
		return by;
	return NULL;
}

static void explain_waits(struct search *search)
{
	struct analysis *analysis = search->analysis;
	const struct cause *cause = search->cause;
	size_t step = 1 + cause->sample_count / MOST_WAITS;

	for (size_t i = 0; i < cause->sample_count; i += step) {
		const struct model_sample *sample = &analysis->model->samples[cause->samples[i]];
		struct stretch stretch = {
			.thread = culprit_of(analysis, sample),
			.from_ns = sample->time_ns - sample->wait_ns,
			.to_ns = sample->time_ns,
			.weight_ns = (double)analysis->judged[cause->samples[i]].ns * (double)step,
			.seen = { sample->thread },
		};

		if (!stretch.thread || sample->summed)
			continue;
		search->chain->total_ns += stretch.weight_ns;
		if (sample->is_owned)
			follow_owner(search, &stretch);
		else
			follow(search, &stretch);
	}
}

static bool has_function(const struct analysis *analysis, uint32_t node, uint32_t function)
{
	const struct hot_node *nodes = analysis->model->hot.nodes;

	for (node = nodes[node].user; node; node = nodes[node].parent)
		if (nodes[node].function == function)
			return true;
	return false;
}

/* The threads that ended waits of a cause. Index as in model->threads; NULL: out of memory. */
static bool *mark_culprits(const struct analysis *analysis, const struct cause *cause)
{
	const struct model *model = analysis->model;
	bool *marks = calloc(model->thread_count + 1, sizeof(*marks));

	for (size_t i = 0; marks && i < cause->sample_count; i++) {
		const struct model_thread *by = model->samples[cause->samples[i]].by;

		if (by)
			marks[thread_index(analysis, by)] = true;
	}
	return marks;
}

/*
 * The waits are too short for samples inside them: shows what the culprits did in the function that
 * takes the lock, apart from waiting for it.
 */
static void explain_section(struct search *search)
{
	struct analysis *analysis = search->analysis;
	const struct model *model = analysis->model;
	struct chain *chain = search->chain;
	cleanup(free_p) bool *culprits = NULL;
	double total = chain->total_ns;
	size_t found = 0;

	if (!search->cause->caller)
		return;
	free(chain->parts);
	*chain = (struct chain) {};
	culprits = mark_culprits(analysis, search->cause);
	search->failed |= !culprits;
	for (size_t i = 0; culprits && i < model->thread_count; i++) {
		const struct working *thread = &analysis->threads[i];

		for (size_t j = 0; culprits[i] && j < thread->sample_count; j++) {
			const struct model_sample *sample = sample_at(analysis, thread, j);

			if (!has_function(analysis, sample->node, search->cause->caller) ||
			    (is_wait(sample->state) && is_same(search, sample)) ||
			    sample->state->kind == KIND_READY)
				continue;
			add_part(search, sample, (double)sample->weight_ns);
			found++;
		}
	}
	for (size_t i = 0; i < chain->count; i++)
		chain->parts[i].ns *= total / chain->known_ns;
	chain->total_ns = total;
	chain->known_ns = found >= LEAST_IN_SECTION ? total : 0;
}

static int by_ns(const void *a, const void *b)
{
	const struct chain_part *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

int chain__make(struct analysis *analysis, const struct cause *cause, struct chain *ret)
{
	struct search search = { .analysis = analysis, .cause = cause, .chain = ret };

	*ret = (struct chain) {};
	explain_waits(&search);
	if (ret->total_ns > 0 && ret->known_ns < CHAIN_LEAST_KNOWN * ret->total_ns)
		explain_section(&search);
	if (ret->count)
		qsort(ret->parts, ret->count, sizeof(*ret->parts), by_ns);
	return search.failed ? -ENOMEM : 0;
}

void chain__release(struct chain *chain)
{
	free(chain->parts);
	*chain = (struct chain) {};
}
