/*
 * Frames, stacks and functions get small numbers in the order in which they are first seen. A stack
 * is a node of a tree (its frame, called by its parent's), so stacks share what they have in
 * common, on disk and in memory, and a flame graph is a walk over the table.
 *
 * A sample's stack is its user stack with its kernel stack on top.
 */
#include "record/samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
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

/* Files that a stack goes through, so many of them: their rows are still of use. */
#define MOST_USED 16

/* A stack whose frames arrived. */
struct seen {
	uint32_t count;
	uint8_t end, how;
	uint8_t used_count;
	uint32_t used[MOST_USED];
	uint32_t frames[]; /* ids, innermost first */
};

int samples__new(struct recording *recording, struct names *names, struct mapper *mapper,
		 struct samples **ret)
{
	cleanup(samples__free_p) struct samples *samples = calloc(1, sizeof(*samples));

	if (!samples)
		return -ENOMEM;
	samples->recording = recording;
	samples->names = names;
	samples->mapper = mapper;
	*ret = TAKE(samples);
	return 0;
}

void samples__free(struct samples *samples)
{
	size_t at = 0;
	void *seen;

	if (!samples)
		return;
	while ((seen = map__next(&samples->stacks, &at)))
		free(seen);
	map__release(&samples->stacks);
	map__release(&samples->modules);
	map__release(&samples->frame_ids);
	map__release(&samples->nodes);
	map__release(&samples->jits);
	map__release(&samples->futexes);
	naming__free(samples->naming);
	free(samples->frames);
	free(samples->variables);
	free(samples);
}

/* --- modules and frames --------------------------------------------------------------------- */

/* Written when the first frame in it is seen. */
static int need_module(struct samples *samples, const struct recording_module *module)
{
	if (map__get(&samples->modules, (uint64_t)module->id))
		return 0;
	if (map__put(&samples->modules, (uint64_t)module->id, samples))
		return -ENOMEM;
	return recording__add_module(samples->recording, module);
}

static int need_file(struct samples *samples, uint32_t id)
{
	struct mapper_module module;

	if (map__get(&samples->modules, id))
		return 0;
	if (mapper__module(samples->mapper, id, &module))
		module = (struct mapper_module) { .path = "[unknown]" };
	return need_module(samples, &(struct recording_module) {
					    .id = id,
					    .kind = module.is_vdso ? "vdso" : "file",
					    .path = module.path,
					    .build_id = module.build_id,
				    });
}

/* Code of one process that is in no file: what its compiler made at run time. */
static int need_jit(struct samples *samples, uint32_t pid, int64_t *ret)
{
	uintptr_t number = (uintptr_t)map__get(&samples->jits, pid);
	char path[32];

	if (!number) {
		number = samples->jits.count + 1;
		if (map__put(&samples->jits, pid, (void *)number))
			return -ENOMEM;
	}
	*ret = MODULE_KERNEL - (int64_t)number;
	snprintf(path, sizeof(path), "[jit %" PRIu32 "]", pid);
	return need_module(samples,
			   &(struct recording_module) { .id = *ret, .kind = "jit", .path = path });
}

static int need_place(struct samples *samples, const struct place *place)
{
	if (place->module == MODULE_KERNEL)
		return need_module(samples, &(struct recording_module) { .id = MODULE_KERNEL,
									 .kind = "kernel",
									 .path = "[kernel]" });
	return place->module > 0 ? need_file(samples, (uint32_t)place->module) : 0;
}

static int find_place(struct samples *samples, uint64_t frame, uint32_t pid, struct place *ret)
{
	uint32_t module;
	uint64_t address;

	*ret = (struct place) { .address = frame, .pid = pid };
	if (FRAME_IS_KERNEL(frame)) {
		ret->module = MODULE_KERNEL;
	} else if (FRAME_IS_MODULE(frame)) {
		ret->module = FRAME_MODULE(frame);
		ret->address = FRAME_ADDRESS(frame);
	} else if (mapper__locate(samples->mapper, pid, frame, &module, &address)) {
		ret->module = module;
		ret->address = address;
	} else {
		return need_jit(samples, pid, &ret->module);
	}
	return need_place(samples, ret);
}

static int add_place(struct samples *samples, const struct place *place)
{
	struct place *grown;

	if (samples->frame_count == samples->frame_size) {
		size_t size = samples->frame_size ? samples->frame_size * 2 : 1024;

		grown = reallocarray(samples->frames, size, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		samples->frames = grown;
		samples->frame_size = size;
	}
	samples->frames[samples->frame_count++] = *place;
	return recording__add_frame(samples->recording, (int64_t)samples->frame_count,
				    place->module, (int64_t)place->address);
}

/* Two 64-bit halves into one key: with so few of them, a clash is out of the question. */
static uint64_t mix(uint64_t a, uint64_t b)
{
	a = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);
	a = (a ^ a >> 32 ^ b << 1) * UINT64_C(0xd6e8feb86659fd93);
	return a ^ a >> 29;
}

static int frame_id(struct samples *samples, uint64_t frame, uint32_t pid, uint32_t *ret)
{
	bool is_plain = !FRAME_IS_KERNEL(frame) && !FRAME_IS_MODULE(frame);
	uint64_t key = is_plain ? mix(frame, pid) : frame;
	uintptr_t id = (uintptr_t)map__get(&samples->frame_ids, key);
	struct place place;
	int err;

	if (!id) {
		err = find_place(samples, frame, pid, &place);
		if (!err)
			err = add_place(samples, &place);
		if (err)
			return err;
		id = samples->frame_count;
		if (map__put(&samples->frame_ids, key, (void *)id))
			return -ENOMEM;
	}
	*ret = (uint32_t)id;
	return 0;
}

/* --- stacks --------------------------------------------------------------------------------- */

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

static int take_stack(struct samples *samples, const struct stack_record *record)
{
	const uint64_t *frames = (const void *)(record + 1);
	struct seen *seen;
	int err = 0;

	if (record->head.size != sizeof(*record) + record->count * sizeof(*frames) ||
	    record->end >= STACK_END_COUNT) {
		samples->quality.malformed++;
		return 0;
	}
	if (map__get(&samples->stacks, record->hash))
		return 0; /* the kernel half forgot that it had sent it */
	seen = malloc(sizeof(*seen) + record->count * sizeof(*seen->frames));
	if (!seen)
		return -ENOMEM;
	seen->count = record->count;
	seen->end = record->end;
	seen->how = record->how & (STACK_BY_ROWS | STACK_BY_FRAMES);
	seen->used_count = 0;
	for (uint32_t i = 0; i < seen->count && !err; i++) {
		/* The kernel reports return addresses as they are; the call is before them. */
		bool is_return = i && FRAME_IS_KERNEL(frames[i]);

		note_use(seen, frames[i]);
		err = frame_id(samples, frames[i] - is_return, record->pid, &seen->frames[i]);
	}
	if (!err)
		err = map__put(&samples->stacks, record->hash, seen);
	if (err)
		free(seen);
	return err;
}

/* The node of `frame` called by `parent`, made if it is new. */
static int child(struct samples *samples, uint32_t parent, uint32_t frame, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uintptr_t id = (uintptr_t)map__get(&samples->nodes, key);
	int err = 0;

	if (!id) {
		id = samples->nodes.count + 1;
		if (map__put(&samples->nodes, key, (void *)id))
			return -ENOMEM;
		err = recording__add_stack(samples->recording, (int64_t)id, parent, frame);
	}
	*ret = (uint32_t)id;
	return err;
}

static int descend(struct samples *samples, const struct seen *seen, uint32_t *node)
{
	int err = 0;

	for (uint32_t i = seen ? seen->count : 0; i-- && !err;)
		err = child(samples, *node, seen->frames[i], node);
	return err;
}

/* --- samples -------------------------------------------------------------------------------- */

static const char *why_none(struct samples *samples, const struct sample_record *record,
			    const struct seen *user)
{
	if (user)
		return NULL;
	samples->quality.lost += !record->none || record->none == STACK_NONE_LOST;
	return none_words[record->none ? record->none : STACK_NONE_LOST];
}

/*
 * A lock that is a variable has a name. It is looked for while the process is there: not the first
 * time only, since its mappings may not be known yet then.
 */
static int look_for_futex(struct samples *samples, const struct sample_record *record,
			  int64_t object)
{
	uintptr_t tries = (uintptr_t)map__get(&samples->futexes, (uint64_t)object);
	struct variable *variables, found = { .object = object, .place.pid = record->pid };
	uint32_t module;

	if (tries == MOST_TRIES)
		return 0;
	if (!mapper__locate_variable(samples->mapper, record->pid, record->object[0], &module,
				     &found.place.address))
		return map__put(&samples->futexes, (uint64_t)object, (void *)(tries + 1));
	variables = reallocarray(samples->variables, samples->variable_count + 1, sizeof(found));
	if (!variables)
		return -ENOMEM;
	found.place.module = module;
	variables[samples->variable_count++] = found;
	samples->variables = variables;
	return map__put(&samples->futexes, (uint64_t)object, (void *)(uintptr_t)MOST_TRIES);
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
	if (!err && key.object_kind == OBJECT_FUTEX &&
	    !names__is_other(samples->names, sample->object))
		err = look_for_futex(samples, record, sample->object);
	if (!err)
		err = names__culprit(samples->names, &key, &sample->by);
	sample->evidence = states__evidence(key.evidence);
	return err ? err : names__first_holder(samples->names, &key, &sample->first);
}

static int take_sample(struct samples *samples, const struct sample_record *record)
{
	const struct seen *user = map__get(&samples->stacks, record->user);
	const struct seen *kernel = map__get(&samples->stacks, record->kernel);
	struct recording_sample sample = {
		.time_ns = (int64_t)record->head.time_ns,
		.thread = (int64_t)record->thread,
		.state = record->slot,
		.weight_ns = (int64_t)record->weight_ns,
		.wait_ns = (int64_t)record->wait_ns,
		.period_ns = (int64_t)record->period_ns,
		.count = record->count,
		.flags = record->flags,
	};
	uint32_t node = 0, waker = 0;
	int err;

	if (record->slot >= SLOT_COUNT || record->none >= STACK_NONE_COUNT) {
		samples->quality.malformed++;
		return 0;
	}
	for (int i = 0; user && i < user->used_count; i++)
		mapper__used(samples->mapper, user->used[i]);
	sample.none = why_none(samples, record, user);
	sample.end = user ? end_words[user->end] : NULL;
	sample.how = user ? how_words[user->how] : NULL;
	err = descend(samples, user, &node);
	if (!err)
		err = descend(samples, kernel, &node);
	if (!err)
		err = descend(samples, map__get(&samples->stacks, record->waker), &waker);
	if (!err)
		err = name_wait(samples, record, &sample);
	sample.stack = node;
	sample.waker_stack = waker;
	return err ? err : recording__add_sample(samples->recording, &sample);
}

int samples__take(void *context, const struct wire_head *head)
{
	struct samples *samples = context;

	if (head->version == 1 && head->kind == STACK_FRAMES &&
	    head->size >= sizeof(struct stack_record))
		return take_stack(samples, (const void *)head);
	if (head->version == 1 &&
	    ((head->kind == STACK_SAMPLE && head->size == sizeof(struct sample_record)) ||
	     (head->kind == STACK_ASLEEP && head->size == sizeof(struct asleep_record))))
		return take_sample(samples, (const void *)head);
	samples->quality.malformed++;
	return 0;
}

struct samples_quality samples__quality(const struct samples *samples)
{
	return samples->quality;
}
