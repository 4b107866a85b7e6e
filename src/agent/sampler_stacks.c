/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack arrives once, under the kernel half's hash, which contains module numbers of this host.
 * Its frames become (module, offset) pairs at once, while the modules still have these numbers. A
 * sample names a user stack and a kernel stack; the stack of the minute is both, one above the
 * other.
 *
 * A stack with files that the supervisor did not name in time is kept without their names, and is
 * deleted from the kernel half's map in each step, so that it is sent again and takes its place.
 *
 * A stack is forgotten in two steps, because samples of it may be in the ring. First it is deleted
 * from the kernel half's map, so that it is sent again; a minute later, it goes. Its modules go
 * after it.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler_internal.h"
#include "base/clock.h"
#include "bpf/stack.h"

#define MINUTE_NS      UINT64_C(60000000000)
#define MOST_SEEN      12288
#define STACK_IDLE_NS  (5 * MINUTE_NS)
#define MODULE_IDLE_NS (10 * MINUTE_NS)

/* --- stacks that arrive ----------------------------------------------------------------------- */

static void note_use(struct sampler_scratch *scratch, struct code_module *module)
{
	for (uint32_t i = 0; i < scratch->used_count; i++)
		if (scratch->used[i] == module)
			return;
	scratch->used[scratch->used_count++] = module;
}

/* Code without a file is one frame, however many of it follow each other. */
static void add_frame(struct sampler *sampler, uint64_t frame, bool is_unmapped)
{
	struct sampler_scratch *scratch = &sampler->scratch;
	uint64_t offset = 0;
	struct code_module *module = is_unmapped
					     ? code_client__unmapped(sampler->client)
					     : code_client__find(sampler->client, frame, &offset);

	if (!offset && scratch->count && scratch->modules[scratch->count - 1] == module->hash &&
	    !scratch->offsets[scratch->count - 1])
		return;
	note_use(scratch, module);
	scratch->is_partial |= module->is_late;
	scratch->modules[scratch->count] = module->hash;
	scratch->offsets[scratch->count++] = offset;
}

static struct sampler_seen *keep(const struct sampler_scratch *scratch)
{
	size_t bytes = scratch->count * sizeof(uint64_t);
	size_t used_bytes = scratch->used_count * sizeof(*scratch->used);
	struct sampler_seen *seen = calloc(1, sizeof(*seen) + 2 * bytes + used_bytes);

	if (!seen)
		return NULL;
	seen->count = scratch->count;
	seen->used_count = scratch->used_count;
	seen->is_partial = scratch->is_partial;
	seen->is_unmapped = scratch->is_unmapped;
	seen->modules = memcpy(seen->room, scratch->modules, bytes);
	seen->offsets = memcpy(seen->room + seen->count, scratch->offsets, bytes);
	seen->used = memcpy(seen->room + (size_t)2 * seen->count, scratch->used, used_bytes);
	return seen;
}

/*
 * The first stacks of a process, in a minute that is chosen after one that was not, come before its
 * mappings are known. They have plain addresses only, which may be wrong beyond the first.
 */
static bool is_unmapped(const struct stack_record *record)
{
	const uint64_t *frames = (const void *)(record + 1);

	if (record->end != STACK_END_NOT_READY)
		return false;
	for (uint32_t i = 0; i < record->count; i++)
		if (FRAME_IS_MODULE(frames[i]) || FRAME_IS_KERNEL(frames[i]))
			return false;
	return true;
}

static struct sampler_seen *make_seen(struct sampler *sampler, const struct stack_record *record)
{
	const uint64_t *frames = (const void *)(record + 1);

	sampler->scratch.count = sampler->scratch.used_count = 0;
	sampler->scratch.is_partial = false;
	sampler->scratch.is_unmapped = is_unmapped(record);
	for (uint32_t i = 0; i < record->count; i++) {
		/* Kernel frames are return addresses: subtract 1 to get into the call. */
		bool is_return = i && FRAME_IS_KERNEL(frames[i]);

		add_frame(sampler, frames[i] - is_return, sampler->scratch.is_unmapped);
	}
	return keep(&sampler->scratch);
}

void sampler__use_stack(struct sampler *sampler, struct sampler_seen *seen, uint64_t now_ns)
{
	seen->used_ns = now_ns;
	for (uint32_t i = 0; i < seen->used_count; i++)
		code_client__use(sampler->client, seen->used[i], now_ns);
}

/* Also in place of one that had no names. */
static int put(struct sampler *sampler, const struct stack_record *record)
{
	struct sampler_seen *before = map__get(&sampler->seen, record->hash);
	struct sampler_seen *seen = make_seen(sampler, record);

	if (!seen || map__put(&sampler->seen, record->hash, seen)) {
		free(seen);
		return -ENOMEM;
	}
	free(before);
	sampler->has_partial |= seen->is_partial;
	sampler__use_stack(sampler, seen, clock__now_ns());
	return 0;
}

int sampler__take_stack(struct sampler *sampler, const struct stack_record *record)
{
	struct sampler_seen *seen = map__get(&sampler->seen, record->hash);

	if (record->count > STACK_MOST_FRAMES ||
	    record->head.size != sizeof(*record) + record->count * sizeof(uint64_t)) {
		sampler->quality.malformed++;
		return 0;
	}
	if (seen && !seen->is_partial) {
		seen->unsent_ns = 0;
		sampler__use_stack(sampler, seen, clock__now_ns());
		return 0;
	}
	if (!seen && sampler->seen.count >= MOST_SEEN) {
		/* Let it come again when others are forgotten. */
		(void)bpf_map_delete_elem(sampler->stacks_fd, &record->hash);
		return 0;
	}
	return put(sampler, record);
}

static bool has_gone(const struct sampler_seen *seen)
{
	for (uint32_t i = 0; i < seen->used_count; i++)
		if (seen->used[i]->is_gone)
			return true;
	return false;
}

/* Never removes anything. */
static bool is_asked_again(void *context, uint64_t hash, void *value)
{
	struct sampler_seen *seen = value;
	struct sampler *sampler = context;

	seen->is_partial |= has_gone(seen);
	if (seen->is_partial) {
		(void)bpf_map_delete_elem(sampler->stacks_fd, &hash);
		sampler->has_partial = true;
	}
	return false;
}

void sampler__ask_again(struct sampler *sampler)
{
	uint64_t gone = code_client__gone(sampler->client);

	if (!sampler->has_partial && gone == sampler->gone)
		return;
	sampler->gone = gone;
	sampler->has_partial = false;
	map__sweep(&sampler->seen, is_asked_again, sampler);
}

/* --- stacks that are forgotten ---------------------------------------------------------------- */

struct forget {
	struct sampler *sampler;
	uint64_t now_ns;
};

static bool is_idle(void *context, uint64_t hash, void *value)
{
	const struct forget *forget = context;
	struct sampler_seen *seen = value;
	uint64_t idle_ns = forget->now_ns > seen->used_ns ? forget->now_ns - seen->used_ns : 0;

	if (idle_ns < STACK_IDLE_NS)
		return false;
	if (!seen->unsent_ns)
		(void)bpf_map_delete_elem(forget->sampler->stacks_fd, &hash);
	/* Never later than its modules go. */
	if ((seen->unsent_ns && seen->unsent_ns != forget->now_ns) || idle_ns >= MODULE_IDLE_NS) {
		free(seen);
		return true;
	}
	seen->unsent_ns = forget->now_ns;
	return false;
}

void sampler__forget_stacks(struct sampler *sampler, uint64_t now_ns)
{
	struct forget forget = { sampler, now_ns };

	map__sweep(&sampler->seen, is_idle, &forget);
	if (sampler->client && now_ns > MODULE_IDLE_NS)
		code_client__forget(sampler->client, now_ns - MODULE_IDLE_NS);
}
