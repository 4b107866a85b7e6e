/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_windows.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/series.h"
#include "signals/heap/heap.h"
#include "signals/heap/heap_cost.h"
#include "signals/heap/heap_plan.h"
#include "signals/heap/heap_probing.h"

#define MS_NS UINT64_C(1000000)
/* While probes stay attached, a slot is this long. */
#define STAY_NS (250 * MS_NS)
/* Meanwhile, look this often whether they cost too much; at first, and in windows, more often. */
#define LOOK_NS       (20 * MS_NS)
#define FIRST_LOOK_NS (2 * MS_NS)
#define FIRST_LOOKS   50
/* A window ends early if its hits cost this many times as much as planned. */
#define MOST_COST 2
/* Less CPU time than this in a window says nothing about what hits cost. */
#define LEAST_CPU_NS (MS_NS / 5)
/* Of the recording's budget, this part is for the heap. */
#define BUDGET_PART 5
/* A window whose edges took more than this part of it is not used. */
#define EDGE_PART 5
/* Samples in a window; and the period before anything is known. */
#define WINDOW_SAMPLES 64
#define FIRST_PERIOD   65536
#define MOST_PERIOD    (UINT64_C(1) << 38)
/* What the BPF program takes, before it has measured that itself. */
#define INSIDE_NS 200

static struct {
	const char *command;
	double share; /* of the target's CPU time; 0: no limit */
	struct heap_control *control;
	bool is_attached; /* for good */
	/* In the current slot: */
	uint64_t slot_began_ns;
	struct heap_cpu cpu;
	struct heap_totals slot_totals; /* at its begin */
	struct heap_slot slot;
	struct heap_plan plan;
	double cost_ns, cost_cpu_ns; /* of windows, the last ones weigh most */
	unsigned looks;
	pthread_t thread;
	bool is_running;
	/* Under the lock: */
	bool is_stopping;
	struct heap_slot *slots;
	size_t slot_count;
} heap;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;

void heap_windows__aim(const struct target *target, const char *command, uint32_t budget_ppm)
{
	heap_probing.target = target;
	heap.command = command;
	heap.share = budget_ppm / 1e6 / BUDGET_PART;
}

/* Until a time. Returns whether the recording ends. */
static bool wait_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / 1000000000),
					.tv_nsec = (long)(ns % 1000000000) };
	bool is_stopping;
	int err = 0;

	pthread_mutex_lock(&lock);
	while (!heap.is_stopping && !err)
		err = pthread_cond_timedwait(&wake, &lock, &until);
	is_stopping = heap.is_stopping;
	pthread_mutex_unlock(&lock);
	return is_stopping;
}

/* --- slots ------------------------------------------------------------------------------------ */

/* A slot begins when the last one ends, so that they cover the whole recording. */
static void begin_slot(const struct heap_totals *now)
{
	heap.slot_began_ns = clock__now_ns();
	heap.slot_totals = *now;
	heap.slot = (struct heap_slot) {};
	heap.cpu = (struct heap_cpu) {};
}

static void keep_slot(void)
{
	struct heap_slot *slot;

	pthread_mutex_lock(&lock);
	slot = APPEND(&heap.slots, &heap.slot_count);
	if (slot)
		*slot = heap.slot;
	pthread_mutex_unlock(&lock);
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static void earn(double ns)
{
	double most = heap.plan.share * (double)STAY_NS;

	heap.plan.credit_ns += ns;
	if (heap.plan.credit_ns > most)
		heap.plan.credit_ns = most;
}

/* The CPU time must have been read just before the totals. */
static void end_slot(const struct heap_totals *now, bool is_all_window)
{
	struct heap_slot *slot = &heap.slot;
	double cpu_share;

	slot->time_ns = clock__now_ns();
	slot->slot_ns = slot->time_ns - heap.slot_began_ns;
	if (is_all_window)
		slot->window_ns = slot->slot_ns;
	slot->slot_cost_ns = heap_cost__between(&heap.slot_totals, now);
	slot->slot_cpu_ns = minus(heap.cpu.all_ns, slot->slot_cost_ns);
	earn(heap.plan.share * (double)heap.cpu.all_ns - (double)slot->slot_cost_ns);
	cpu_share = (double)heap.cpu.all_ns / (double)(slot->slot_ns + 1);
	heap.plan.cpu_share =
		heap.plan.cpu_share > 0 ? (heap.plan.cpu_share + cpu_share) / 2 : cpu_share;
	keep_slot();
	begin_slot(now);
}

/* What hits cost, and the CPU time with it. */
static void note_cost(double cost_ns, double cpu_ns)
{
	if (cpu_ns < LEAST_CPU_NS)
		return;
	heap.cost_ns = heap.cost_ns / 2 + cost_ns;
	heap.cost_cpu_ns = heap.cost_cpu_ns / 2 + cpu_ns;
	heap.plan.cost_share = heap.cost_ns / heap.cost_cpu_ns;
}

static void set_period(uint64_t bytes)
{
	uint64_t period = bytes / WINDOW_SAMPLES;

	heap.control->period_bytes = period < 1 ? 1 : period > MOST_PERIOD ? MOST_PERIOD : period;
}

/* --- windows ---------------------------------------------------------------------------------- */

/* When a window was open. CPU time is read between `before` and `open`, `close` and `after`. */
struct edges {
	uint64_t before_ns, open_ns, close_ns, after_ns;
	struct heap_totals from, to; /* at `before` and `after` */
};

static void note_calls(const struct heap_totals *from, const struct heap_totals *to)
{
	heap.slot.calls = to->calls - from->calls;
	heap.slot.bytes = to->bytes - from->bytes;
	heap.slot.frees = to->frees - from->frees;
	set_period(heap.slot.bytes);
}

/* Of the CPU time and of the cost, as much as is of the time in which the window was open. */
static void note_window(const struct edges *edges, uint64_t cpu_ns)
{
	struct heap_slot *slot = &heap.slot;
	double open = (double)(edges->close_ns - edges->open_ns),
	       whole = (double)(edges->after_ns - edges->before_ns + 1), read = (open + whole) / 2,
	       cost = (double)heap_cost__between(&edges->from, &edges->to) * open / whole,
	       cpu = (double)cpu_ns * open / read - cost;

	slot->window_ns = edges->close_ns - edges->open_ns;
	slot->cost_ns = (uint64_t)cost;
	slot->cpu_ns = cpu > 0 ? (uint64_t)cpu : 0;
	note_calls(&edges->from, &edges->to);
}

/* Until the window has its length, or costs too much. */
static void keep_open(const struct heap_step *step, const struct edges *edges)
{
	uint64_t end_ns = edges->open_ns + step->window_ns, look_ns = edges->open_ns;
	struct heap_totals now;

	do {
		look_ns += FIRST_LOOK_NS;
		if (wait_until(look_ns < end_ns ? look_ns : end_ns))
			return;
		now = heap_cost__totals();
	} while (look_ns < end_ns &&
		 (double)heap_cost__between(&edges->from, &now) <= MOST_COST * step->cost_ns);
}

/* Returns false if the window cannot be used. */
static bool observe(const struct heap_step *step)
{
	struct edges edges = {};
	uint64_t edges_ns, cpu_ns;

	edges.from = heap_cost__totals();
	edges.before_ns = clock__now_ns();
	heap_processes__advance(&heap_probing.processes, &heap.cpu);
	cpu_ns = heap.cpu.probed_ns;
	edges.open_ns = clock__now_ns();
	__atomic_store_n(&heap.control->is_open, 1, __ATOMIC_SEQ_CST);
	keep_open(step, &edges);
	__atomic_store_n(&heap.control->is_open, 0, __ATOMIC_SEQ_CST);
	edges.close_ns = clock__now_ns();
	heap_processes__advance(&heap_probing.processes, &heap.cpu);
	edges.after_ns = clock__now_ns();
	edges.to = heap_cost__totals();
	cpu_ns = heap.cpu.probed_ns - cpu_ns;
	(void)heap_cost__measure();
	note_cost((double)heap_cost__between(&edges.from, &edges.to), (double)cpu_ns);
	edges_ns = edges.open_ns - edges.before_ns + edges.after_ns - edges.close_ns;
	heap.plan.edges_ns = (heap.plan.edges_ns + (double)edges_ns) / 2;
	if (edges_ns * EDGE_PART > edges.close_ns - edges.open_ns)
		return false;
	note_window(&edges, cpu_ns);
	return true;
}

static void take_window(const struct heap_step *step)
{
	struct heap_totals before = heap_cost__totals(), after;
	uint64_t cost_ns;

	(void)heap_probing__look(&heap.cpu);
	heap_probing__attach_all();
	if (!observe(step))
		log_debug("a window of the heap was disturbed; it is not used");
	heap_probing__detach_all();
	after = heap_cost__totals();
	cost_ns = heap_cost__between(&before, &after);
	heap.plan.overhead_ns =
		(heap.plan.overhead_ns + (double)minus(cost_ns, heap.slot.cost_ns)) / 2;
}

static void run_slot(void)
{
	const struct heap_step step = heap_plan__next(&heap.plan);
	bool is_last = step.window_ns == UINT64_MAX;
	struct heap_totals now;

	(void)heap_probing__look(&heap.cpu);
	if (is_last) {
		heap_probing__attach_all();
		heap.control->is_open = 1;
	} else {
		if (step.window_ns && !wait_until(heap.slot_began_ns +
						  heap_plan__choose(step.slot_ns - step.window_ns)))
			take_window(&step);
		(void)wait_until(heap.slot_began_ns + step.slot_ns);
	}
	heap_processes__advance(&heap_probing.processes, &heap.cpu);
	now = heap_cost__totals();
	end_slot(&now, false);
	heap.is_attached = is_last;
}

/* --- probes that stay ------------------------------------------------------------------------- */

/*
 * Whether hits cost more than they may in this slot. A short burst, as at the start of a program,
 * may use what a whole slot has. `from` and `cpu_ns` are of the last look.
 */
static bool is_too_much(const struct heap_totals *from, uint64_t cpu_ns)
{
	struct heap_totals now = heap_cost__totals();
	double cost_ns = (double)heap_cost__between(&heap.slot_totals, &now),
	       share = heap.plan.share;

	note_cost((double)heap_cost__between(from, &now), (double)cpu_ns);
	return share > 0 && cost_ns > share * (double)STAY_NS &&
	       cost_ns > 2 * share * (double)heap.cpu.all_ns;
}

static void stop_staying(void)
{
	heap.control->is_open = 0;
	heap.plan.overhead_ns = 0;
	heap_probing__detach_all();
	heap.is_attached = false;
}

/* One slot, all of which is a window. */
static void stay_attached(void)
{
	struct heap_totals now, looked;
	uint64_t looked_ns, cpu_ns;
	bool is_over, is_dear, is_partial;

	do {
		looked = heap_cost__totals();
		looked_ns = clock__now_ns();
		cpu_ns = heap.cpu.all_ns;
		is_over = wait_until(looked_ns +
				     (heap.looks++ < FIRST_LOOKS ? FIRST_LOOK_NS : LOOK_NS));
		heap_processes__advance(&heap_probing.processes, &heap.cpu);
		is_dear = is_too_much(&looked, heap.cpu.all_ns - cpu_ns);
	} while (!is_over && !is_dear && clock__now_ns() < heap.slot_began_ns + STAY_NS);
	is_partial = is_over || is_dear ? heap_probing__look(&heap.cpu)
					: heap_probing__attach_new(&heap.cpu);
	if (is_over || is_dear)
		__atomic_store_n(&heap.control->is_open, 0, __ATOMIC_SEQ_CST);
	heap_processes__advance(&heap_probing.processes, &heap.cpu);
	now = heap_cost__totals();
	heap.slot.cost_ns = heap_cost__between(&heap.slot_totals, &now);
	heap.slot.cpu_ns = minus(heap.cpu.probed_ns, heap.slot.cost_ns);
	note_calls(&heap.slot_totals, &now);
	/* If an allocator had no probes, the slot is as good as one without a window. */
	if (is_partial)
		heap.slot = (struct heap_slot) {};
	end_slot(&now, !is_partial);
	if (is_dear)
		stop_staying();
}

static void *work(void *context)
{
	bool is_stopping = false;

	(void)setpriority(PRIO_PROCESS, 0, -19);
	while (!is_stopping) {
		if (heap.is_attached)
			stay_attached();
		else
			run_slot();
		pthread_mutex_lock(&lock);
		is_stopping = heap.is_stopping;
		pthread_mutex_unlock(&lock);
	}
	heap.control->is_open = 0;
	return context;
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Probes stay attached from the beginning if the first moment shows that calls are few. */
static void try_to_stay(void)
{
	struct heap_totals from, to;
	struct heap_cpu cpu = {};
	double cost_ns;

	if (!heap_probing.processes.count || !heap_probing.files.count)
		return;
	heap_processes__advance(&heap_probing.processes, &cpu);
	cpu = (struct heap_cpu) {};
	from = heap_cost__totals();
	heap_probing__attach_all();
	usleep(HEAP_PLAN_FIRST_NS / 1000);
	heap_processes__advance(&heap_probing.processes, &cpu);
	to = heap_cost__totals();
	cost_ns = (double)(to.others - from.others) * (double)(heap_cost__measure() + INSIDE_NS);
	heap.is_attached =
		!heap.plan.share || cost_ns <= heap.plan.share * (double)(cpu.all_ns + MS_NS);
	if (heap.is_attached) {
		heap.control->is_open = 1;
		return;
	}
	note_cost(cost_ns, (double)cpu.all_ns);
	heap_probing__detach_all();
}

static int find_variables(struct bpf_object *object)
{
	size_t size = 0;

	heap.control = series__section(object, ".data.heap", &size);
	if (!heap.control || size != sizeof(*heap.control))
		return -EPROTO;
	heap.control->is_open = 0;
	heap.control->period_bytes = FIRST_PERIOD;
	return 0;
}

int heap_windows__attach(struct bpf_object *object)
{
	pthread_condattr_t attr;
	int err;

	if (!heap_probing.target) {
		log_error("the heap has no target [gapless record --memory-heap]");
		return -EINVAL;
	}
	heap_probing.object = object;
	err = find_variables(object);
	if (!err)
		err = heap_cost__open(object);
	if (!err)
		err = heap_processes__open(&heap_probing.processes, object);
	if (err)
		return err;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&wake, &attr);
	pthread_condattr_destroy(&attr);
	heap.cost_ns = heap.cost_cpu_ns = heap.looks = 0;
	heap.plan = (struct heap_plan) { .share = heap.share, .cost_share = -1 };
	heap_probing__find(heap.command);
	try_to_stay();
	log_debug("heap: %zu files, %zu processes, a hit costs %lu ns, probes %s",
		  heap_probing.files.count, heap_probing.processes.count,
		  (unsigned long)heap_cost__measure(),
		  heap.is_attached ? "stay attached" : "are attached for windows");
	return 0;
}

static int begin(void)
{
	struct heap_totals now;
	struct heap_cpu none = {};
	int err = heap_processes__list(&heap_probing.processes, &none);

	if (err)
		return err;
	now = heap_cost__totals();
	begin_slot(&now);
	err = -pthread_create(&heap.thread, NULL, work, NULL);
	heap.is_running = !err;
	return err;
}

static void end(void)
{
	if (!heap.is_running)
		return;
	pthread_mutex_lock(&lock);
	heap.is_stopping = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
	pthread_join(heap.thread, NULL);
	heap.is_running = false;
}

int heap_windows__refresh(bool is_last)
{
	if (is_last)
		end();
	else if (!heap.is_running && !heap.is_stopping)
		return begin();
	return 0;
}

/* What was seen must still be taken. */
void heap_windows__detach(void)
{
	if (!heap_probing.object)
		return;
	end();
	heap_probing__detach_all();
	heap_cost__close();
	heap_processes__close(&heap_probing.processes);
	heap_files__release(&heap_probing.files);
	pthread_cond_destroy(&wake);
	heap_probing.object = NULL;
	heap.is_attached = false;
	heap.is_stopping = false;
}

size_t heap_windows__take(struct heap_slot **ret)
{
	size_t count;

	pthread_mutex_lock(&lock);
	*ret = heap.slots;
	count = heap.slot_count;
	heap.slots = NULL;
	heap.slot_count = 0;
	pthread_mutex_unlock(&lock);
	return count;
}
