/*
 * Accounts only grow, so the difference of two records of a thread is exact, however late the
 * second one comes. A thread that did not change sends no record: when it does again, the time in
 * between belongs to the state that was open, and is written as a row of its own that spans the
 * silent slices.
 *
 * Slices begin at the length of a snapshot. When they make more rows than ROWS_PER_SECOND, the next
 * ones are twice as long: merged here, before they are written.
 */
#include "ledger/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "ledger/names.h"
#include "ledger/states.h"

#define ROWS_PER_SECOND 7000
#define MOST_MERGED     64

/* A thread as of its last record, and what it added since the begin of the open slice. */
struct tracked {
	int64_t id;
	int64_t process;
	uint32_t tid;
	uint32_t flags;
	char comm[WIRE_COMM_BYTES + 1];
	bool dirty;      /* in the list of changed threads */
	bool final;      /* its account at the end was taken */
	int64_t covered; /* the last slice that its rows reach to */
	uint64_t first_ns, last_ns;
	uint64_t unexplained_ns;
	uint32_t slot; /* open at last_ns */
	uint64_t ns[SLOT_COUNT];
	uint32_t count[SLOT_COUNT];
	uint64_t added_ns[SLOT_COUNT];
	uint32_t added[SLOT_COUNT];
};

struct collect {
	struct recording *recording;
	struct names *names;
	bool full;
	struct map threads; /* by id */
	struct tracked **changed;
	size_t changed_count, changed_size;
	int64_t slice;
	uint64_t slice_ns; /* its begin */
	uint64_t start_ns, end_ns;
	int merged, merge; /* snapshots in this slice, and how many make one */
	uint64_t rows;     /* in this slice */
	struct collect_quality quality;
};

DEFINE_CLEANUP(struct collect *, collect__free)

static int write_words(struct recording *recording)
{
	int err = 0;

	for (int slot = SLOT_RUN_USER; slot < SLOT_COUNT && !err; slot++) {
		const struct state_words *words = states__words(slot);

		err = recording__add_state(recording,
					   &(struct recording_state) { slot, words->state,
								       words->cause, words->kind });
	}
	if (!err)
		err = recording__put_thread(
			recording,
			&(struct recording_thread) { .id = NAMES_INTERRUPT,
						     .comm = "[interrupt]",
						     .flags = RECORDING_THREAD_NO_ACCOUNT });
	return err;
}

int collect__new(struct recording *recording, bool full, struct collect **ret)
{
	cleanup(collect__free_p)
	struct collect *collect = calloc(1, sizeof(*collect));
	int err;

	if (!collect)
		return -ENOMEM;
	collect->recording = recording;
	collect->full = full;
	collect->merge = 1;
	err = names__new(recording, &collect->names);
	if (!err)
		err = write_words(recording);
	if (!err)
		*ret = TAKE(collect);
	return err;
}

void collect__free(struct collect *collect)
{
	size_t at = 0;
	void *thread;

	if (!collect)
		return;
	while ((thread = map__next(&collect->threads, &at)))
		free(thread);
	map__release(&collect->threads);
	names__free(collect->names);
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

static int write_thread(struct collect *collect, const struct tracked *thread)
{
	int flags = 0;

	if (thread->flags & THREAD_ENDED)
		flags |= RECORDING_THREAD_EXITED;
	if (thread->flags & THREAD_KERNEL)
		flags |= RECORDING_THREAD_KERNEL;
	if (thread->tid == (uint32_t)getpid())
		flags |= RECORDING_THREAD_OWN;
	return recording__put_thread(
		collect->recording,
		&(struct recording_thread) { .id = thread->id,
					     .process = thread->process,
					     .tid = (int)thread->tid,
					     .comm = thread->comm,
					     .first_ns = (int64_t)thread->first_ns,
					     .last_ns = (int64_t)thread->last_ns,
					     .unexplained_ns = (int64_t)thread->unexplained_ns,
					     .flags = flags });
}

static int write_row(struct collect *collect, const struct tracked *thread, int64_t to, int slot,
		     uint64_t ns, uint32_t count)
{
	collect->rows++;
	return recording__add_account(collect->recording,
				      &(struct recording_account) { .thread = thread->id,
								    .from = thread->covered + 1,
								    .to = to,
								    .state = slot,
								    .ns = (int64_t)ns,
								    .count = count });
}

/* The rows of the open slice. */
static int write_account(struct collect *collect, struct tracked *thread)
{
	int err = 0;

	for (int slot = SLOT_RUN_USER; slot < SLOT_COUNT && !err; slot++)
		if (thread->added_ns[slot] || thread->added[slot])
			err = write_row(collect, thread, collect->slice, slot,
					thread->added_ns[slot], thread->added[slot]);
	memset(thread->added_ns, 0, sizeof(thread->added_ns));
	memset(thread->added, 0, sizeof(thread->added));
	thread->covered = collect->slice;
	return err ? err : write_thread(collect, thread);
}

/* The slices in which the thread sent nothing: all of it in the state that was open. */
static int write_silence(struct collect *collect, struct tracked *thread, uint64_t *delta)
{
	uint64_t silent = collect->slice_ns - thread->last_ns;
	int err;

	if (thread->covered + 1 >= collect->slice || thread->last_ns >= collect->slice_ns ||
	    !thread->slot)
		return 0;
	if (silent > delta[thread->slot])
		silent = delta[thread->slot];
	delta[thread->slot] -= silent;
	if (!silent)
		return 0;
	err = write_row(collect, thread, collect->slice - 1, (int)thread->slot, silent, 0);
	thread->covered = collect->slice - 1;
	return err;
}

static int note_change(struct collect *collect, struct tracked *thread)
{
	struct tracked **grown;
	size_t size;

	if (thread->dirty)
		return 0;
	if (collect->changed_count == collect->changed_size) {
		size = collect->changed_size ? collect->changed_size * 2 : 256;
		grown = reallocarray(collect->changed, size, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		collect->changed = grown;
		collect->changed_size = size;
	}
	collect->changed[collect->changed_count++] = thread;
	thread->dirty = true;
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
	int err;

	thread->tid = record->tid;
	if (!strncmp(thread->comm, record->comm, WIRE_COMM_BYTES))
		return 0;
	memcpy(thread->comm, record->comm, WIRE_COMM_BYTES);
	if (first)
		return 0;
	err = recording__add_name(collect->recording, thread->id, (int64_t)record->head.time_ns,
				  thread->comm);
	return err ? err : names__renamed(collect->names, record, thread->process);
}

/* Invariant 1, for every record that arrives. */
static bool sum_closes(const struct ledger_record *record, uint64_t time_ns)
{
	const struct ledger_account *account = &record->account;
	uint64_t sum = account->slot ? time_ns - account->since_ns : 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		sum += account->ns[slot];
	return sum == time_ns - account->first_ns;
}

/* Totals up to time_ns, what is open included. */
static void totals_at(const struct collect *collect, const struct ledger_account *account,
		      uint64_t time_ns, uint64_t *totals)
{
	for (int slot = 0; slot < SLOT_COUNT; slot++)
		totals[slot] = account->ns[slot];
	/* At level full, RUN_ANY is not resolved yet: its time will show up elsewhere. */
	if (collect->full && account->slot == SLOT_RUN_ANY && !collect->end_ns)
		return;
	if (account->slot)
		totals[account->slot] += time_ns - account->since_ns;
}

static int add_open_wait(struct collect *collect, const struct ledger_record *record,
			 uint64_t time_ns)
{
	struct ledger_key key = record->wait;
	struct ledger_sum sum = { time_ns - record->account.since_ns, 1 };
	int err = 0;

	if (record->cell_sum.count)
		err = collect__take_wait(collect, &record->cell, &record->cell_sum);
	if (err || !SLOT_IS_WAIT(record->account.slot))
		return err;
	key.thread = record->id;
	key.slot = (uint8_t)record->account.slot;
	return collect__take_wait(collect, &key, &sum);
}

static int add_record(struct collect *collect, const struct ledger_record *record,
		      struct tracked *thread, uint64_t time_ns)
{
	uint64_t totals[SLOT_COUNT], delta[SLOT_COUNT];
	int err;

	totals_at(collect, &record->account, time_ns, totals);
	for (int slot = 0; slot < SLOT_COUNT; slot++)
		delta[slot] = totals[slot] - thread->ns[slot];
	err = write_silence(collect, thread, delta);
	for (int slot = 0; slot < SLOT_COUNT; slot++) {
		thread->added_ns[slot] += delta[slot];
		thread->added[slot] += record->account.count[slot] - thread->count[slot];
	}
	memcpy(thread->ns, totals, sizeof(totals));
	memcpy(thread->count, record->account.count, sizeof(thread->count));
	thread->last_ns = time_ns;
	thread->slot = record->account.slot;
	thread->flags = record->flags;
	thread->unexplained_ns = record->account.unexplained_ns;
	if (!err)
		err = note_name(collect, thread, record);
	return err ? err : note_change(collect, thread);
}

static void forget_change(struct collect *collect, const struct tracked *thread)
{
	for (size_t i = collect->changed_count; i-- > 0;)
		if (collect->changed[i] == thread) {
			collect->changed[i] = collect->changed[--collect->changed_count];
			return;
		}
}

/* A thread's last record: written at once, then it is forgotten. */
static int end_thread(struct collect *collect, const struct ledger_record *record,
		      struct tracked *thread)
{
	int err = write_account(collect, thread);

	if (!err && record->cell_sum.count && !thread->final)
		err = collect__take_wait(collect, &record->cell, &record->cell_sum);
	if (thread->dirty)
		forget_change(collect, thread);
	names__thread_ended(collect->names, record);
	free(map__take(&collect->threads, record->id));
	return err;
}

static int take_thread(struct collect *collect, const struct ledger_record *record)
{
	uint64_t time_ns = record->head.time_ns;
	struct tracked *thread;
	int err;

	/* Nothing changes after the end; only what had begun later lasts longer. */
	if (collect->end_ns && record->head.kind == LEDGER_THREAD)
		time_ns = record->account.since_ns > collect->end_ns ? record->account.since_ns
								     : collect->end_ns;
	if (!sum_closes(record, time_ns)) {
		collect->quality.torn++;
		return 0;
	}
	err = find_thread(collect, record, &thread);
	if (err)
		return err;
	if (time_ns < thread->last_ns)
		return 0; /* the iterator showed it twice */
	err = add_record(collect, record, thread, time_ns);
	if (!err && record->head.kind == LEDGER_EXIT)
		return end_thread(collect, record, thread);
	if (!err && collect->end_ns && !thread->final)
		err = add_open_wait(collect, record, time_ns);
	thread->final = collect->end_ns > 0;
	return err;
}

int collect__take(void *context, const struct wire_head *head)
{
	struct collect *collect = context;

	if (head->version == 1 && head->kind == LEDGER_OBJECT &&
	    head->size == sizeof(struct ledger_object_record))
		return names__describe(collect->names, (const void *)head);
	if (head->version == 1 && (head->kind == LEDGER_THREAD || head->kind == LEDGER_EXIT) &&
	    head->size == sizeof(struct ledger_record))
		return take_thread(collect, (const void *)head);
	collect->quality.malformed++;
	return 0;
}

int collect__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum)
{
	struct collect *collect = context;
	int64_t object, by;
	int err = names__object(collect->names, key, &object);

	if (!err)
		err = names__culprit(collect->names, key, &by);
	if (err)
		return err;
	return recording__add_wait(
		collect->recording,
		&(struct recording_wait) { .thread = (int64_t)key->thread,
					   .state = key->slot,
					   .object = object,
					   .by = by,
					   .evidence = states__evidence(key->evidence),
					   .ns = (int64_t)sum->ns,
					   .count = (int64_t)sum->count });
}

static int close_slice(struct collect *collect, uint64_t now_ns)
{
	int err = recording__add_slice(collect->recording, collect->slice,
				       (int64_t)collect->slice_ns, (int64_t)now_ns);

	for (size_t i = 0; i < collect->changed_count && !err; i++) {
		collect->changed[i]->dirty = false;
		err = write_account(collect, collect->changed[i]);
	}
	collect->changed_count = 0;
	/* Too many rows for the time that they cover: longer slices from here on. */
	if (collect->rows * 1000000000 > ROWS_PER_SECOND * (now_ns - collect->slice_ns) &&
	    collect->merge < MOST_MERGED)
		collect->merge *= 2;
	collect->rows = 0;
	collect->merged = 0;
	collect->slice++;
	collect->slice_ns = now_ns;
	return err ? err : recording__commit(collect->recording);
}

int collect__snapshot_done(struct collect *collect, uint64_t now_ns)
{
	if (++collect->merged < collect->merge)
		return 0;
	return close_slice(collect, now_ns);
}

void collect__ending(struct collect *collect, uint64_t end_ns)
{
	collect->end_ns = end_ns;
}

int collect__end(struct collect *collect)
{
	return close_slice(collect, collect->end_ns);
}

int64_t collect__slice(const struct collect *collect)
{
	return collect->slice;
}

size_t collect__threads(const struct collect *collect)
{
	return collect->threads.count;
}

struct collect_quality collect__quality(const struct collect *collect)
{
	return collect->quality;
}
