/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who held a thread up, in words: the service and the group of the culprit. */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "fold/folding_internal.h"

/* The thread that ended the wait, or holds its lock; 0: none. */
static uint64_t culprit_of(const struct ledger_key *wait)
{
	if (wait->by_kind == BY_THREAD)
		return wait->by;
	if (wait->evidence == EVIDENCE_HANDED && !(wait->first & FIRST_UNACCOUNTED))
		return wait->first;
	return 0;
}

/* False if the thread is not known (yet). */
static bool name(struct folding *folding, const struct ledger_key *wait, struct bucket_key *ret)
{
	const struct folded_thread *by = map__get(&folding->threads, culprit_of(wait));

	if (!by || !by->process)
		return false;
	ret->evidence = wait->evidence;
	ret->by_threads = by->group;
	ret->by_service =
		lexicon__word(folding->words,
			      folding->options.service_of(folding->options.context, by->workload));
	return true;
}

int folding_culprits__add(struct folding *folding, struct bucket_key *key,
			  const struct ledger_key *wait, uint64_t ns, uint64_t count)
{
	struct unnamed *added;
	int err;

	if (!culprit_of(wait) || name(folding, wait, key))
		return key->by_service ? bucket__add(folding->step, key, ns, count) : -ENOMEM;
	err = bucket__add(folding->step, key, ns, count);
	if (err)
		return err;
	added = APPEND(&folding->unnamed, &folding->unnamed_count);
	if (!added)
		return -ENOMEM;
	*added = (struct unnamed) { *key, *wait, ns, count };
	return 0;
}

int folding_culprits__name_late(struct folding *folding)
{
	int err = 0;

	for (size_t i = 0; i < folding->unnamed_count && !err; i++) {
		const struct unnamed *unnamed = &folding->unnamed[i];
		struct bucket_key key = unnamed->key;

		if (!name(folding, &unnamed->wait, &key))
			continue;
		err = key.by_service ? bucket__move(folding->step, &unnamed->key, &key, unnamed->ns,
						    unnamed->count)
				     : -ENOMEM;
	}
	free(folding->unnamed);
	folding->unnamed = NULL;
	folding->unnamed_count = 0;
	return err;
}
