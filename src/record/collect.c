/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts only grow, so the difference between two records of a thread is exact, however late the
 * second one arrives. A thread that did not change has no record in a snapshot. When it has one
 * again, the time in between belongs to the state that was open. That time becomes one row that
 * spans the slices without a record.
 */
#include "record/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "record/collect_internal.h"
#include "vocabulary/states.h"

/* After this many refusals in a row, an account counts as never closed. */
#define MOST_REFUSALS 10

DEFINE_CLEANUP(struct collect *, collect__free)

/* A pseudo thread for something else that ends waits. */
static int write_no_thread(struct recording *recording, int64_t id, const char *name)
{
	return recording__put_thread(
		recording, &(struct recording_thread) {
				   .id = id, .comm = name, .flags = RECORDING_THREAD_NO_ACCOUNT });
}

static int write_words(struct recording *recording)
{
	int err = 0;

	for (int slot = SLOT_FIRST; slot < SLOT_COUNT && !err; slot++) {
		const struct state_words *words = states__words(slot);

		err = recording__add_state(
			recording, &(struct recording_state) { slot, words->state, words->cause,
							       states__key(slot) });
	}
	if (!err)
		err = write_no_thread(recording, NAMES_INTERRUPT, "[interrupt]");
	if (!err)
		err = write_no_thread(recording, NAMES_TIMEOUT, "[timed out]");
	return err;
}

int collect__new(struct recording *recording, bool full, struct collect **ret)
{
	cleanup(collect__free_p) struct collect *collect = calloc(1, sizeof(*collect));
	int err;

	if (!collect)
		return -ENOMEM;
	collect->recording = recording;
	collect->full = full;
	collect->own_pid = (uint32_t)getpid();
	collect->merge = 1;
	collect->is_sparse = true;
	err = names__new(recording, &collect->names);
	if (!err)
		err = path_calls__new(recording, &collect->path_calls);
	if (!err)
		err = write_words(recording);
	if (!err)
		*ret = TAKE(collect);
	return err;
}

void collect__free(struct collect *collect)
{
	if (!collect)
		return;
	map__free_values(&collect->threads);
	map__release(&collect->refused);
	waits__release(collect);
	names__free(collect->names);
	path_calls__free(collect->path_calls);
	free(collect->occupants);
	free(collect->changed);
	free(collect);
}

int collect__begin(struct collect *collect, uint64_t start_ns)
{
	collect->start_ns = start_ns;
	collect->slice = 1;
	collect->slice_ns = start_ns;
	return 0;
}

static int note_change(struct collect *collect, struct tracked *thread)
{
	struct tracked **added;

	if (thread->changed_at)
		return 0;
	added = APPEND(&collect->changed, &collect->changed_count);
	if (!added)
		return -ENOMEM;
	*added = thread;
	thread->changed_at = collect->changed_count;
	return 0;
}

static int find_thread(struct collect *collect, const struct ledger_record *record,
		       struct tracked **ret)
{
	struct tracked *thread = map__get(&collect->threads, record->id);
	int err;

	if (thread) {
		*ret = thread;
		return 0;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread || map__put(&collect->threads, record->id, thread)) {
		free(thread);
		return -ENOMEM;
	}
	thread->id = (int64_t)record->id;
	thread->pid = record->pid;
	thread->tid = record->tid;
	thread->first_ns = thread->last_ns = record->account.first_ns;
	thread->covered = collect->slice - 1;
	err = names__process(collect->names, record, &thread->process);
	if (!err)
		*ret = thread;
	return err;
}

static int note_name(struct collect *collect, struct tracked *thread,
		     const struct ledger_record *record)
{
	bool first = !thread->comm[0];
	/* exec() gives a thread the tid of the group leader. The name may stay the same. */
	bool same_tid = thread->tid == record->tid;
	bool same_name = !strncmp(thread->comm, record->comm, WIRE_COMM_BYTES);
	int err = 0;

	thread->tid = record->tid;
	if (same_name && same_tid)
		return 0;
	if (!first && !same_name && !thread->renamed)
		err = recording__add_name(collect->recording, thread->id, (int64_t)thread->first_ns,
					  thread->comm);
	memcpy(thread->comm, record->comm, WIRE_COMM_BYTES);
	if (err || first)
		return err;
	if (!same_name) {
		thread->renamed = true;
		err = recording__add_name(collect->recording, thread->id,
					  (int64_t)record->head.time_ns, thread->comm);
	}
	return err ? err : names__renamed(collect->names, record, thread->process);
}

/* Checks invariant 1. */
static bool sum_closes(const struct ledger_record *record, uint64_t time_ns)
{
	const struct ledger_account *account = &record->account;
	uint64_t sum = account->slot ? time_ns - account->since_ns : 0;

	if (account->slot >= SLOT_COUNT)
		return false;
	for (int slot = 0; slot < SLOT_COUNT; slot++)
		sum += account->ns[slot];
	return sum == time_ns - account->first_ns;
}

/* True if this is the last record of the thread that counts. */
static bool is_final(const struct collect *collect, const struct ledger_record *record)
{
	return record->head.kind == LEDGER_EXIT || collect->end_ns;
}

/* Totals up to time_ns, including the open interval. */
static void totals_at(const struct collect *collect, const struct ledger_record *record,
		      uint64_t time_ns, uint64_t *totals)
{
	const struct ledger_account *account = &record->account;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		totals[slot] = account->ns[slot];
	/* At level full, RUN_ANY is unresolved: its time will go to user or kernel later. */
	if (collect->full && account->slot == SLOT_RUN_ANY && !is_final(collect, record))
		return;
	if (account->slot)
		totals[account->slot] += time_ns - account->since_ns;
}

static int add_record(struct collect *collect, const struct ledger_record *record,
		      struct tracked *thread, uint64_t time_ns)
{
	struct collect_work *work =
		record->flags & THREAD_OUTSIDE ? &collect->outside_work : &collect->work;
	uint64_t totals[SLOT_COUNT], booked_ns;
	int err;

	collect->outside -= (thread->flags & THREAD_OUTSIDE) != 0;
	thread->flags = record->flags;
	collect->outside += (thread->flags & THREAD_OUTSIDE) != 0;
	totals_at(collect, record, time_ns, totals);
	err = accounts__book(collect, thread, totals, time_ns, &booked_ns);
	if (err)
		return err;
	for (int slot = 0; slot < SLOT_COUNT; slot++) {
		uint32_t added = record->account.count[slot] - thread->count[slot];

		thread->added[slot] += added;
		work->begun[slot] += added;
	}
	memcpy(thread->count, record->account.count, sizeof(thread->count));
	thread->faults_added.minor += record->minor_faults - thread->faults.minor;
	thread->faults_added.major += record->major_faults - thread->faults.major;
	thread->faults = (struct tracked_faults) { record->minor_faults, record->major_faults };
	/* At the end of a thread, last_ns must match its rows. Before, later records correct it. */
	thread->last_ns = record->head.kind == LEDGER_EXIT ? booked_ns : time_ns;
	if (thread->slot != record->account.slot)
		thread->recent_count = 0;
	thread->slot = record->account.slot;
	thread->unexplained_ns = record->account.unexplained_ns;
	estimates__note(collect, thread, &record->account);
	err = note_name(collect, thread, record);
	return err ? err : note_change(collect, thread);
}

static void forget_change(struct collect *collect, struct tracked *thread)
{
	struct tracked *last;

	if (!thread->changed_at)
		return;
	last = collect->changed[--collect->changed_count];
	collect->changed[thread->changed_at - 1] = last;
	last->changed_at = thread->changed_at;
	thread->changed_at = 0;
}

/* Writes the last rows of the thread and frees it. Its rows do not count for the length of slices.
 */
static int forget_thread(struct collect *collect, struct tracked *thread)
{
	uint64_t rows = collect->rows;
	int err = accounts__write(collect, thread);

	collect->rows = rows;
	estimates__note(collect, thread, NULL);
	forget_change(collect, thread);
	collect->outside -= (thread->flags & THREAD_OUTSIDE) != 0;
	names__thread_ended(collect->names, thread->pid, thread->process);
	map__take(&collect->refused, (uint64_t)thread->id);
	free(map__take(&collect->threads, (uint64_t)thread->id));
	return err;
}

/* The account is complete: adds its last waits and compares the waits with the account. */
static int take_final(struct collect *collect, const struct ledger_record *record,
		      const struct tracked *thread, uint64_t time_ns)
{
	int err = waits__add_last(collect, record, time_ns);

	return err ? err : waits__final(collect, thread);
}

/* A thread's last record: write it at once and forget the thread. */
static int end_thread(struct collect *collect, const struct ledger_record *record,
		      struct tracked *thread, uint64_t time_ns)
{
	int err = thread->final ? 0 : take_final(collect, record, thread, time_ns);

	return err ? err : forget_thread(collect, thread);
}

/* The account does not close. The next record of the thread may close. */
static int refuse(struct collect *collect, const struct ledger_record *record)
{
	struct tracked *thread = map__get(&collect->threads, record->id);
	uintptr_t times = (uintptr_t)map__get(&collect->refused, record->id);

	collect->quality.torn++;
	if (record->head.kind == LEDGER_EXIT) {
		/* No record follows. If the thread is tracked, collect__whole_done() finds it. */
		map__take(&collect->refused, record->id);
		collect->quality.never_closed += !thread && times < MOST_REFUSALS;
		return 0;
	}
	if (thread)
		thread->seen = collect->wholes;
	if (times == MOST_REFUSALS)
		return 0;
	collect->quality.never_closed += ++times == MOST_REFUSALS;
	return map__put(&collect->refused, record->id, (void *)times);
}

/* The account closed again. Keeps an entry that was counted, so that it is counted once. */
static void accept(struct collect *collect, uint64_t id)
{
	if (collect->refused.count && (uintptr_t)map__get(&collect->refused, id) < MOST_REFUSALS)
		map__take(&collect->refused, id);
}

static int take_thread(struct collect *collect, const struct ledger_record *record)
{
	bool is_last = record->head.kind == LEDGER_EXIT;
	uint64_t time_ns = record->head.time_ns;
	struct tracked *thread;
	int err;

	/* Accounts end at end_ns, or at the start of their open state if that is later. */
	if (collect->end_ns && !is_last)
		time_ns = record->account.since_ns > collect->end_ns ? record->account.since_ns
								     : collect->end_ns;
	if (!sum_closes(record, time_ns))
		return refuse(collect, record);
	accept(collect, record->id);
	err = find_thread(collect, record, &thread);
	if (err)
		return err;
	thread->seen = collect->wholes;
	/* The iterator may visit a thread twice. A last record may be older than a snapshot. */
	if (time_ns < thread->last_ns && !is_last)
		return 0;
	err = add_record(collect, record, thread, time_ns);
	if (!err && is_last)
		return end_thread(collect, record, thread, time_ns);
	if (!err && collect->end_ns && !thread->final)
		err = take_final(collect, record, thread, time_ns);
	thread->final = collect->end_ns > 0;
	return err;
}

int collect__take(void *context, const struct wire_head *head)
{
	struct collect *collect = context;
	int err = -EBADMSG;

	if (head->version == 1 && head->kind == LEDGER_OBJECT &&
	    head->size == sizeof(struct ledger_object_record))
		return names__describe(collect->names, (const void *)head);
	if (head->version == 1 && (head->kind == LEDGER_THREAD || head->kind == LEDGER_EXIT) &&
	    head->size == sizeof(struct ledger_record))
		return take_thread(collect, (const void *)head);
	if (head->version == 1 && head->kind == LEDGER_PATH &&
	    head->size == sizeof(struct ledger_path_record))
		err = path_calls__take(collect->path_calls, (const void *)head);
	collect->quality.malformed += err == -EBADMSG;
	return err == -EBADMSG ? 0 : err;
}

void collect__full_snapshot_begins(struct collect *collect)
{
	collect->wholes++;
}

/*
 * A thread that is missing in two whole snapshots has lost its last record. One is not enough: the
 * record may have been torn, or the last record may still be in the ring. If we forgot the thread
 * and it came back, its whole account would be booked again.
 */
static bool has_vanished(const struct collect *collect, const struct tracked *thread)
{
	return collect->wholes - thread->seen >= 2;
}

static int give_up(struct collect *collect, struct tracked *thread)
{
	collect->quality.vanished++;
	waits__extend_account(collect, thread);
	return waits__final(collect, thread);
}

int collect__whole_done(struct collect *collect)
{
	cleanup(free_p) struct tracked **vanished = NULL;
	struct tracked *thread;
	size_t count = 0, at = 0;
	int err = waits__sweep(collect);

	names__sweep(collect->names);
	if (!err)
		err = path_calls__write(collect->path_calls);
	while ((thread = map__next(&collect->threads, &at)))
		count += has_vanished(collect, thread);
	if (!count || err)
		return err;
	vanished = calloc(count, sizeof(struct tracked *));
	if (!vanished)
		return -ENOMEM;
	at = count = 0;
	while ((thread = map__next(&collect->threads, &at)))
		if (has_vanished(collect, thread))
			vanished[count++] = thread;
	for (size_t i = 0; i < count && !err; i++) {
		err = give_up(collect, vanished[i]);
		if (!err)
			err = forget_thread(collect, vanished[i]);
	}
	return err;
}

void collect__ending(struct collect *collect, uint64_t end_ns)
{
	collect->end_ns = end_ns;
}

void collect__find_holders(struct collect *collect, const struct ledger *ledger)
{
	collect->ledger = ledger;
}

int collect__end(struct collect *collect)
{
	struct tracked *thread;
	size_t at = 0;
	int err = 0;

	while (!err && (thread = map__next(&collect->threads, &at))) {
		if (thread->final)
			continue;
		err = give_up(collect, thread);
		if (!err)
			err = note_change(collect, thread);
	}
	if (!err)
		err = waits__end(collect);
	if (!err)
		err = path_calls__write(collect->path_calls);
	return err ? err : slices__close(collect, collect->end_ns);
}

int64_t collect__slice(const struct collect *collect)
{
	return collect->slice;
}

int64_t collect__process(const struct collect *collect, int64_t thread)
{
	const struct tracked *tracked = map__get(&collect->threads, (uint64_t)thread);

	return tracked ? tracked->process : 0;
}

uint32_t collect__tid(const struct collect *collect, int64_t thread)
{
	const struct tracked *tracked = map__get(&collect->threads, (uint64_t)thread);

	return tracked ? tracked->tid : 0;
}

enum ledger_slot collect__open_slot(const struct collect *collect, int64_t thread)
{
	const struct tracked *tracked = map__get(&collect->threads, (uint64_t)thread);

	return tracked ? (enum ledger_slot)tracked->slot : SLOT_NONE;
}

struct names *collect__names(struct collect *collect)
{
	return collect->names;
}

size_t collect__threads(const struct collect *collect)
{
	return collect->threads.count - collect->outside;
}

struct collect_quality collect__quality(const struct collect *collect)
{
	struct collect_quality quality = collect->quality;

	quality.overflowed = names__overflowed(collect->names);
	return quality;
}
