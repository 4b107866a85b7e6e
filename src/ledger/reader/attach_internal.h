/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of this folder. */
#pragma once

#include "bpf/series.h"
#include "bpf/unwind.h"
#include "core/ring.h"
#include "core/series.h"
#include "ledger/reader/attach.h"
#include "ledger/reader/periods.h"

/* Included last, because it needs the types above. */
#include "ledger.skel.h"

#define READ_BYTES (256 * 1024)

struct ledger {
	struct ledger_bpf *skel;
	struct hook_use uses[LEDGER_HOOKS];
	size_t hook_count;
	struct bpf_link *links[LEDGER_HOOKS];
	struct ring *ring, *stack_ring;
	struct bpf_link **ticks; /* one per CPU */
	int *tick_fds;           /* perf event per CPU, owned by its link; -1: none */
	struct periods *periods;
	uint64_t tick_ns, seed;
	uint64_t rate_ns, rate_drawn, rate_left; /* time and counts at the last rate check */
	uint64_t rate_paths[LEDGER_PATH_STREAMS];
	bool with_syscalls;
	bool by_user;       /* threads are chosen by their user */
	uint64_t seeded_ns; /* last seeding after the start */
	int cpus;
	void *calls, *histograms, *cpu_accounts;
	char *buffer; /* READ_BYTES long, for snapshots */
	struct series_barrier barrier;
	uint64_t swapped_ns; /* when the two maps of waits were last swapped */
	struct ledger_calibration calibration;
};

/* Call these before and after the hooks are attached, while no thread has an account. */
void calibrate__before(struct ledger *ledger);
void calibrate__after(struct ledger *ledger);

/* Starts the clock on every CPU. Warns about each that does not start. */
int ticks__start(struct ledger *ledger);
void ticks__stop(struct ledger *ledger);
