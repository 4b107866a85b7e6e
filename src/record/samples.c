/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames, stacks and functions get small ids in the order in which they are first seen. A stack is
 * a node of a tree: its frame, called by the frame of its parent. So stacks share their common part
 * on disk and in memory, and a flame graph is a walk over the table.
 *
 * A sample's stack is its user stack with its kernel stack on top.
 *
 * What to forget depends on the time of the last sample that used it. A stack is dropped in two
 * steps, because samples of it may still be in the ring. First, at half of that age, it is deleted
 * from the kernel half's map, so that the kernel half sends it again. In a later call it is
 * dropped, if no sample has used it since.
 */
#include "record/samples.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/stack.h"
#include "record/samples_internal.h"
#include "vocabulary/states.h"

DEFINE_CLEANUP(struct samples *, samples__free)

static const char *const end_words[STACK_END_COUNT] = {
	[STACK_END_TOO_DEEP] = "too deep",
	[STACK_END_NO_MEMORY] = "stack memory not readable",
	[STACK_END_NO_RULE] = "rule too hard",
	[STACK_END_NO_FRAME] = "no frame pointer",
	[STACK_END_NO_PROGRESS] = "no progress",
	[STACK_END_NOWHERE] = "outside of code",
	[STACK_END_NOT_READY] = "tables not ready",
};

static const char *const none_words[STACK_NONE_COUNT] = {
	[STACK_NONE_KERNEL] = "kernel thread",
	[STACK_NONE_EXEC] = "in exec",
	[STACK_NONE_START] = "thread starting",
	[STACK_NONE_EXIT] = "thread ended",
	[STACK_NONE_32BIT] = "32-bit program",
	[STACK_NONE_CROWDED] = "too many waits in one call",
	[STACK_NONE_LOST] = "no room",
	[STACK_NONE_ASLEEP] = "at the end of the recording",
	[STACK_NONE_BEFORE] = "began before the recording",
	[STACK_NONE_LATE] = "taken too late",
};

static const char *const how_words[] = {
	[STACK_BY_ROWS] = "rows",
	[STACK_BY_FRAMES] = "frames",
	[STACK_BY_ROWS | STACK_BY_FRAMES] = "both",
};

int samples__new(struct recording *recording, struct names *names, struct mapper *mapper,
		 struct runtimes *runtimes, int stacks_fd, const struct part *parts,
		 struct samples **ret)
{
	cleanup(samples__free_p) struct samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	samples->recording = recording;
	samples->names = names;
	samples->mapper = mapper;
	samples->runtimes = runtimes;
	samples->stacks_fd = stacks_fd;
	samples->parts = parts;
	*ret = TAKE(samples);
	return 0;
}

void samples__free(struct samples *samples)
{
	if (!samples)
		return;
	map__free_values(&samples->stacks);
	map__free_values(&samples->nodes);
	map__free_values(&samples->futexes);
	places__release(samples);
	naming__free(samples->naming);
	free(samples->variables);
	free(samples);
}

/* --- stacks that arrive ---------------------------------------------------------------------- */

static void note_use(struct seen *seen, uint64_t frame)
{
	uint32_t module = FRAME_MODULE(frame);

	if (!FRAME_IS_MODULE(frame) || seen->used_count == MOST_USED)
		return;
	for (int i = 0; i < seen->used_count; i++)
		if (seen->used[i] == module)
			return;
	seen->used[seen->used_count++] = module;
}

/* A frame of a runtime has two words. The last one must have both. */
static bool is_sound(const struct stack_record *record, const uint64_t *words)
{
	uint32_t at = 0;

	if (record->head.size != sizeof(*record) + record->count * sizeof(*words) ||
	    record->end >= STACK_END_COUNT)
		return false;
	while (at < record->count)
		at += 1 + FRAME_IS_RUNTIME(words[at]);
	return at == record->count;
}

static int find_frames(struct samples *samples, const struct stack_record *record,
		       const uint64_t *words, struct seen *seen)
{
	int err = 0;

	for (uint32_t i = 0; i < record->count && !err; i += 1 + FRAME_IS_RUNTIME(words[i])) {
		/* Kernel frames are return addresses: subtract 1 to get into the call. */
		bool is_return = i && FRAME_IS_KERNEL(words[i]);
		const uint64_t raw[2] = { words[i] - is_return,
					  FRAME_IS_RUNTIME(words[i]) ? words[i + 1] : 0 };

		note_use(seen, raw[0]);
		err = places__find(samples, raw, record->pid, &seen->frames[seen->count++]);
	}
	return err;
}

static int take_stack(struct samples *samples, const struct stack_record *record)
{
	const uint64_t *frames = (const void *)(record + 1);
	struct seen *seen;
	int err;

	if (!is_sound(record, frames)) {
		samples->quality.malformed++;
		return 0;
	}
	seen = map__get(&samples->stacks, record->hash);
	if (seen) {
		/* The kernel half no longer knew that it had sent the stack. */
		seen->used_ns = record->head.time_ns;
		seen->unsent_ns = 0;
		return 0;
	}
	seen = malloc(sizeof(*seen) + record->count * sizeof(*seen->frames));
	if (!seen)
		return -ENOMEM;
	seen->count = 0;
	seen->end = record->end;
	seen->how = record->how & (STACK_BY_ROWS | STACK_BY_FRAMES);
	seen->used_count = 0;
	seen->used_ns = record->head.time_ns;
	seen->unsent_ns = 0;
	err = find_frames(samples, record, frames, seen);
	if (!err)
		err = map__put(&samples->stacks, record->hash, seen);
	if (err)
		free(seen);
	return err;
}

/*
 * Replaces *id, a node, by the node of `frame` called by it. Creates that if it is new. Marks it as
 * used at now_ns.
 */
static int descend_to(struct samples *samples, const struct frame *frame, uint64_t now_ns,
		      int64_t *id)
{
	uint64_t key = map__mix(map__mix(0, (uint64_t)*id), (uint64_t)frame->id);
	struct node *node = map__get(&samples->nodes, key);
	int err = 0;

	if (!node) {
		node = calloc(1, sizeof(*node));
		if (!node || map__put(&samples->nodes, key, node)) {
			free(node);
			return -ENOMEM;
		}
		node->id = ++samples->last_node;
		err = recording__add_stack(samples->recording, node->id, *id, frame->id);
	}
	node->used_ns = now_ns;
	*id = node->id;
	return err;
}

/* Moves *id along a stack, from its outermost to its innermost frame. */
static int descend(struct samples *samples, struct seen *seen, uint64_t now_ns, int64_t *id)
{
	int err = 0;

	if (seen)
		seen->used_ns = now_ns;
	for (uint32_t i = seen ? seen->count : 0; i-- && !err;)
		err = descend_to(samples, seen->frames[i], now_ns, id);
	return err;
}

/* --- samples -------------------------------------------------------------------------------- */

static void note_tables_used(struct samples *samples, const struct seen *user)
{
	for (int i = 0; user && i < user->used_count; i++)
		mapper__used(samples->mapper, user->used[i]);
}

static const char *why_none(struct samples *samples, const struct sample_record *record,
			    const struct seen *user)
{
	if (user)
		return NULL;
	samples->quality.lost += !record->none || record->none == STACK_NONE_LOST;
	return none_words[record->none ? record->none : STACK_NONE_LOST];
}

/*
 * A futex that is a variable has a name. It must be located while the process exists. Tries up to
 * MOST_TRIES times, because the mappings may not be known yet.
 */
int samples__look_for_variable(struct samples *samples, const struct samples_variable *what)
{
	struct variable *variables;
	struct variable found = { .object = what->object,
				  .kind = what->kind,
				  .found_ns = what->time_ns };
	struct futex *futex = map__get(&samples->futexes, (uint64_t)what->object);
	uint32_t module;
	int err;

	if (!futex) {
		futex = calloc(1, sizeof(*futex));
		if (!futex || map__put(&samples->futexes, (uint64_t)what->object, futex)) {
			free(futex);
			return -ENOMEM;
		}
	}
	futex->used_ns = what->time_ns;
	if (futex->tries == MOST_TRIES)
		return 0;
	futex->tries++;
	if (!mapper__locate_variable(samples->mapper, what->pid, what->address, &module,
				     &found.address))
		return 0;
	variables = reallocarray(samples->variables, samples->variable_count + 1, sizeof(found));
	if (!variables)
		return -ENOMEM;
	samples->variables = variables;
	err = places__hold_file(samples, module, &found.code);
	if (err)
		return err;
	futex->tries = MOST_TRIES;
	variables[samples->variable_count++] = found;
	return 0;
}

static int name_wait(struct samples *samples, const struct sample_record *record,
		     struct recording_sample *sample)
{
	struct ledger_key key = {
		.thread = record->thread,
		.object = { record->object[0], record->object[1] },
		.by = record->by,
		.first = record->first,
		.slot = record->slot,
		.object_kind = record->object_kind,
		.by_kind = record->by_kind,
		.evidence = record->evidence,
		.pid = record->key_pid,
	};
	int err;

	if (!SLOT_IS_WAIT(record->slot))
		return 0;
	err = names__object(samples->names, &key, &sample->object);
	if (!err && key.object_kind == OBJECT_FUTEX && key.slot != SLOT_WAIT_GIL &&
	    key.slot != SLOT_WAIT_SAFEPOINT && !names__is_other(samples->names, sample->object))
		err = samples__look_for_variable(samples,
						 &(struct samples_variable) {
							 .object = sample->object,
							 .kind = states__object_kind(OBJECT_FUTEX),
							 .pid = record->pid,
							 .address = record->object[0],
							 .time_ns = record->head.time_ns,
						 });
	if (!err)
		err = names__culprit(samples->names, &key, &sample->by);
	sample->evidence = states__evidence(key.evidence);
	sample->ended = states__ended(record->ended);
	sample->turn = record->turn;
	sample->in_request = record->in_request;
	return err ? err : names__first_holder(samples->names, &key, &sample->first);
}

static int take_sample(struct samples *samples, const struct sample_record *record)
{
	struct seen *user = map__get(&samples->stacks, record->user);
	struct seen *kernel = map__get(&samples->stacks, record->kernel);
	uint64_t now_ns = record->head.time_ns;
	struct recording_sample sample = {
		.time_ns = (int64_t)record->head.time_ns,
		.thread = (int64_t)record->thread,
		.state = record->slot,
		.weight_ns = (int64_t)record->weight_ns,
		.wait_ns = (int64_t)record->wait_ns,
		.period_ns = (int64_t)record->period_ns,
		.count = record->count,
		.flags = record->flags,
		.cpu = record->cpu,
		.fiber = (int64_t)record->fiber,
		.window = (int64_t)record->window,
	};
	int err;

	if (record->slot >= SLOT_COUNT || record->none >= STACK_NONE_COUNT) {
		samples->quality.malformed++;
		return 0;
	}
	note_tables_used(samples, user);
	sample.none = why_none(samples, record, user);
	sample.end = user ? end_words[user->end] : NULL;
	sample.how = user ? how_words[user->how] : NULL;
	err = descend(samples, user, now_ns, &sample.stack);
	if (!err)
		err = descend(samples, kernel, now_ns, &sample.stack);
	if (!err)
		err = descend(samples, map__get(&samples->stacks, record->waker), now_ns,
			      &sample.waker_stack);
	if (!err)
		err = name_wait(samples, record, &sample);
	return err ? err : recording__add_sample(samples->recording, &sample);
}

static int take_fatal(struct samples *samples, const struct fatal_record *record)
{
	struct recording_fatal fatal = {
		.time_ns = (int64_t)record->head.time_ns,
		.thread = (int64_t)record->thread,
		.signal = record->signal,
		.code = record->code,
		.address = (int64_t)record->address,
	};
	int err = descend(samples, map__get(&samples->stacks, record->user), record->head.time_ns,
			  &fatal.stack);

	return err ? err : recording__add_fatal(samples->recording, &fatal);
}

static int take_drawn(struct samples *samples, const struct drawn_record *record)
{
	const struct signal *signal = NULL;
	struct recording_signal_sample sample = {
		.time_ns = (int64_t)record->head.time_ns,
		.thread = (int64_t)record->thread,
		.count = (int64_t)record->count,
		.bytes = (int64_t)record->bytes,
	};
	int err;

	for (const struct part *part = samples->parts; part->signal; part++)
		if (part->signal->number == record->signal)
			signal = part->signal;
	if (!signal) {
		samples->quality.malformed++;
		return 0;
	}
	sample.signal = signal->name;
	sample.operation = signal->operation ? signal->operation(record->operation) : NULL;
	err = descend(samples, map__get(&samples->stacks, record->user), record->head.time_ns,
		      &sample.stack);
	return err ? err : recording__add_signal_sample(samples->recording, &sample);
}

int samples__take(void *context, const struct wire_head *head)
{
	struct samples *samples = context;

	if (head->version == 1 && head->kind == STACK_FRAMES &&
	    head->size >= sizeof(struct stack_record))
		return take_stack(samples, (const void *)head);
	if (head->version == 1 && head->kind == STACK_FATAL &&
	    head->size == sizeof(struct fatal_record))
		return take_fatal(samples, (const void *)head);
	if (head->version == 1 && head->kind == STACK_DRAWN &&
	    head->size == sizeof(struct drawn_record))
		return take_drawn(samples, (const void *)head);
	if (head->version == 1 &&
	    ((head->kind == STACK_SAMPLE && head->size == sizeof(struct sample_record)) ||
	     (head->kind == STACK_ASLEEP && head->size == sizeof(struct asleep_record))))
		return take_sample(samples, (const void *)head);
	samples->quality.malformed++;
	return 0;
}

int samples__find(struct samples *samples, uint64_t hash, uint64_t time_ns, int64_t *ret)
{
	struct seen *user = map__get(&samples->stacks, hash);
	int64_t id = 0;
	int err;

	samples->quality.lost += !user;
	note_tables_used(samples, user);
	err = descend(samples, user, time_ns, &id);
	if (!err)
		*ret = id;
	return err;
}

struct samples_quality samples__quality(const struct samples *samples)
{
	return samples->quality;
}
