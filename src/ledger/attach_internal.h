/* What attach.c and read.c share, and nobody else. */
#pragma once

#include "bpf/series.h"
#include "bpf/unwind.h"
#include "core/ring.h"
#include "ledger/attach.h"

/* After the types that it uses. */
#include "ledger.skel.h"

#define READ_BYTES (256 * 1024)

struct ledger {
	struct ledger_bpf *skel;
	struct hook_use uses[LEDGER_HOOKS];
	size_t hook_count;
	struct bpf_link *links[LEDGER_HOOKS];
	struct ring *ring, *stack_ring;
	struct bpf_link **ticks; /* one per CPU */
	uint64_t tick_ns;
	uint64_t rate_ns, rate_drawn; /* when the rate was looked at last, and what it was */
	bool with_syscalls;
	int cpus;
	void *calls, *histograms, *cpu_accounts;
	char *buffer; /* of READ_BYTES, for snapshots */
	struct ledger_sum overflow_taken[SLOT_COUNT];
};

/* The clock on every CPU; it warns of those that do not start. */
int ticks__start(struct ledger *ledger);
void ticks__stop(struct ledger *ledger);
