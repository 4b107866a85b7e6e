/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accounts only grow, so the difference of two records of a thread is exact, however late the
 * second one comes. A thread that did not change has no record; its time belongs to its open state.
 */
#include "fold/folding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "fold/folding_internal.h"
#include "vocabulary/states.h"

#define MANY_WORDS 8192

DEFINE_CLEANUP(struct folding *, folding__free)

int folding__new(const struct folding_options *options, struct folding **ret)
{
	cleanup(folding__free_p) struct folding *folding = calloc(1, sizeof(*folding));
	int err;

	if (!folding)
		return -ENOMEM;
	folding->options = *options;
	folding->ended_end = &folding->ended;
	err = lexicon__new(&folding->words);
	if (!err)
		*ret = TAKE(folding);
	return err;
}

static void free_thread(struct folded_thread *thread)
{
	folding_waits__release(thread);
	folding_ready__release(thread);
	free(thread->booked);
	free(thread);
}

static void drop_first(struct folding *folding)
{
	struct last_record *first = folding->ended;

	folding->ended = first->next;
	if (!folding->ended)
		folding->ended_end = &folding->ended;
	folding->ended_count--;
	free(first);
}

void folding__free(struct folding *folding)
{
	struct folded_thread *thread;
	size_t at = 0;

	if (!folding)
		return;
	while ((thread = map__next(&folding->threads, &at)))
		free_thread(thread);
	map__release(&folding->threads);
	map__free_values(&folding->processes);
	map__release(&folding->devices);
	while (folding->ended)
		drop_first(folding);
	free(folding->unnamed);
	folding_calls__release(folding);
	lexicon__free(folding->words);
	free(folding);
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

/* What is booked in the slot; added if it is the first time. The pointer is valid until then. */
static int find_booked(struct folded_thread *thread, int slot, struct booked **ret)
{
	struct booked *more;

	for (uint32_t i = 0; i < thread->booked_count; i++)
		if (thread->booked[i].slot == slot) {
			*ret = &thread->booked[i];
			return 0;
		}
	more = realloc(thread->booked, (thread->booked_count + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	thread->booked = more;
	*ret = &more[thread->booked_count++];
	**ret = (struct booked) { .slot = slot };
	return 0;
}

static int book_slot(struct folding *folding, struct folded_thread *thread, struct booked *booked,
		     uint64_t ns, uint64_t count)
{
	int slot = booked->slot;
	const struct bucket_key key = { .workload = thread->workload,
					.threads = thread->group,
					.object = LEXICON_NONE,
					.by_service = LEXICON_NONE,
					.by_threads = LEXICON_NONE,
					.slot = (uint8_t)slot,
					.kind = (uint8_t)states__words(slot)->kind };

	booked->ns += ns;
	if (SLOT_IS_WAIT(slot))
		return folding_waits__book(folding, thread, booked, ns, count);
	if (SLOT_IS_READY(slot))
		return folding_ready__book(folding, thread, &key, ns, count);
	return bucket__add(folding->step, &key, ns, count);
}

/* What of the sums of all slots is not booked yet. `counts` may be NULL. */
static void find_due(const struct folded_thread *thread, const uint64_t totals[SLOT_COUNT],
		     const uint32_t *counts, int64_t due[SLOT_COUNT], uint32_t begun[SLOT_COUNT])
{
	for (int slot = 0; slot < SLOT_COUNT; slot++) {
		due[slot] = (int64_t)totals[slot];
		begun[slot] = counts ? counts[slot] : 0;
	}
	for (uint32_t i = 0; i < thread->booked_count; i++) {
		const struct booked *booked = &thread->booked[i];

		due[booked->slot] -= (int64_t)booked->ns;
		if (counts)
			begun[booked->slot] -= booked->count;
	}
	/* The kernel half gave an open interval, which was counted, another state. */
	for (int slot = 0; slot < SLOT_COUNT; slot++)
		if ((int32_t)begun[slot] < 0)
			begun[slot] = 0;
	even_out(due);
}

/* Books the time up to time_ns; `totals` are the sums of all slots by then. */
static int book(struct folding *folding, struct folded_thread *thread,
		const uint64_t totals[SLOT_COUNT], const uint32_t *counts, uint64_t time_ns)
{
	uint32_t begun[SLOT_COUNT];
	struct booked *booked;
	uint64_t life_ns = 0;
	int64_t due[SLOT_COUNT];
	int err = 0;

	find_due(thread, totals, counts, due, begun);
	for (int slot = SLOT_FIRST; slot < SLOT_COUNT && !err; slot++) {
		if (!due[slot] && !begun[slot])
			continue;
		err = find_booked(thread, slot, &booked);
		if (err)
			break;
		err = book_slot(folding, thread, booked, (uint64_t)due[slot], begun[slot]);
		life_ns += (uint64_t)due[slot];
		booked->count += begun[slot];
	}
	thread->last_ns = time_ns;
	folding_ready__release(thread);
	if (err || !life_ns)
		return err;
	return bucket__add_life(folding->step, thread->workload, thread->group, life_ns, 0);
}

static int book_unexplained(struct folding *folding, struct folded_thread *thread, uint64_t ns)
{
	uint64_t more = ns - thread->unexplained_ns;
	int err = more ? bucket__add_life(folding->step, thread->workload, thread->group, 0, more)
		       : 0;

	if (!err)
		thread->unexplained_ns = ns;
	/* A group without rows in this step has some in a later one. */
	return err == -ENOENT ? 0 : err;
}

static int book_record(struct folding *folding, struct folded_thread *thread,
		       const struct ledger_record *record)
{
	const struct ledger_account *account = &record->account;
	uint64_t totals[SLOT_COUNT];
	int err;

	memcpy(totals, account->ns, sizeof(totals));
	totals[account->slot] += record->head.time_ns - account->since_ns;
	thread->slot = account->slot;
	thread->recorded_ns = record->head.time_ns;
	thread->last_open.kind = thread->open.object_kind;
	memcpy(thread->last_open.object, thread->open.object, sizeof(thread->open.object));
	thread->open = record->wait;
	thread->open.slot = (uint8_t)account->slot;
	err = folding_waits__take_cell(thread, record);
	if (!err)
		err = book(folding, thread, totals, account->count, record->head.time_ns);
	folding_waits__settle(folding, thread, record);
	return err ? err : book_unexplained(folding, thread, account->unexplained_ns);
}

/* Whoever was missing in the last whole snapshot has ended, or will have a record later. */
static bool is_unchanged(const struct folding *folding, const struct folded_thread *thread)
{
	return thread->process && !thread->is_done && !thread->has_ended &&
	       thread->seen == folding->wholes;
}

/* It has not changed since its last record: all time since belongs to its open state. */
static int book_unchanged(struct folding *folding, struct folded_thread *thread)
{
	uint64_t totals[SLOT_COUNT] = {};

	if (folding->began_ns <= thread->last_ns)
		return 0;
	for (uint32_t i = 0; i < thread->booked_count; i++)
		totals[thread->booked[i].slot] = thread->booked[i].ns;
	totals[thread->slot] += folding->began_ns - thread->last_ns;
	return book(folding, thread, totals, NULL, folding->began_ns);
}

/* --- records ---------------------------------------------------------------------------------- */

static int keep_last(struct folding *folding, const struct ledger_record *record)
{
	struct folded_thread *thread = map__get(&folding->threads, record->id);
	struct last_record *last = malloc(sizeof(*last));

	if (!last)
		return -ENOMEM;
	/* If it ended during the snapshot, the next step books the rest. */
	if (thread)
		thread->is_done = true;
	last->next = NULL;
	last->record = *record;
	*folding->ended_end = last;
	folding->ended_end = &last->next;
	folding->ended_count++;
	return 0;
}

/* *ret is NULL if the account does not close. */
static int find_closed(struct folding *folding, const struct ledger_record *record,
		       struct folded_thread **ret)
{
	*ret = NULL;
	if (sum_closes(record))
		return folding_who__find(folding, record, ret);
	folding->quality.torn++;
	return 0;
}

static int take_thread(struct folding *folding, const struct ledger_record *record)
{
	struct folded_thread *thread;
	int err = find_closed(folding, record, &thread);

	if (err || !thread)
		return err;
	thread->seen = folding->wholes;
	/* The iterator may visit a thread twice. */
	if (record->head.time_ns < thread->last_ns)
		return 0;
	thread->is_done = true;
	return book_record(folding, thread, record);
}

int folding__take(void *context, const struct wire_head *head)
{
	struct folding *folding = context;
	bool is_thread = head->kind == LEDGER_THREAD || head->kind == LEDGER_EXIT;

	if (is_thread && (head->version != 1 || head->size != sizeof(struct ledger_record))) {
		folding->quality.malformed++;
		return 0;
	}
	if (head->kind == LEDGER_EXIT)
		return keep_last(folding, (const void *)head);
	return head->kind == LEDGER_THREAD && folding->step
		       ? take_thread(folding, (const void *)head)
		       : 0;
}

/* A last record may be older than a snapshot, which then has booked too much. */
static int book_last(struct folding *folding, const struct ledger_record *record)
{
	struct folded_thread *thread, *known = map__get(&folding->threads, record->id);
	int err = find_closed(folding, record, &thread);

	/* Even if its last account does not close, it does not go on. */
	if (known)
		known->has_ended = true;
	if (err || !thread)
		return err;
	thread->has_ended = true;
	if (record->head.time_ns < thread->last_ns)
		folding->quality.overbooked_ns += thread->last_ns - record->head.time_ns;
	return book_record(folding, thread, record);
}

void folding__expect_sums(struct folding *folding, uint64_t now_ns)
{
	folding->drained_ns = now_ns;
}

int folding__begin(struct folding *folding, uint64_t now_ns, bool is_whole, struct bucket *step)
{
	int err = 0;

	folding->step = step;
	folding->began_ns = now_ns;
	folding->is_whole = is_whole;
	folding->wholes += is_whole;
	while (folding->ended && !err) {
		struct last_record *first = folding->ended;

		err = book_last(folding, &first->record);
		drop_first(folding);
	}
	return err;
}

/* Missing in two whole snapshots: its last record was lost. One may have been torn. */
static bool has_vanished(const struct folding *folding, const struct folded_thread *thread)
{
	return folding->is_whole && folding->wholes - thread->seen >= 2;
}

static bool is_over(void *context, uint64_t id, void *value)
{
	struct folded_thread *thread = value;
	struct folding *folding = context;

	if (!thread->has_ended && !has_vanished(folding, thread))
		return false;
	if (thread->process && folding->options.note_end)
		folding->options.note_end(folding->options.context, id, thread->workload);
	if (thread->process && !thread->has_ended) {
		folding->quality.vanished++;
		/* At most: it is not known when it ended. */
		folding->quality.overbooked_ns += thread->last_ns - thread->recorded_ns;
	}
	for (struct finished *at = thread->finished; at && !thread->process; at = at->next)
		folding->quality.waits_without_account_ns += at->sum.ns;
	folding_who__leave(folding, thread->process);
	free_thread(thread);
	return true;
}

int folding__end(struct folding *folding)
{
	struct folded_thread *thread;
	size_t at = 0;
	int err = 0;

	while (!err && (thread = map__next(&folding->threads, &at))) {
		if (is_unchanged(folding, thread))
			err = book_unchanged(folding, thread);
		thread->is_done = false;
	}
	if (!err)
		err = folding_culprits__name_late(folding);
	if (!err)
		err = folding_calls__book(folding);
	folding->step = NULL;
	map__sweep(&folding->threads, is_over, folding);
	return err;
}

void folding__give_up(struct folding *folding)
{
	struct folded_thread *thread;
	size_t at = 0;

	if (!folding->step)
		return;
	while ((thread = map__next(&folding->threads, &at)))
		thread->is_done = false;
	/* Only names of culprits are missing if this fails. */
	folding_culprits__name_late(folding);
	folding->wholes -= folding->is_whole;
	folding->step = NULL;
}

int folding__forget_words(struct folding *folding)
{
	struct folded_thread *thread;
	struct lexicon *words;
	size_t at = 0;
	int err;

	if (lexicon__count(folding->words) < MANY_WORDS)
		return 0;
	err = lexicon__new(&words);
	if (err)
		return err;
	while ((thread = map__next(&folding->threads, &at)))
		if (thread->group) {
			const char *group = lexicon__word(words, thread->group);

			thread->group = group ? group : LEXICON_OTHER;
		}
	map__release(&folding->devices);
	lexicon__free(folding->words);
	folding->words = words;
	return 0;
}

uint64_t folding__workload(const struct folding *folding, uint64_t thread)
{
	const struct folded_thread *found = map__get(&folding->threads, thread);

	return found && found->process ? found->workload : 0;
}

size_t folding__threads(const struct folding *folding)
{
	return folding->threads.count;
}

size_t folding__ended(const struct folding *folding)
{
	return folding->ended_count;
}

void folding__each_thread(const struct folding *folding,
			  void (*take)(void *context, uint64_t workload), void *context)
{
	const struct folded_thread *thread;
	size_t at = 0;

	while ((thread = map__next(&folding->threads, &at)))
		if (thread->process)
			take(context, thread->workload);
}

struct folding_quality folding__quality(const struct folding *folding)
{
	return folding->quality;
}
