/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of this folder. */
#pragma once

#include "bpf/collections.h"
#include "bpf/series.h"
#include "bpf/unwind.h"
#include "core/ring.h"
#include "core/series.h"
#include "ledger/reader/attach.h"
#include "ledger/reader/periods.h"

/* Included last, because it needs the types above and those of the parts of signals. */
#include "part_types_list.h"

#include "ledger.skel.h"

#define READ_BYTES (256 * 1024)

struct ledger {
	struct ledger_bpf *skel;
	struct hook_use uses[LEDGER_HOOKS];
	size_t hook_count;
	struct bpf_link *links[LEDGER_HOOKS];
	struct bpf_link *seeder, *snapshots, *asleep; /* iterators */
	struct ring *ring, *stack_ring, *window_ring;
	struct bpf_link **ticks; /* one per CPU */
	uint64_t tick_starts;    /* so far: each has other random periods */
	int *tick_fds;           /* perf event per CPU, owned by its link; -1: none */
	struct periods *periods;
	uint64_t tick_ns, seed;
	bool is_paused;      /* no samples are taken; hooks and ticks for them are detached */
	uint32_t thin_shift; /* see ledger__thin_stacks() */
	uint64_t rate_ns, rate_drawn, rate_left; /* time and counts at the last rate check */
	uint64_t rate_paths[LEDGER_PATH_STREAMS];
	bool shares_calls;  /* the signal "syscalls" is on */
	bool by_user;       /* threads are chosen by their user */
	uint64_t seeded_ns; /* last seeding after the start */
	int cpus;
	void *calls, *histograms, *cpu_accounts;
	void *bands, *band_infos; /* of windows; NULL: off */
	char *buffer;             /* READ_BYTES long, for snapshots */
	struct series_barrier barrier;
	uint64_t swapped_ns; /* when the two maps of waits were last swapped */
	struct ledger_calibration calibration;
};

/* Loads the kernel half. Logs; returns -errno. */
int parts__load(struct ledger *ledger, const struct ledger_options *options,
		struct features *features);

/* All parts, except those that are impossible here. Arrays of parts end with a NULL signal. */
void parts__switch_all(struct part *parts, bool on);
bool parts__any(const struct part *parts);
/* Leaves out the programs and maps that begin with this name. */
int parts__leave_out(struct bpf_object *object, const char *name);
/* Whether a part that is on lists this program among its hooks. */
bool parts__need(const struct part *parts, const char *program);
/* Before the load: chooses the programs of parts that are on, leaves out the others. */
int parts__set_up(struct ledger *ledger, const struct ledger_options *options,
		  struct features *features);

/* Call this before the hooks are attached, and ledger__calibrate() after. */
void calibrate__before(struct ledger *ledger);

/* Starts the clock on every CPU. Warns about each that does not start. */
int ticks__start(struct ledger *ledger);
void ticks__stop(struct ledger *ledger);
