/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who had the CPU while a thread was ready. The sums have no state, so they go to the ready time of
 * the step: first to that after a wakeup, then to that after a preemption. A thread that is held
 * back by a quota is not queued for a CPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "fold/folding_internal.h"

int folding__take_occupant(void *context, const struct ledger_occupant_key *key,
			   const struct ledger_occupant *sum)
{
	struct folding *folding = context;
	struct folded_thread *thread;
	struct occupied *added;
	int err = folding__thread(folding, key->thread, &thread);

	/* 0: the CPU was idle, or a thread without an account had it. */
	if (err || !sum->ns || !key->by || key->by & OCCUPANT_UNACCOUNTED)
		return err;
	added = malloc(sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = (struct occupied) { thread->occupied, key->by, sum->ns };
	thread->occupied = added;
	return 0;
}

void folding_ready__release(struct folded_thread *thread)
{
	while (thread->occupied) {
		struct occupied *next = thread->occupied->next;

		free(thread->occupied);
		thread->occupied = next;
	}
}

static int add_row(struct folding *folding, struct bucket_key key, uint64_t by, uint64_t ns)
{
	const struct ledger_key culprit = { .by = by,
					    .by_kind = BY_THREAD,
					    .evidence = EVIDENCE_OCCUPANT };

	return folding_culprits__add(folding, &key, &culprit, ns, 0);
}

int folding_ready__book(struct folding *folding, struct folded_thread *thread,
			const struct bucket_key *key, uint64_t ns, uint64_t count)
{
	int err = 0;

	while (!err && ns && thread->occupied && key->slot != SLOT_READY_THROTTLED) {
		struct occupied *first = thread->occupied;
		uint64_t part = first->ns < ns ? first->ns : ns;

		err = add_row(folding, *key, first->by, part);
		ns -= part;
		first->ns -= part;
		if (first->ns)
			continue;
		thread->occupied = first->next;
		free(first);
	}
	return err || (!ns && !count) ? err : bucket__add(folding->step, key, ns, count);
}
