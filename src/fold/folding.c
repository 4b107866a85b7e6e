/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts only grow, so the difference of two records of a thread is exact, however late the
 * second one comes. A thread that did not change has no record; its time belongs to its open state.
 */
#include "fold/folding.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fold/folding_internal.h"
#include "vocabulary/states.h"

#define MANY_WORDS 8192

DEFINE_CLEANUP(struct folding *, folding__free)

int folding__new(const struct folding_options *options, struct folding **ret)
{
	cleanup(folding__free_p) struct folding *fold = calloc(1, sizeof(*fold));
	int err;

	if (!fold)
		return -ENOMEM;
	fold->options = *options;
	fold->ended_end = &fold->ended;
	err = lexicon__new(&fold->words);
	if (!err)
		*ret = TAKE(fold);
	return err;
}

static void free_thread(struct folded_thread *thread)
{
	folding_waits__release(thread);
	free(thread);
}

static void free_ended(struct folding *fold)
{
	struct last_record *next;

	for (struct last_record *at = fold->ended; at; at = next) {
		next = at->next;
		free(at);
	}
	fold->ended = NULL;
	fold->ended_end = &fold->ended;
	fold->ended_count = 0;
}

void folding__free(struct folding *fold)
{
	struct folded_thread *thread;
	size_t at = 0;

	if (!fold)
		return;
	while ((thread = map__next(&fold->threads, &at)))
		free_thread(thread);
	map__release(&fold->threads);
	map__free_values(&fold->processes);
	map__release(&fold->devices);
	free_ended(fold);
	free(fold->unnamed);
	lexicon__free(fold->words);
	free(fold);
}

/* --- who a thread is -------------------------------------------------------------------------- */

static int find_process(struct folding *fold, const struct ledger_record *record,
			struct folded_process **ret)
{
	uint64_t key = map__mix(map__mix(0, record->pid), record->process_start_ns);
	struct folded_process *process = map__get(&fold->processes, key);

	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || map__put(&fold->processes, key, process)) {
			free(process);
			return -ENOMEM;
		}
		process->key = key;
		process->process = (struct folding_process) { .start_ns = record->process_start_ns,
							      .pid = record->pid,
							      .name = process->name };
		process->process.is_kernel = record->flags & THREAD_KERNEL;
	}
	*ret = process;
	return 0;
}

static void leave_process(struct folding *fold, struct folded_process *process)
{
	if (process && !--process->threads)
		free(map__take(&fold->processes, process->key));
}

/* "worker-*" for "worker-12": threads of one purpose have one name. */
static const char *group_of(struct folding *fold, const char *comm)
{
	char name[WIRE_COMM_BYTES + 1];
	size_t length = 0;

	for (size_t i = 0; i < WIRE_COMM_BYTES && comm[i]; i++) {
		if (!isdigit((unsigned char)comm[i]))
			name[length++] = comm[i];
		else if (!length || name[length - 1] != '*')
			name[length++] = '*';
	}
	name[length] = '\0';
	return lexicon__word(fold->words, name);
}

/* The names and the cgroup may have changed; if so, finds the workload again. */
static int identify(struct folding *fold, struct folded_thread *thread,
		    const struct ledger_record *record)
{
	struct folded_process *process = thread->process;
	bool is_main = record->pid == record->tid;
	bool renamed = strncmp(thread->comm, record->comm, WIRE_COMM_BYTES) != 0;
	bool process_renamed = !process->name[0] ||
			       (is_main && strncmp(process->name, record->comm, WIRE_COMM_BYTES));

	if (thread->workload && !renamed && !process_renamed &&
	    thread->cgroup_id == record->cgroup_id)
		return 0;
	memcpy(thread->comm, record->comm, WIRE_COMM_BYTES);
	if (process_renamed)
		memcpy(process->name, record->comm, WIRE_COMM_BYTES - 1);
	thread->cgroup_id = record->cgroup_id;
	process->process.cgroup_id = record->cgroup_id;
	thread->group = group_of(fold, record->comm);
	thread->workload = fold->options.workload_of(fold->options.context, &process->process);
	return thread->group ? 0 : -ENOMEM;
}

static int find_thread(struct folding *fold, const struct ledger_record *record,
		       struct folded_thread **ret)
{
	struct folded_thread *thread = map__get(&fold->threads, record->id);
	int err;

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread || map__put(&fold->threads, record->id, thread)) {
			free(thread);
			return -ENOMEM;
		}
		thread->id = record->id;
	}
	/* A thread whose waits came first has no process yet. */
	if (!thread->process) {
		err = find_process(fold, record, &thread->process);
		if (err)
			return err;
		thread->process->threads++;
		thread->last_ns = record->account.first_ns;
	}
	*ret = thread;
	return identify(fold, thread, record);
}

/* --- booking ---------------------------------------------------------------------------------- */

static bool sum_closes(const struct ledger_record *record)
{
	const struct ledger_account *account = &record->account;
	uint64_t sum = record->head.time_ns - account->since_ns;

	if (!account->slot || account->slot >= SLOT_COUNT)
		return false;
	for (int slot = 0; slot < SLOT_COUNT; slot++)
		sum += account->ns[slot];
	return sum == record->head.time_ns - account->first_ns;
}

/*
 * A state can have been booked too long: a thread that was extended to a snapshot that could not
 * read it. Takes that from the others, so that the sum is right; later records correct the parts.
 */
static void even_out(int64_t due[SLOT_COUNT])
{
	int64_t excess = 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		if (due[slot] < 0) {
			excess -= due[slot];
			due[slot] = 0;
		}
	for (int slot = 0; slot < SLOT_COUNT && excess; slot++) {
		int64_t part = due[slot] < excess ? due[slot] : excess;

		due[slot] -= part;
		excess -= part;
	}
}

static int book_slot(struct folding *fold, struct folded_thread *thread, int slot, uint64_t ns,
		     uint64_t count)
{
	const struct bucket_key key = { .workload = thread->workload,
					.threads = thread->group,
					.object = LEXICON_NONE,
					.by_service = LEXICON_NONE,
					.by_threads = LEXICON_NONE,
					.slot = (uint8_t)slot,
					.kind = (uint8_t)states__words(slot)->kind };

	thread->ns[slot] += ns;
	if (SLOT_IS_WAIT(slot))
		return folding_waits__book(fold, thread, slot, ns, count);
	return bucket__add(fold->step, &key, ns, count);
}

/* Books the time up to time_ns; `totals` are the sums of all slots by then. */
static int book(struct folding *fold, struct folded_thread *thread,
		const uint64_t totals[SLOT_COUNT], const uint32_t *counts, uint64_t time_ns)
{
	uint64_t life_ns = 0;
	int64_t due[SLOT_COUNT];
	int err = 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		due[slot] = (int64_t)(totals[slot] - thread->ns[slot]);
	even_out(due);
	for (int slot = SLOT_FIRST; slot < SLOT_COUNT && !err; slot++) {
		uint32_t begun = counts ? counts[slot] - thread->count[slot] : 0;

		if (!due[slot] && !begun)
			continue;
		err = book_slot(fold, thread, slot, (uint64_t)due[slot], begun);
		life_ns += (uint64_t)due[slot];
		thread->count[slot] += begun;
	}
	thread->last_ns = time_ns;
	if (err || !life_ns)
		return err;
	return bucket__add_life(fold->step, thread->workload, thread->group, life_ns, 0);
}

static int book_unexplained(struct folding *fold, struct folded_thread *thread, uint64_t ns)
{
	uint64_t more = ns - thread->unexplained_ns;

	thread->unexplained_ns = ns;
	if (!more)
		return 0;
	return bucket__add_life(fold->step, thread->workload, thread->group, 0, more);
}

static int book_record(struct folding *fold, struct folded_thread *thread,
		       const struct ledger_record *record)
{
	const struct ledger_account *account = &record->account;
	uint64_t totals[SLOT_COUNT];
	int err;

	memcpy(totals, account->ns, sizeof(totals));
	totals[account->slot] += record->head.time_ns - account->since_ns;
	thread->slot = account->slot;
	thread->open = record->wait;
	thread->open.slot = (uint8_t)account->slot;
	err = folding_waits__take_cell(thread, record);
	if (!err)
		err = book(fold, thread, totals, account->count, record->head.time_ns);
	/* The row of the group exists if the thread lived; else there is nothing unexplained. */
	return err ? err : book_unexplained(fold, thread, account->unexplained_ns);
}

/* It has not changed since its last record: all time since belongs to its open state. */
static int book_unchanged(struct folding *fold, struct folded_thread *thread)
{
	uint64_t totals[SLOT_COUNT];

	if (fold->began_ns <= thread->last_ns)
		return 0;
	memcpy(totals, thread->ns, sizeof(totals));
	totals[thread->slot] += fold->began_ns - thread->last_ns;
	return book(fold, thread, totals, NULL, fold->began_ns);
}

/* --- records ---------------------------------------------------------------------------------- */

static int keep_last(struct folding *fold, const struct ledger_record *record)
{
	struct last_record *last = malloc(sizeof(*last));

	if (!last)
		return -ENOMEM;
	last->next = NULL;
	last->record = *record;
	*fold->ended_end = last;
	fold->ended_end = &last->next;
	fold->ended_count++;
	return 0;
}

static int take_thread(struct folding *fold, const struct ledger_record *record)
{
	struct folded_thread *thread;
	int err;

	if (!sum_closes(record)) {
		fold->quality.torn++;
		return 0;
	}
	err = find_thread(fold, record, &thread);
	if (err)
		return err;
	thread->seen = fold->wholes;
	/* The iterator may visit a thread twice. */
	if (record->head.time_ns < thread->last_ns)
		return 0;
	thread->is_done = true;
	return book_record(fold, thread, record);
}

int folding__take(void *context, const struct wire_head *head)
{
	struct folding *fold = context;
	bool is_thread = head->kind == LEDGER_THREAD || head->kind == LEDGER_EXIT;

	if (is_thread && (head->version != 1 || head->size != sizeof(struct ledger_record))) {
		fold->quality.malformed++;
		return 0;
	}
	if (head->kind == LEDGER_EXIT)
		return keep_last(fold, (const void *)head);
	return head->kind == LEDGER_THREAD && fold->step ? take_thread(fold, (const void *)head)
							 : 0;
}

/* A last record may be older than a snapshot, which then has booked too much. */
static int book_last(struct folding *fold, const struct ledger_record *record)
{
	struct folded_thread *thread;
	int err;

	if (!sum_closes(record)) {
		fold->quality.torn++;
		return 0;
	}
	err = find_thread(fold, record, &thread);
	if (err)
		return err;
	thread->has_ended = true;
	if (record->head.time_ns >= thread->last_ns)
		return book_record(fold, thread, record);
	fold->quality.overbooked_ns += thread->last_ns - record->head.time_ns;
	return 0;
}

int folding__begin(struct folding *fold, uint64_t now_ns, bool is_whole, struct bucket *step)
{
	int err = 0;

	fold->step = step;
	fold->began_ns = now_ns;
	fold->is_whole = is_whole;
	fold->wholes += is_whole;
	for (struct last_record *at = fold->ended; at && !err; at = at->next)
		err = book_last(fold, &at->record);
	free_ended(fold);
	return err;
}

/* Missing in two whole snapshots: its last record was lost. One may have been torn. */
static bool has_vanished(const struct folding *fold, const struct folded_thread *thread)
{
	return fold->is_whole && fold->wholes - thread->seen >= 2;
}

static bool is_over(void *context, uint64_t id, void *value)
{
	struct folded_thread *thread = value;
	struct folding *fold = context;

	(void)id;
	if (!thread->has_ended && !has_vanished(fold, thread))
		return false;
	fold->quality.vanished += thread->process && !thread->has_ended;
	for (struct finished *at = thread->finished; at && !thread->process; at = at->next)
		fold->quality.waits_without_account_ns += at->sum.ns;
	leave_process(fold, thread->process);
	free_thread(thread);
	return true;
}

int folding__end(struct folding *fold)
{
	struct folded_thread *thread;
	size_t at = 0;
	int err = 0;

	while (!err && (thread = map__next(&fold->threads, &at))) {
		/* Whoever is missing in a whole snapshot has ended, or will have a record later. */
		if (!thread->is_done && !thread->has_ended && thread->process && !fold->is_whole)
			err = book_unchanged(fold, thread);
		thread->is_done = false;
	}
	if (!err)
		err = folding_waits__name_late(fold);
	fold->step = NULL;
	map__sweep(&fold->threads, is_over, fold);
	return err;
}

int folding__forget_words(struct folding *fold)
{
	struct folded_thread *thread;
	struct lexicon *words;
	size_t at = 0;
	int err;

	if (lexicon__count(fold->words) < MANY_WORDS)
		return 0;
	err = lexicon__new(&words);
	if (err)
		return err;
	while ((thread = map__next(&fold->threads, &at)))
		if (thread->group) {
			const char *group = lexicon__word(words, thread->group);

			thread->group = group ? group : LEXICON_OTHER;
		}
	map__release(&fold->devices);
	lexicon__free(fold->words);
	fold->words = words;
	return 0;
}

size_t folding__threads(const struct folding *fold)
{
	return fold->threads.count;
}

size_t folding__ended(const struct folding *fold)
{
	return fold->ended_count;
}

void folding__each_thread(const struct folding *fold,
			  void (*take)(void *context, uint64_t workload), void *context)
{
	const struct folded_thread *thread;
	size_t at = 0;

	while ((thread = map__next(&fold->threads, &at)))
		if (thread->process)
			take(context, thread->workload);
}

struct folding_quality folding__quality(const struct folding *fold)
{
	return fold->quality;
}
