/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/intake.h"

#include "record/file_locks.h"

/*
 * Processes of the target are known from the first snapshot on, and later ones from their exec. An
 * outside process is new whenever its first thread gets an account.
 */
static bool is_to_be_watched(const struct intake *intake, const struct ledger_record *record)
{
	return intake->mapper && (!intake->started || record->flags & THREAD_OUTSIDE) &&
	       record->pid != intake->watched;
}

static int take(void *context, const struct wire_head *head)
{
	const struct ledger_record *record = (const void *)head;
	struct intake *intake = context;

	if (head->kind != LEDGER_THREAD)
		return collect__take(intake->collect, head);
	/* The threads of a process arrive one after the other. */
	if (is_to_be_watched(intake, record)) {
		intake->watched = record->pid;
		mapper__watch(intake->mapper, (pid_t)record->pid);
	}
	if (record->account.slot == SLOT_WAIT_LOCK && record->wait.object_kind == OBJECT_FILE &&
	    !(record->flags & THREAD_OUTSIDE))
		intake->locked = true;
	return collect__take(intake->collect, head);
}

static int want_holder(void *context, pid_t waiter, pid_t holder)
{
	struct intake *intake = context;

	if (!collect__has_process(intake->collect, (uint32_t)waiter, false) ||
	    collect__has_process(intake->collect, (uint32_t)holder, true))
		return 0;
	return ledger__want_outside(intake->ledger, (uint32_t)holder);
}

int intake__snapshot(struct intake *intake, uint64_t changed_after_ns)
{
	int err;

	intake->locked = false;
	err = ledger__snapshot(intake->ledger, changed_after_ns, take, intake);
	intake->started = true;
	if (err || !intake->outside)
		return err;
	/* Without /proc/locks, the thread that ends the wait is found when it does. */
	if (intake->locked)
		(void)file_locks__waiters("/proc/locks", want_holder, intake);
	return ledger__seed_due(intake->ledger);
}

int intake__find_stack(void *context, uint64_t hash, uint64_t time_ns, int64_t *ret)
{
	const struct intake *intake = context;
	int err;

	*ret = 0;
	if (!intake->samples)
		return 0;
	/* The frames were sent before the event that has the stack, but may not have been read. */
	err = ledger__poll_stacks(intake->ledger);
	return err < 0 ? err : samples__find(intake->samples, hash, time_ns, ret);
}
