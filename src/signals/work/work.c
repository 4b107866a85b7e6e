/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/work/work.h"

#include <errno.h>
#include <string.h>

#include "core/signal.h"
#include "symbol/kallsyms.h"

static const struct hook hooks[] = {
	{ "workqueue_execute_end", { "work_on_end" } },
	{ "workqueue_execute_start", { "work_on_start" } },
	{ "workqueue_queue_work", { "work_on_queue" } },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, { "delay", "ns" }, {} };

static const struct column columns[] = {
	{ "time_ns", COLUMN_NS, 8 },
	{ "delay_ns", COLUMN_NS, 8 },
	{ "worker_tid", COLUMN_NUMBER, 10 },
	{ "worker", COLUMN_TEXT, 0 },
	{},
};

static int work_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct work_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    !memchr(rec->comm, '\0', sizeof(rec->comm)) || rec->operation >= WORK_OPERATIONS)
		return -EBADMSG;
	ret->duration_ns = rec->time_ns + rec->delay_ns;
	ret->thread = rec->thread;
	ret->object[0] = rec->function;
	ret->operation = (uint16_t)rec->operation;
	ret->values[0].number = rec->time_ns;
	ret->values[1].number = rec->delay_ns;
	ret->values[1].none = rec->operation == WORK_QUEUED_UNSEEN;
	ret->values[2].number = rec->tid;
	ret->values[3].text = rec->comm;
	return 0;
}

static const char *work_operation(uint32_t operation)
{
	static const char *const names[WORK_OPERATIONS] = {
		[WORK_DONE] = "work",
		[WORK_QUEUED_UNSEEN] = "work without delay",
	};

	return operation < WORK_OPERATIONS ? names[operation] : NULL;
}

/* "wb_workfn", "xfs_end_io [xfs]". */
static void work_object(const __u64 numbers[2], char *ret, size_t size)
{
	kallsyms__say(numbers[0], ret, size);
}

const struct signal work_signal = {
	.name = "work",
	.number = SIGNAL_work,
	.about = "workqueues of the kernel: which function ran, how long it was queued and ran",
	.events = "work items",
	.role = ROLE_NONE,
	.event_ns = 1000,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = work_decode,
	.operation = work_operation,
	.object = work_object,
	.object_kind = "function",
};
