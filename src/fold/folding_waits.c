/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What waits were for, and who ended them. The account has the time; sums of finished waits tell
 * the rest. They arrive when a wait has ended, with its whole length, while its time is booked as
 * it passes. So time that is booked for a wait that still lasts is noted (ahead_ns), and when the
 * wait is finished, that much of its sum is already booked. Sums can be lost; see
 * folding_waits__settle().
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/devices.h"
#include "fold/folding_internal.h"
#include "fold/objects.h"
#include "fold/proof.h"
#include "vocabulary/states.h"

static void owe_nothing(struct folded_thread *thread)
{
	free(thread->owed);
	thread->owed = NULL;
}

void folding_waits__release(struct folded_thread *thread)
{
	while (thread->finished) {
		struct finished *next = thread->finished->next;

		free(thread->finished);
		thread->finished = next;
	}
	owe_nothing(thread);
}

static int add_finished(struct folded_thread *thread, const struct ledger_key *key,
			const struct ledger_sum *sum)
{
	struct finished *added;

	if (!sum->ns && !sum->count)
		return 0;
	added = malloc(sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = (struct finished) { thread->finished, *key, *sum };
	thread->finished = added;
	return 0;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static bool is_of(const struct cell *cell, const struct ledger_key *key)
{
	return !memcmp(&cell->key, key, sizeof(*key));
}

static struct ledger_sum minus(const struct ledger_sum *sum, const struct ledger_sum *part)
{
	return (struct ledger_sum) { sum->ns - least(sum->ns, part->ns),
				     sum->count - least(sum->count, part->count) };
}

int folding__take_wait(void *context, const struct ledger_key *key, const struct ledger_sum *sum)
{
	struct folding *folding = context;
	struct folded_thread *thread;
	struct ledger_sum new = *sum;
	int err;

	if (!SLOT_IS_WAIT(key->slot))
		return 0;
	err = folding__thread(folding, key->thread, &thread);
	if (err)
		return err;
	if (thread->owed && is_of(thread->owed, key)) {
		new = minus(sum, &thread->owed->sum);
		thread->owed->sum = minus(&thread->owed->sum, sum);
	}
	return add_finished(thread, key, &new);
}

/* Takes the cell off the sums, if they have it. */
static bool take_off_cell(struct folded_thread *thread, const struct cell *cell)
{
	struct ledger_sum there = {}, left = cell->sum;

	for (const struct finished *at = thread->finished; at; at = at->next)
		if (is_of(cell, &at->key)) {
			there.ns += at->sum.ns;
			there.count += at->sum.count;
		}
	if (there.ns < left.ns || there.count < left.count)
		return false;
	for (struct finished *at = thread->finished; at; at = at->next)
		if (is_of(cell, &at->key)) {
			struct ledger_sum sum = at->sum;

			at->sum = minus(&sum, &left);
			left = minus(&left, &sum);
		}
	return true;
}

/* The next sums will have what was taken of this cell. */
static int owe(struct folded_thread *thread, const struct cell *cell)
{
	if (!thread->owed)
		thread->owed = malloc(sizeof(*thread->owed));
	if (!thread->owed)
		return -ENOMEM;
	*thread->owed = *cell;
	return 0;
}

/*
 * A cell that has another number than the one before is another one, even if its key is the same:
 * the one before went into the map. If the sums of this step do not have it, that was after they
 * were taken, and the next ones will.
 */
int folding_waits__take_cell(struct folded_thread *thread, const struct ledger_record *record)
{
	const struct cell cell = { record->cell, record->cell_sum, record->cell_number };
	struct ledger_sum new = cell.sum;
	int err = 0;

	if (cell.number == thread->taken.number)
		new = minus(&cell.sum, &thread->taken.sum);
	else if (take_off_cell(thread, &thread->taken))
		owe_nothing(thread);
	else
		err = owe(thread, &thread->taken);
	thread->taken = cell;
	if (err || !SLOT_IS_WAIT(cell.key.slot))
		return err;
	return add_finished(thread, &cell.key, &new);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Looking up a device means reading files, so its name is kept. */
static const char *name_device(struct folding *folding, const struct ledger_key *wait)
{
	uint32_t device = (uint32_t)wait->object[1];
	char under[OBJECTS_NAME_BYTES - 8], name[OBJECTS_NAME_BYTES];
	const char *word = map__get(&folding->devices, device);

	if (word)
		return word;
	if (devices__under_file(device, wait->pid, under, sizeof(under)))
		snprintf(name, sizeof(name), "file");
	else
		snprintf(name, sizeof(name), "file on %s", under);
	word = lexicon__word(folding->words, name);
	return word && !map__put(&folding->devices, device, (void *)word) ? word : NULL;
}

static const char *name_object(struct folding *folding, const struct ledger_key *wait)
{
	char name[OBJECTS_NAME_BYTES];

	if (wait->object_kind == OBJECT_FILE)
		return name_device(folding, wait);
	objects__name(wait, name);
	return lexicon__word(folding->words, name);
}

static int add_row(struct folding *folding, const struct folded_thread *thread,
		   const struct ledger_key *wait, uint64_t ns, uint64_t count)
{
	struct bucket_key key = { .workload = thread->workload,
				  .threads = thread->group,
				  .object = name_object(folding, wait),
				  .by_service = LEXICON_NONE,
				  .by_threads = LEXICON_NONE,
				  .slot = wait->slot,
				  .kind = (uint8_t)proof__kind(wait) };

	if (!key.object)
		return -ENOMEM;
	if (wait->evidence == EVIDENCE_TIMEOUT)
		key.evidence = EVIDENCE_TIMEOUT;
	/* Who ends an idle wait is not to blame. */
	if (key.kind == KIND_IDLE || states__words(wait->slot)->flags & STATE_NO_CULPRIT)
		return bucket__add(folding->step, &key, ns, count);
	return folding_culprits__add(folding, &key, wait, ns, count);
}

/*
 * Of the finished waits in a slot, *ahead_ns is already booked: first that of waits for the same
 * object as the one that was open then.
 */
static void take_off(struct folded_thread *thread, int slot, uint64_t *ahead_ns)
{
	const struct waited_for *open = &thread->last_open;

	for (int pass = 0; pass < 2; pass++)
		for (struct finished *at = thread->finished; at && *ahead_ns; at = at->next) {
			uint64_t part = least(at->sum.ns, *ahead_ns);

			if (at->key.slot != slot)
				continue;
			if (!pass && (at->key.object_kind != open->kind ||
				      memcmp(at->key.object, open->object, sizeof(open->object))))
				continue;
			at->sum.ns -= part;
			*ahead_ns -= part;
		}
}

/* Books finished waits of the slot, at most *left_ns, and removes them. */
static int book_finished(struct folding *folding, struct folded_thread *thread, int slot,
			 uint64_t *left_ns, uint64_t *left_count)
{
	struct finished **place = &thread->finished, *at;
	int err = 0;

	while ((at = *place) && !err) {
		uint64_t ns = least(at->sum.ns, *left_ns),
			 count = least(at->sum.count, *left_count);

		if (at->key.slot != slot) {
			place = &at->next;
			continue;
		}
		if (ns || count)
			err = add_row(folding, thread, &at->key, ns, count);
		*left_ns -= ns;
		*left_count -= count;
		*place = at->next;
		free(at);
	}
	return err;
}

int folding_waits__book(struct folding *folding, struct folded_thread *thread,
			struct booked *booked, uint64_t ns, uint64_t count)
{
	int slot = booked->slot;
	struct ledger_key rest = { .thread = thread->id, .slot = (uint8_t)slot };
	bool is_open = thread->slot == (uint32_t)slot;
	int err;

	take_off(thread, slot, &booked->ahead_ns);
	err = book_finished(folding, thread, slot, &ns, &count);
	if (err || (!ns && !count))
		return err;
	/* What is left is the wait that lasts, or a sum that was lost or comes later. */
	booked->ahead_ns += ns;
	if (!is_open)
		folding->quality.unnamed_wait_ns += ns;
	return add_row(folding, thread, is_open ? &thread->open : &rest, ns, count);
}

void folding_waits__settle(const struct folding *folding, struct folded_thread *thread,
			   const struct ledger_record *record)
{
	uint64_t now_ns = record->head.time_ns;
	uint64_t late_ns = now_ns > folding->drained_ns ? now_ns - folding->drained_ns : 0;

	for (uint32_t i = 0; i < thread->booked_count; i++) {
		struct booked *booked = &thread->booked[i];
		bool is_open = record->account.slot == (uint32_t)booked->slot;
		uint64_t open_ns = is_open ? now_ns - record->account.since_ns : 0;

		booked->ahead_ns = least(booked->ahead_ns, open_ns + late_ns);
	}
}
