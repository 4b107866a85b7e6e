/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/asleep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/holders.h"
#include "stacks/walker.h"

#define DEADLINE_NS UINT64_C(1000000000)
#define PAUSE_US    2000

struct asleep {
	const struct ledger *ledger;
	struct mapper *mapper;
	struct samples *samples;
	struct walker *walker;
	struct asleep_record *records;
	size_t count, size;
	struct unwind walk;
};

DEFINE_CLEANUP(struct walker *, walker__free)

/* Only stores the record: its kernel stack may still be in the ring. */
static int keep(void *context, const struct wire_head *head)
{
	struct asleep *asleep = context;
	const struct asleep_record *record = (const void *)head;
	struct asleep_record *grown;

	if (head->kind != STACK_ASLEEP || head->size != sizeof(*record))
		return -EBADMSG;
	if (asleep->count == asleep->size) {
		size_t size = asleep->size ? asleep->size * 2 : 256;

		grown = reallocarray(asleep->records, size, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		asleep->records = grown;
		asleep->size = size;
	}
	asleep->records[asleep->count++] = *record;
	return 0;
}

/* Whether SP and PC are unchanged. The file has "NUMBER ARGUMENTS… SP PC", or "running". */
static bool is_still_there(const struct asleep_record *record)
{
	cleanup(fclose_p) FILE *file = NULL;
	char path[64], line[256], *last, *before;

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall",
		 record->sample.pid, record->sample.tid);
	file = fopen(path, "re");
	if (!file || !fgets(line, sizeof(line), file))
		return false;
	last = strrchr(line, ' ');
	if (!last)
		return false;
	*last++ = '\0';
	before = strrchr(line, ' ');
	return before && strtoull(before + 1, NULL, 0) == record->sp &&
	       strtoull(last, NULL, 0) == record->pc;
}

static void walk_one(struct asleep *asleep, const struct asleep_record *record)
{
	const struct walker_registers registers = {
		.pc = record->pc - !!record->in_call, /* pc is behind the syscall instruction */
		.sp = record->sp,
		.bp = record->bp,
		.link = record->link,
		.thread_pointer = record->thread_pointer,
	};

	walker__walk(asleep->walker, record->sample.pid, &registers, &asleep->walk);
}

static void ask_for(struct asleep *asleep)
{
	if (asleep->walk.need == UNWIND_NEED_PROCESS)
		mapper__watch(asleep->mapper, (pid_t)asleep->walk.need_id);
	else
		mapper__want(asleep->mapper, asleep->walk.need_id);
}

/* Gives the sample of an open wait the same culprit as the sum of waits. */
static void find_holder(const struct asleep *asleep, struct sample_record *sample)
{
	struct ledger_key wait = {
		.thread = sample->thread,
		.object = { sample->object[0], sample->object[1] },
		.object_kind = sample->object_kind,
		.evidence = sample->evidence,
		.pid = sample->key_pid,
	};

	if (sample->ended != ENDED_OPEN || sample->evidence != EVIDENCE_NONE)
		return;
	holders__find(asleep->ledger, sample->pid, sample->tid, &wait);
	sample->by = wait.by;
	sample->by_kind = wait.by_kind;
	sample->evidence = wait.evidence;
}

/* Passes stack and sample on in the format of the kernel half. */
static int send(struct asleep *asleep, struct asleep_record *record)
{
	struct unwind *walk = &asleep->walk;
	int err = 0;

	find_holder(asleep, &record->sample);
	if (walk->count && is_still_there(record)) {
		walk->record = (struct stack_record) {
			.head = { .size = (uint32_t)(sizeof(walk->record) +
						     walk->count * sizeof(*walk->frames)),
				  .kind = STACK_FRAMES,
				  .version = 1 },
			.hash = walk->hash,
			.pid = walk->pid,
			.count = (uint16_t)walk->count,
			.how = walk->how,
			.end = walk->end,
		};
		err = samples__take(asleep->samples, &walk->record.head);
		record->sample.user = walk->hash;
		record->sample.none = STACK_TAKEN;
		record->sample.fiber = walk->fiber;
	}
	return err ? err : samples__take(asleep->samples, &record->sample.head);
}

/* Tries each remaining record once. With `last`, sends all of them, with or without a stack. */
static int walk_all(struct asleep *asleep, uint64_t until_ns, bool last)
{
	size_t left = 0;
	int err = 0;

	walker__refresh(asleep->walker);
	for (size_t i = 0; i < asleep->count && !err; i++) {
		struct asleep_record *record = &asleep->records[i];

		asleep->walk.count = 0;
		asleep->walk.need = 0;
		if (record->sample.none == STACK_NONE_ASLEEP && record->pc &&
		    clock__now_ns() < until_ns)
			walk_one(asleep, record);
		if (asleep->walk.need && !last) {
			ask_for(asleep);
			asleep->records[left++] = *record;
		} else {
			err = send(asleep, record);
		}
	}
	asleep->count = left;
	return err;
}

int asleep__take(struct ledger *ledger, struct mapper *mapper, struct samples *samples)
{
	struct ledger_tables tables = ledger__tables(ledger);
	cleanup(walker__free_p) struct walker *walker = NULL;
	cleanup(free_p) struct asleep *asleep = calloc(1, sizeof(*asleep));
	uint64_t until_ns = clock__now_ns() + DEADLINE_NS;
	int err;

	if (!asleep)
		return -ENOMEM;
	err = walker__new(tables.processes_fd, tables.pages_fd, &walker);
	asleep->ledger = ledger;
	asleep->mapper = mapper;
	asleep->samples = samples;
	asleep->walker = walker;
	if (!err)
		err = ledger__asleep(ledger, keep, asleep);
	while (!err && (err = ledger__poll(ledger, 0)) > 0)
		err = 0;
	while (!err && asleep->count && clock__now_ns() < until_ns) {
		err = walk_all(asleep, until_ns, false);
		if (asleep->count)
			usleep(PAUSE_US);
	}
	if (!err)
		err = walk_all(asleep, clock__now_ns() + DEADLINE_NS / 4, true);
	free(asleep->records);
	return err;
}
