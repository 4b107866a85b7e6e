/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/fiber_stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "stacks/walker.h"

#define PART_BYTES 1024 /* of each stack that is read */
#define PART_WORDS (PART_BYTES / sizeof(uint64_t))
#define SOME       256 /* that are read at once */
#define MOST_KNOWN (1U << 17)
#define SEED_PLACE UINT64_C(0x9e3779b97f4a7c15) /* apart from the hashes of walks */

/* What is known of stacks with the same innermost part. */
struct known {
	uint64_t hash;
	bool is_deep; /* the stack goes on behind that part, or was not walked by rows alone */
};

/* The two words that tell whether a goroutine has moved. */
struct saved {
	uint64_t sp, pc;
};

struct fiber_stacks {
	struct fiber_stacks_options options;
	struct walker *walker;
	struct map known; /* by key_of(), and by own_key() */
	uint64_t left_ns; /* for walks of this reading */
	struct fiber_stacks_quality quality;
	/* Of one batch: */
	uint64_t parts[SOME][PART_WORDS];
	struct saved saved[SOME];
	bool is_read[SOME];
	struct iovec remote[SOME];
	struct unwind walk;
};

DEFINE_CLEANUP(struct fiber_stacks *, fiber_stacks__free)

int fiber_stacks__new(const struct fiber_stacks_options *options, struct fiber_stacks **ret)
{
	cleanup(fiber_stacks__free_p) struct fiber_stacks *stacks = calloc(1, sizeof(*stacks));
	int err;

	if (!stacks)
		return -ENOMEM;
	stacks->options = *options;
	err = walker__new(options->processes_fd, options->pages_fd, &stacks->walker);
	if (err)
		return err;
	*ret = TAKE(stacks);
	return 0;
}

void fiber_stacks__free(struct fiber_stacks *stacks)
{
	if (!stacks)
		return;
	fiber_stacks__forget(stacks);
	walker__free(stacks->walker);
	free(stacks);
}

void fiber_stacks__forget(struct fiber_stacks *stacks)
{
	map__free_values(&stacks->known);
	stacks->known = (struct map) {};
}

void fiber_stacks__begin(struct fiber_stacks *stacks, uint64_t most_ns)
{
	walker__refresh(stacks->walker);
	stacks->left_ns = most_ns;
	if (stacks->known.count > MOST_KNOWN)
		fiber_stacks__forget(stacks);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads `bytes` at each address of stacks->remote. What cannot be read is passed over. */
static void read_each(struct fiber_stacks *stacks, uint32_t pid, void *to, size_t bytes,
		      size_t count)
{
	size_t done = 0;

	memset(stacks->is_read, 0, sizeof(stacks->is_read));
	while (done < count) {
		struct iovec local = { (char *)to + done * bytes, (count - done) * bytes };
		ssize_t size = process_vm_readv((pid_t)pid, &local, 1, stacks->remote + done,
						count - done, 0);
		size_t whole = size > 0 ? (size_t)size / bytes : 0;

		if (size < 0 && errno != EFAULT)
			return;
		for (size_t i = 0; i < whole; i++)
			stacks->is_read[done + i] = true;
		done += whole + 1;
	}
}

/* Hashes what may be return addresses, and where they are. */
static uint64_t key_of(uint32_t pid, uint64_t pc, const uint64_t *part, uint64_t begin,
		       uint64_t end)
{
	uint64_t key = map__mix(map__mix(0, pid), pc);

	for (size_t i = 0; i < PART_WORDS; i++)
		if (part[i] - begin < end - begin)
			key = map__mix(map__mix(key, i), part[i]);
	return key;
}

static uint64_t own_key(uint64_t key, const struct runtime_fiber *fiber)
{
	return map__mix(map__mix(key, fiber->id), fiber->sp);
}

/* --- walking ---------------------------------------------------------------------------------- */

static int send(struct fiber_stacks *stacks, struct unwind *walk)
{
	walk->record = (struct stack_record) {
		.head = { .time_ns = clock__now_ns(),
			  .size = (uint32_t)(sizeof(walk->record) +
					     walk->count * sizeof(*walk->frames)),
			  .kind = STACK_FRAMES,
			  .version = 1 },
		.hash = walk->hash,
		.pid = walk->pid,
		.count = (uint16_t)walk->count,
		.how = walk->how,
		.end = walk->end,
	};
	return samples__take(stacks->options.samples, &walk->record.head);
}

static int keep(struct fiber_stacks *stacks, uint64_t key, uint64_t hash, bool is_deep)
{
	struct known *known = map__get(&stacks->known, key);

	if (!known) {
		known = malloc(sizeof(*known));
		if (!known || map__put(&stacks->known, key, known)) {
			free(known);
			return -ENOMEM;
		}
	}
	*known = (struct known) { hash, is_deep };
	return 0;
}

static void ask_for(const struct fiber_stacks *stacks)
{
	if (stacks->walk.need == UNWIND_NEED_PROCESS)
		mapper__watch(stacks->options.mapper, (pid_t)stacks->walk.need_id);
	else
		mapper__want(stacks->options.mapper, stacks->walk.need_id);
}

/* Whether the goroutine is where it was when its g was read. */
static bool is_still_there(struct fiber_stacks *stacks, uint32_t pid,
			   const struct runtime_fiber *fiber)
{
	struct saved saved;
	struct iovec local = { &saved, sizeof(saved) };
	struct iovec remote = { (void *)(uintptr_t)fiber->saved_at, sizeof(saved) };

	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == sizeof(saved) &&
	       saved.sp == fiber->sp && saved.pc - fiber->pc <= 1;
}

/* *ret stays 0 if the walk fails, tables are missing, or the goroutine goes on meanwhile. */
static int walk_one(struct fiber_stacks *stacks, uint32_t pid, const struct runtime_fiber *fiber,
		    uint64_t key, uint64_t *ret)
{
	const struct walker_registers registers = { .pc = fiber->pc,
						    .sp = fiber->sp,
						    .bp = fiber->bp };
	struct unwind *walk = &stacks->walk;
	bool is_deep;
	int err;

	walker__walk(stacks->walker, pid, &registers, walk);
	stacks->quality.walked++;
	if (walk->need) {
		ask_for(stacks);
		return 0;
	}
	if (!walk->count || !is_still_there(stacks, pid, fiber))
		return 0;
	err = send(stacks, walk);
	is_deep = walk->sp - fiber->sp > PART_BYTES || walk->how != STACK_BY_ROWS ||
		  walk->end != STACK_END_ROOT;
	if (!err)
		err = keep(stacks, key, walk->hash, is_deep);
	if (!err && is_deep)
		err = keep(stacks, own_key(key, fiber), walk->hash, false);
	if (!err)
		*ret = walk->hash;
	return err;
}

static int find_one(struct fiber_stacks *stacks, uint32_t pid, const struct runtime_fiber *fiber,
		    uint64_t key, uint64_t *ret)
{
	const struct known *known = map__get(&stacks->known, key);
	uint64_t began_ns, spent_ns;
	int err;

	if (known && known->is_deep)
		known = map__get(&stacks->known, own_key(key, fiber));
	if (known) {
		*ret = known->hash;
		return 0;
	}
	if (!stacks->left_ns) {
		stacks->quality.late++;
		return 0;
	}
	began_ns = clock__now_ns();
	err = walk_one(stacks, pid, fiber, key, ret);
	spent_ns = clock__now_ns() - began_ns;
	stacks->left_ns -= spent_ns < stacks->left_ns ? spent_ns : stacks->left_ns;
	return err;
}

/* --- a batch ---------------------------------------------------------------------------------- */

struct batch {
	uint32_t pid;
	size_t count;
	const struct runtime_fiber *fibers[SOME];
	uint64_t *hashes[SOME];
};

static int find_batch(struct fiber_stacks *stacks, const struct batch *batch)
{
	uint64_t begin = 0, end = 0;
	int err = 0;

	for (size_t i = 0; i < batch->count; i++)
		stacks->remote[i] =
			(struct iovec) { (void *)(uintptr_t)batch->fibers[i]->sp, PART_BYTES };
	read_each(stacks, batch->pid, stacks->parts, PART_BYTES, batch->count);
	for (size_t i = 0; i < batch->count && !err; i++) {
		const struct runtime_fiber *fiber = batch->fibers[i];

		if (fiber->pc - begin >= end - begin &&
		    !walker__find_code(stacks->walker, batch->pid, fiber->pc, &begin, &end))
			begin = end = 0;
		if (stacks->is_read[i] && end)
			err = find_one(stacks, batch->pid, fiber,
				       key_of(batch->pid, fiber->pc, stacks->parts[i], begin, end),
				       batch->hashes[i]);
	}
	if (err)
		return err;
	for (size_t i = 0; i < batch->count; i++)
		stacks->remote[i] = (struct iovec) { (void *)(uintptr_t)batch->fibers[i]->saved_at,
						     sizeof(struct saved) };
	read_each(stacks, batch->pid, stacks->saved, sizeof(struct saved), batch->count);
	for (size_t i = 0; i < batch->count; i++) {
		const struct runtime_fiber *fiber = batch->fibers[i];

		if (stacks->is_read[i] && stacks->saved[i].sp == fiber->sp &&
		    stacks->saved[i].pc - fiber->pc <= 1)
			continue;
		stacks->quality.moved++;
		*batch->hashes[i] = 0;
	}
	return 0;
}

int fiber_stacks__find(struct fiber_stacks *stacks, uint32_t pid,
		       const struct runtime_fibers *fibers, size_t start, uint64_t *ret)
{
	struct batch batch = { .pid = pid };
	int err = 0;

	memset(ret, 0, fibers->count * sizeof(*ret));
	for (size_t n = 0; n < fibers->count && !err; n++) {
		size_t i = (start + n) % fibers->count;
		const struct runtime_fiber *fiber = &fibers->list[i];

		if (fiber->state != FIBER_RUNNING && fiber->pc && fiber->sp) {
			batch.fibers[batch.count] = fiber;
			batch.hashes[batch.count++] = &ret[i];
		}
		if (batch.count < SOME)
			continue;
		err = find_batch(stacks, &batch);
		batch.count = 0;
	}
	return err || !batch.count ? err : find_batch(stacks, &batch);
}

int fiber_stacks__place(struct fiber_stacks *stacks, uint32_t pid, uint64_t address, uint64_t *ret)
{
	struct unwind *walk = &stacks->walk;
	uint64_t in_file;
	uint32_t module;
	int err;

	*ret = 0;
	if (!address || !mapper__locate(stacks->options.mapper, pid, address, &module, &in_file))
		return 0;
	walk->frames[0] = FRAME_MAKE(module, in_file);
	walk->count = 1;
	walk->pid = pid;
	walk->how = STACK_BY_ROWS;
	walk->end = STACK_END_ROOT;
	walk->hash = map__mix(SEED_PLACE, walk->frames[0]) | 1;
	err = send(stacks, walk);
	if (!err)
		*ret = walk->hash;
	return err;
}

struct fiber_stacks_quality fiber_stacks__quality(const struct fiber_stacks *stacks)
{
	return stacks->quality;
}
