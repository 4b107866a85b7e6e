/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/locks/locks.h"

#include <errno.h>
#include <stdio.h>

#include "core/series.h"
#include "core/signal.h"
#include "vocabulary/calls.h"
#include "vocabulary/slots.h"

/* All are the ledger's. */
static const struct hook hooks[] = {
	{ "sched_switch", { "on_switch" } },
	{ "sched_wakeup", { "on_wakeup" } },
	{ "contention_begin", { "on_contention_begin" } },
	{},
};

static const struct measure measures[] = {
	{ "wait", "ns" },
	{ "waiters", "threads" },
	{ "turn", "ns" },
	{ "handed", "waits" },
	{ "in_vain", "waits" },
	{ "wakings", "wakings" },
	{},
};

static const struct column columns[] = {
	{ "waiters", COLUMN_NUMBER, 7 },
	{ "turn_ns", COLUMN_NS, 8 },
	{ "handed", COLUMN_NUMBER, 6 },
	{},
};

static int locks_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	size_t size = 0;
	struct locks_numbers *numbers = series__section(object, ".rodata.locks", &size);

	if (!numbers || size != sizeof(*numbers))
		return -EPROTO;
	numbers->flock = calls__number("flock");
	numbers->fcntl = calls__number("fcntl");
	numbers->futex_waitv = calls__number("futex_waitv");
	return 0;
}

static int locks_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct locks_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->operation >= LOCKS_OPERATIONS || rec->place > LOCKS_NUMBERED)
		return -EBADMSG;
	ret->duration_ns = rec->wait_ns;
	ret->thread = rec->thread;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->place = rec->place;
	ret->operation = rec->operation;
	ret->values[0].number = rec->waiters;
	ret->values[1].number = rec->turn_ns;
	ret->values[2].number = rec->is_handed;
	return 0;
}

static const struct {
	const char *name;
	uint32_t object;
} operations[LOCKS_OPERATIONS] = {
	[LOCKS_FUTEX] = { "futex", OBJECT_FUTEX },
	[LOCKS_MUTEX] = { "mutex", OBJECT_FUTEX },
	[LOCKS_ROBUST] = { "robust mutex", OBJECT_FUTEX },
	[LOCKS_PI] = { "pi mutex", OBJECT_FUTEX },
	[LOCKS_MONITOR] = { "monitor", OBJECT_MONITOR },
	[LOCKS_JAVA] = { "java lock", OBJECT_JAVA_LOCK },
	[LOCKS_WAITV] = { "futex_waitv", OBJECT_NONE },
	[LOCKS_SEMOP] = { "semop", OBJECT_NONE },
	[LOCKS_FLOCK] = { "flock", OBJECT_FILE },
	[LOCKS_FCNTL] = { "fcntl", OBJECT_FILE },
	[LOCKS_OFD] = { "ofd lock", OBJECT_FILE },
	[LOCKS_FILE] = { "file lock", OBJECT_FILE },
	[LOCKS_KERNEL_MUTEX] = { "kernel mutex", OBJECT_KERNEL },
	[LOCKS_READ] = { "rwsem read", OBJECT_KERNEL },
	[LOCKS_WRITE] = { "rwsem write", OBJECT_KERNEL },
	[LOCKS_PERCPU] = { "percpu rwsem", OBJECT_KERNEL },
	[LOCKS_RT] = { "rt mutex", OBJECT_KERNEL },
	[LOCKS_KERNEL] = { "kernel lock", OBJECT_KERNEL },
};

static const char *locks_operation(uint32_t operation)
{
	return operation < LOCKS_OPERATIONS ? operations[operation].name : NULL;
}

static uint32_t locks_object(uint32_t operation)
{
	return operation < LOCKS_OPERATIONS ? operations[operation].object : OBJECT_NONE;
}

static void locks_place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "lock %u", place);
}

const struct signal locks_signal = {
	.name = "locks",
	.number = SIGNAL_locks,
	.about = "waits for locks, by lock: how long, how many at once, who gets it when",
	.events = "waits",
	.role = ROLE_LOCKS,
	.event_ns = 700,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = locks_prepare,
	.decode = locks_decode,
	.operation = locks_operation,
	.place = locks_place,
	.object_kind = "lock",
	.ledger_object = locks_object,
};
