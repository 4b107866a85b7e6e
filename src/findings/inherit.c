/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/inherit.h"

#include "findings/chain.h"

/*
 * A holder that receives from a socket may wait for an answer: of a pair of sockets that is older
 * than the recording, the turn is not known. Who waits for work with a lock accepts or polls.
 */
static bool is_at_home(const struct chain *chain)
{
	double home = 0;

	for (size_t i = 0; i < chain->count; i++)
		if (chain->parts[i].doing == CHAIN_AT_HOME &&
		    chain->parts[i].state->slot != SLOT_WAIT_NET)
			home += chain->parts[i].ns;
	return chain->known_ns > CHAIN_LEAST_KNOWN * chain->total_ns && home > chain->known_ns / 2;
}

static void acquit(struct analysis *analysis, struct cause *cause)
{
	cause->verdict = VERDICT_HOME;
	for (size_t i = 0; i < cause->sample_count; i++) {
		struct judged *judged = &analysis->judged[cause->samples[i]];
		size_t thread =
			thread_index(analysis, analysis->model->samples[cause->samples[i]].thread);

		analysis->threads[thread].verdict_ns[VERDICT_HELD] -= judged->ns;
		analysis->threads[thread].verdict_ns[VERDICT_HOME] += judged->ns;
		judged->verdict = VERDICT_HOME;
	}
}

int inherit__home(struct analysis *analysis)
{
	for (size_t i = 0; i < analysis->cause_count; i++) {
		struct cause *cause = &analysis->causes[i];
		struct chain chain;
		int err;

		if (cause->verdict != VERDICT_HELD || cause->state->overruled ||
		    (cause->state->slot != SLOT_WAIT_LOCK &&
		     cause->state->slot != SLOT_WAIT_LOCK_OWNED))
			continue;
		err = chain__make(analysis, cause, &chain);
		if (!err && is_at_home(&chain))
			acquit(analysis, cause);
		chain__release(&chain);
		if (err)
			return err;
	}
	return 0;
}
