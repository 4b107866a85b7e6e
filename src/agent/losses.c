/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/losses.h"

#define OWN_COUNT (LOSSES_COUNT - LEDGER_COUNTS)

/* Besides losses: something is missing, though sums are complete. */
static bool tells_of_loss(enum counter counter)
{
	switch (counter) {
	case COUNTER_UNSEEN_NS:
	case COUNTER_UNNAMED_WAIT_NS:
	case COUNTER_WAITS_WITHOUT_ACCOUNT_NS:
	case COUNTER_SAMPLES_LOST_NS:
	case COUNTER_SAMPLES_UNOWNED:
	case COUNTER_STACKS_CUT:
	case COUNTER_STACKS_FOLDED:
	case COUNTER_ROWS_FOLDED:
	case COUNTER_WORKLOADS_FOLDED:
	case COUNTER_NOT_IN_HISTOGRAMS:
	case COUNTER_TURNS_UNKNOWN:
		return true;
	default:
		return counters__words(counter)->is_loss;
	}
}

static struct losses_row row_of(enum counter counter, uint64_t value)
{
	return (struct losses_row) { counters__words(counter)->name, value,
				     tells_of_loss(counter) };
}

void losses__read(const struct collector *collector, const struct counting *counting,
		  struct identity *identity, const struct losses_own *own,
		  struct losses_row ret[LOSSES_COUNT])
{
	const struct ledger *ledger = collector__ledger(collector);
	struct ledger_count counts[LEDGER_COUNTS];
	const struct folding_quality folding = folding__quality(collector__folding(collector));
	const struct counting_quality counted = counting__quality(counting);
	struct identity_quality names;

	identity__quality(identity, &names);
	const struct ledger_count values[OWN_COUNT] = {
		{ COUNTER_VANISHED, folding.vanished },
		{ COUNTER_UNNAMED_WAIT_NS, folding.unnamed_wait_ns },
		{ COUNTER_WAITS_WITHOUT_ACCOUNT_NS, folding.waits_without_account_ns },
		{ COUNTER_UNSEEN_NS, own->unseen_ns },
		{ COUNTER_STEPS_FAILED, own->steps_failed },
		{ COUNTER_ROWS_FOLDED, own->rows_folded },
		{ COUNTER_OVERBOOKED_NS, folding.overbooked_ns },
		{ COUNTER_WORKLOADS_FOLDED, names.folded },
		{ COUNTER_CGROUPS_UNKNOWN, names.without_path },
		{ COUNTER_LEVEL_CHANGES, own->level_changes },
		{ COUNTER_MINUTES_OPEN, own->minutes_open },
		{ COUNTER_NO_ROOM, counted.no_room },
		{ COUNTER_UNTRACKED, counted.untracked },
		{ COUNTER_SUMS_UNNAMED, counted.unnamed },
		{ COUNTER_NOT_IN_HISTOGRAMS, counted.not_in_histograms },
		{ COUNTER_STALE, counted.stale },
		{ COUNTER_SAMPLES_LOST_NS, ledger__unsampled_ns(ledger) },
		{ COUNTER_STACKS_LOST, own->samples.lost },
		{ COUNTER_MALFORMED_SAMPLES,
		  own->samples.malformed + ledger__malformed_stacks(ledger) },
		{ COUNTER_STACKS_CUT, own->samples.cut },
		{ COUNTER_STACKS_FOLDED, own->samples.folded },
		{ COUNTER_FRAMES_WITHOUT_FILE, own->samples.anonymous },
		{ COUNTER_STACKS_UNMAPPED, own->samples.unmapped },
		{ COUNTER_SAMPLES_LEFT_OUT, own->samples.left_out },
		{ COUNTER_SAMPLES_UNOWNED, own->samples.without_workload },
		{ COUNTER_CODE_UNANSWERED, own->samples.unanswered },
	};

	ledger__counts(ledger, counts);
	for (size_t i = 0; i < LEDGER_COUNTS; i++) {
		uint64_t more = counts[i].counter == COUNTER_TORN        ? folding.torn
				: counts[i].counter == COUNTER_MALFORMED ? folding.malformed
									 : 0;

		ret[i] = row_of(counts[i].counter, counts[i].value + more);
	}
	for (size_t i = 0; i < OWN_COUNT; i++)
		ret[LEDGER_COUNTS + i] = row_of(values[i].counter, values[i].value);
}
