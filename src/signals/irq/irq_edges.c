/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/irq/irq_edges.h"

#include <bpf/bpf.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"
#include "bpf/interrupts.h"
#include "core/sys.h"

/* The median of the last batches counts: some are disturbed by others. */
#define BATCHES       12
#define BATCHES_LATER 6
#define SPIN_NS       250000
#define SETTLE_NS     20000
#define LEAST_HITS    10
/* Two readings are further apart than this many times the usual if something came between. */
#define GAP 5

/* Interrupts the CPU that spins, while `go` is set. */
struct sender {
	int cpu;
	bool go, is_over;
};

struct spin {
	int cpu;
	int map;
	struct interrupts *each; /* one for each possible CPU */
	uint64_t step_ns;        /* usual distance of two readings */
};

static double batches[BATCHES]; /* the edges of one interrupt, by the last batches */
static size_t batch_count;
static uint64_t counts[CPU_SETSIZE]; /* interrupts of each CPU so far */

static long membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

static void *send(void *context)
{
	struct sender *sender = context;

	sys__stay_on_cpu(sender->cpu);
	while (!__atomic_load_n(&sender->is_over, __ATOMIC_RELAXED))
		if (__atomic_load_n(&sender->go, __ATOMIC_RELAXED))
			membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
	return NULL;
}

/* What is missing between readings of the clock. */
static uint64_t missing_ns(const struct spin *spin, uint64_t length_ns)
{
	uint64_t begin_ns = clock__now_ns(), last_ns = begin_ns, now_ns = begin_ns, missing = 0;

	while (now_ns - begin_ns < length_ns) {
		now_ns = clock__now_ns();
		if (now_ns - last_ns > GAP * spin->step_ns)
			missing += now_ns - last_ns - spin->step_ns;
		last_ns = now_ns;
	}
	return missing;
}

static uint64_t usual_step_ns(void)
{
	uint64_t begin_ns = clock__now_ns(), last_ns = begin_ns, least_ns = UINT64_MAX;

	for (int i = 0; i < 1000; i++) {
		uint64_t now_ns = clock__now_ns();

		if (now_ns - last_ns < least_ns && now_ns > last_ns)
			least_ns = now_ns - last_ns;
		last_ns = now_ns;
	}
	return least_ns;
}

static bool read_totals(const struct spin *spin, struct interrupts *ret)
{
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(spin->map, &zero, spin->each))
		return false;
	*ret = spin->each[spin->cpu];
	return true;
}

/* How often the calling thread has lost its CPU. */
static long preemptions(void)
{
	struct rusage usage = {};

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nivcsw;
}

/*
 * The edges of one interrupt; negative: too few came, or another thread had the CPU. No interrupt
 * is sent while totals are read.
 */
static double measure_batch(const struct spin *spin, struct sender *sender)
{
	struct interrupts before, after;
	uint64_t missing, hits;
	long lost = preemptions();

	if (!read_totals(spin, &before))
		return -1;
	__atomic_store_n(&sender->go, true, __ATOMIC_RELAXED);
	missing = missing_ns(spin, SPIN_NS);
	__atomic_store_n(&sender->go, false, __ATOMIC_RELAXED);
	missing += missing_ns(spin, SETTLE_NS);
	if (!read_totals(spin, &after))
		return -1;
	hits = after.hard_count - before.hard_count;
	if (hits < LEAST_HITS || preemptions() != lost)
		return -1;
	return ((double)missing - (double)(after.total_ns - before.total_ns)) / (double)hits;
}

static int compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

static void measure(const struct spin *spin, struct sender *sender)
{
	size_t count = batch_count ? BATCHES_LATER : BATCHES;

	for (size_t i = 0; i < count; i++) {
		double ns = measure_batch(spin, sender);

		if (ns >= 0)
			batches[batch_count++ % BATCHES] = ns;
	}
}

static uint64_t median(void)
{
	double sorted[BATCHES];
	size_t count = batch_count < BATCHES ? batch_count : BATCHES;

	if (count < BATCHES / 2)
		return 0;
	memcpy(sorted, batches, count * sizeof(*batches));
	qsort(sorted, count, sizeof(*sorted), compare);
	return (uint64_t)sorted[count / 2];
}

/*
 * Of the CPUs that this thread may use, the one that got most interrupts since the last time:
 * what runs beside them matters, too.
 */
static int busiest_cpu(const struct spin *spin, const cpu_set_t *allowed, size_t cpus)
{
	uint64_t most = 0;
	uint32_t zero = 0;
	int cpu = -1;

	if (bpf_map_lookup_elem(spin->map, &zero, spin->each))
		return -1;
	for (size_t i = 0; i < cpus && i < CPU_SETSIZE; i++) {
		uint64_t count = spin->each[i].hard_count - counts[i];

		counts[i] = spin->each[i].hard_count;
		if (CPU_ISSET(i, allowed) && (cpu < 0 || count > most)) {
			cpu = (int)i;
			most = count;
		}
	}
	return cpu;
}

/* Another CPU that this thread may use; -1: none. */
static int other_cpu(const cpu_set_t *allowed, int cpu)
{
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (i != cpu && CPU_ISSET((size_t)i, allowed))
			return i;
	return -1;
}

static void spin_and_send(struct spin *spin, const cpu_set_t *allowed)
{
	struct sender sender = { .cpu = other_cpu(allowed, spin->cpu) };
	pthread_t thread;

	if (sender.cpu < 0 || threads__start(send, &sender, &thread))
		return;
	sys__stay_on_cpu(spin->cpu);
	spin->step_ns = usual_step_ns();
	measure(spin, &sender);
	(void)sched_setaffinity(0, sizeof(*allowed), allowed);
	__atomic_store_n(&sender.is_over, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
}

uint64_t irq_edges__measure(const struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "interrupts_of_cpu");
	size_t cpus = (size_t)sys__possible_cpus();
	cleanup(free_p) struct interrupts *each = calloc(cpus, sizeof(*each));
	struct spin spin = { .each = each };
	cpu_set_t allowed;

	if (!map || !each)
		return 0;
	spin.map = bpf_map__fd(map);
	if (!sched_getaffinity(0, sizeof(allowed), &allowed) &&
	    !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		spin.cpu = busiest_cpu(&spin, &allowed, cpus);
	else
		spin.cpu = -1;
	if (spin.cpu >= 0)
		spin_and_send(&spin, &allowed);
	return median();
}
