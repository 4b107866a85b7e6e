/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/losses.h"

struct counted {
	enum counter counter;
	uint64_t value;
};

void losses__read(const struct collector *collector, const struct counting *counting,
		  struct identity *identity, const struct losses_own *own,
		  struct losses_row ret[LOSSES_COUNT])
{
	const struct ledger *ledger = collector__ledger(collector);
	const struct folding_quality folding = folding__quality(collector__folding(collector));
	const struct counting_quality counted = counting__quality(counting);
	struct identity_quality names;

	identity__quality(identity, &names);
	const struct counted values[LOSSES_COUNT] = {
		{ COUNTER_LOST_RING_FULL, ledger__lost(ledger, LOST_RING_FULL) },
		{ COUNTER_LOST_MAP_FULL, ledger__lost(ledger, LOST_MAP_FULL) },
		{ COUNTER_NO_STORAGE, ledger__lost(ledger, LOST_NO_STORAGE) },
		{ COUNTER_REPAIRED_WAKEUPS, ledger__quality(ledger, QUALITY_REPAIRED_WAKEUPS) },
		{ COUNTER_REPAIRED_SWITCHES, ledger__quality(ledger, QUALITY_REPAIRED_SWITCHES) },
		{ COUNTER_MISSED_WAKEUPS, ledger__quality(ledger, QUALITY_MISSED_WAKEUPS) },
		{ COUNTER_IMPOSSIBLE, ledger__quality(ledger, QUALITY_IMPOSSIBLE) },
		{ COUNTER_NEGATIVE, ledger__quality(ledger, QUALITY_NEGATIVE) },
		{ COUNTER_TORN, ledger__quality(ledger, QUALITY_TORN) + folding.torn },
		{ COUNTER_VANISHED, folding.vanished },
		{ COUNTER_UNNAMED_WAIT_NS, folding.unnamed_wait_ns },
		{ COUNTER_WAITS_WITHOUT_ACCOUNT_NS, folding.waits_without_account_ns },
		{ COUNTER_CALLS_DROPPED, ledger__quality(ledger, QUALITY_CALLS_DROPPED) },
		{ COUNTER_TURNS_UNKNOWN, ledger__quality(ledger, QUALITY_TURNS_UNKNOWN) },
		{ COUNTER_UNLISTED, ledger__quality(ledger, QUALITY_UNLISTED) },
		{ COUNTER_OCCUPANTS_LOST_NS, ledger__quality(ledger, QUALITY_OCCUPANTS_LOST_NS) },
		{ COUNTER_RECURSION, ledger__recursion_misses(ledger) },
		{ COUNTER_MALFORMED, folding.malformed + ledger__malformed(ledger) },
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
		{ COUNTER_SAMPLES_UNOWNED, own->samples.without_workload },
		{ COUNTER_CODE_UNANSWERED, own->samples.unanswered },
	};

	for (size_t i = 0; i < LOSSES_COUNT; i++) {
		const struct counter_words *words = counters__words(values[i].counter);

		ret[i] = (struct losses_row) { words->name, values[i].value, words->is_loss };
	}
}
