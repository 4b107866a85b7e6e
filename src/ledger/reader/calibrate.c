/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures what hooks cost on this machine, by making small syscalls while no other thread has an
 * account. There are two results. The cost of a call with and without hooks goes into the report
 * as part of gapless's own cost. The time from the end of one call to the start of the next, for a
 * thread that does nothing in between, is subtracted by the kernel half from the time outside
 * syscalls (`crossing_ns`).
 *
 * The calling thread needs an account for this. It is created here, not in the kernel half: a
 * special case in a hook would cost time in every call of every thread. Its traces in the counters
 * are removed afterwards.
 *
 * The shortest batch counts, because the others were disturbed. Subtracting too little is the
 * smaller error: the ticks still find the remaining time. If the whole measurement was disturbed
 * (for example by another tracer), it is repeated a few times. And the kernel half lowers
 * crossing_ns when it sees shorter intervals.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/timing.h"
#include "ledger/reader/attach_internal.h"

#define BATCHES 32

/* If hooks make a small call take this many times as long, measure again a little later. */
#define ODD_RATIO  4
#define MOST_TRIES 4
#define PAUSE_US   2000

/* What hooks cost if it cannot be measured. */
#define DEFAULT_TIMED_NS   150
#define DEFAULT_UNTIMED_NS 50
/* Of a thread that is woken and gets a CPU. */
#define DEFAULT_SWITCH_NS 600

/* No thread of a recording has this id. */
#define OWN_ID UINT64_MAX

/* Syscalls that calibration makes. Reading some clock sources needs clock_gettime(). */
static const uint32_t own_calls[] = { SYS_getppid, SYS_bpf, SYS_clock_gettime };

static double least(double a, double b)
{
	return !a || b < a ? b : a;
}

void calibrate__before(struct ledger *ledger)
{
	if (ledger->skel->rodata->full)
		ledger->calibration.plain_call_ns = timing__call_ns();
}

/* --- with an account ------------------------------------------------------------------------- */

struct own_account {
	int map, pidfd;
	struct ledger_thread *value;
};

static int open_account(struct own_account *own)
{
	uint64_t now_ns = clock__now_ns();

	own->value->identity.id = OWN_ID;
	own->value->account.first_ns = own->value->account.since_ns = now_ns;
	own->value->account.slot = SLOT_RUN_KERNEL;
	return bpf_map_update_elem(own->map, &own->pidfd, own->value, BPF_NOEXIST);
}

/* Takes the account back from this CPU, see kernel/here.bpf.h. */
static void take_back(struct ledger *ledger)
{
	*(volatile __u32 *)&ledger->skel->bss->flush += 1;
	syscall(SYS_getppid);
}

/* The mean length of intervals outside of calls, in the shortest batch. 0: cannot be read. */
static double crossing_ns(struct ledger *ledger, struct own_account *own)
{
	double ns = 0;

	for (int i = 0; i < BATCHES; i++) {
		struct ledger_account then;
		uint32_t count;

		if (bpf_map_lookup_elem(own->map, &own->pidfd, own->value))
			return 0;
		then = own->value->account;
		timing__make_calls();
		take_back(ledger);
		if (bpf_map_lookup_elem(own->map, &own->pidfd, own->value))
			return 0;
		count = own->value->account.count[SLOT_RUN_USER] - then.count[SLOT_RUN_USER];
		if (!count)
			return 0;
		ns = least(ns, (double)(own->value->account.ns[SLOT_RUN_USER] -
					then.ns[SLOT_RUN_USER]) /
				       count);
	}
	return ns;
}

/* The duration of a small syscall of which the hooks only count most, see kernel/budget.bpf.h. */
static double untimed_call_ns(struct ledger *ledger)
{
	double ns;

	*(volatile __u32 *)&ledger->skel->bss->least_shift = LEDGER_MOST_SHIFT;
	take_back(ledger);
	ns = timing__call_ns();
	*(volatile __u32 *)&ledger->skel->bss->least_shift = 0;
	return ns;
}

/* The kernel half chooses by these how many calls it times. */
static void set_costs(struct ledger *ledger)
{
	const struct ledger_calibration *taken = &ledger->calibration;
	double timed_ns = taken->hooked_call_ns - taken->plain_call_ns;
	double untimed_ns = taken->untimed_call_ns - taken->plain_call_ns;

	if (timed_ns <= 0 || untimed_ns <= 0 || untimed_ns > timed_ns)
		timed_ns = DEFAULT_TIMED_NS, untimed_ns = DEFAULT_UNTIMED_NS;
	ledger->skel->bss->timed_call_ns = (uint32_t)timed_ns;
	ledger->skel->bss->untimed_call_ns = (uint32_t)untimed_ns;
	ledger->skel->bss->switch_cost_ns = DEFAULT_SWITCH_NS;
}

static void clear_array(const struct bpf_map *map, uint32_t first, uint32_t step)
{
	cleanup(free_p) void *zero = calloc(1, bpf_map__value_size(map));

	for (uint32_t i = first; zero && i < bpf_map__max_entries(map); i += step)
		bpf_map_update_elem(bpf_map__fd(map), &i, zero, BPF_ANY);
}

/* Clearing whole entries is safe: no other thread has been counted yet. */
static void forget_calls(struct ledger *ledger)
{
	for (size_t i = 0; i < sizeof(own_calls) / sizeof(*own_calls); i++) {
		const struct series_key key = { .thread = OWN_ID,
						.operation = (uint16_t)own_calls[i] };
		/* Thread 0 stands for threads that lived shortly. */
		const struct ledger_thread_call brief = { .number = own_calls[i] };
		const struct ledger_thread_call own = { .thread = OWN_ID, .number = own_calls[i] };

		clear_array(ledger->skel->maps.calls, own_calls[i], LEDGER_SYSCALLS);
		bpf_map_delete_elem(bpf_map__fd(ledger->skel->maps.thread_calls_a), &brief);
		bpf_map_delete_elem(bpf_map__fd(ledger->skel->maps.thread_calls_a), &own);
		bpf_map_delete_elem(bpf_map__fd(ledger->skel->maps.syscalls_sums_a), &key);
	}
	clear_array(ledger->skel->maps.histograms, 0, 1);
}

/* While it has an account, the thread makes only the syscalls in own_calls. */
static bool try_once(struct ledger *ledger, struct own_account *own)
{
	struct ledger_calibration *taken = &ledger->calibration;

	if (open_account(own))
		return false;
	taken->hooked_call_ns = least(taken->hooked_call_ns, timing__call_ns());
	taken->crossing_ns = least(taken->crossing_ns, crossing_ns(ledger, own));
	if (ledger->skel->bss->call_budget)
		taken->untimed_call_ns = least(taken->untimed_call_ns, untimed_call_ns(ledger));
	bpf_map_delete_elem(own->map, &own->pidfd);
	take_back(ledger);
	/* Its sums of calls. */
	bpf_map_delete_elem(bpf_map__fd(ledger->skel->maps.call_sums), &own->pidfd);
	return true;
}

static void measure(struct ledger *ledger, struct own_account *own)
{
	/* No interval may be drawn: the recording has no thread for the sample. */
	uint64_t period_ns = ledger->skel->bss->draw_period_ns;
	struct ledger_calibration *taken = &ledger->calibration;

	ledger->skel->bss->draw_period_ns = UINT64_C(1) << 40;
	for (int i = 0; i < MOST_TRIES && try_once(ledger, own); i++) {
		if (taken->hooked_call_ns < ODD_RATIO * taken->plain_call_ns)
			break;
		usleep(PAUSE_US);
	}
	forget_calls(ledger);
	ledger->skel->bss->draw_period_ns = period_ns;
	ledger->skel->bss->crossing_ns = (uint64_t)ledger->calibration.crossing_ns;
}

void ledger__calibrate(struct ledger *ledger)
{
	const struct bpf_map *map = ledger->skel->maps.threads;
	/* User space reaches task storage by a pidfd, which refers to the thread group leader. */
	cleanup(close_p) int pidfd =
		gettid() == getpid() ? (int)syscall(SYS_pidfd_open, getpid(), 0) : -1;
	cleanup(free_p) void *value = calloc(1, bpf_map__value_size(map));
	struct own_account own = { bpf_map__fd(map), pidfd, value };

	if (!ledger->skel->rodata->full || !value)
		return;
	if (pidfd >= 0)
		measure(ledger, &own);
	set_costs(ledger);
	if (!ledger->calibration.crossing_ns)
		log_warning("what a syscall costs with hooks could not be measured; continuing "
			    "with that time outside syscalls");
	log_debug("a small syscall takes %.0f ns without hooks, %.0f ns with them, %.0f ns if they "
		  "only count; %.0f ns are between two calls",
		  ledger->calibration.plain_call_ns, ledger->calibration.hooked_call_ns,
		  ledger->calibration.untimed_call_ns, ledger->calibration.crossing_ns);
}

struct ledger_calibration ledger__calibration(const struct ledger *ledger)
{
	struct ledger_calibration calibration = ledger->calibration;

	calibration.crossing_ns = (double)ledger->skel->bss->crossing_ns;
	return calibration;
}
