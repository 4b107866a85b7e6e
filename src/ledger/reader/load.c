/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets up and loads the kernel half: the ledger, and the parts of the signals that are on. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"
#include "ledger/reader/attach_internal.h"
#include "ledger/windows/reader_internal.h"
#include "vocabulary/calls.h"
#include "vocabulary/states.h"

/* Enough for the sums of one or two seconds on a machine that starts 10,000 threads a second. */
#define WAITS_OF_ALL      65536
#define LEAST_STACK_BYTES 16384

/* What a hook can be needed for. */
enum ledger_need {
	NEED_FULL = 1,
	NEED_STACKS = 2,
	NEED_NAMES = 4,     /* threads are chosen by name */
	NEED_CGROUPS = 8,   /* threads are chosen by cgroup */
	NEED_SCHED = 16,    /* level sched */
	NEED_IDENTITY = 32, /* cgroups that come and go */
	NEED_WINDOWS = 64,
};

/*
 * task_newtask is attached first, so that no new thread is missed by both the seeding and the hook.
 * Without the vital hooks accounts cannot begin or close. Without the others only detail is lost.
 */
static const struct hook hooks[] = {
	{ "task_newtask", { "on_newtask" }, HOOK_VITAL },
	{ "sched_process_exit", { "on_exit" } },
	{ "sched_switch", { "on_switch" }, HOOK_VITAL },
	{ "sched_waking", { "on_waking" } },
	{ "sched_wakeup", { "on_wakeup" }, HOOK_VITAL },
	{ "sched_wakeup_new", { "on_wakeup_new" } },
	{ "sched_migrate_task", { "on_migrate" } },
	{ "netif_rx", { "on_netif_rx" } },
	{ "softirq_entry", { "on_softirq_entry" } },
	{ "softirq_exit", { "on_softirq_exit" } },
	{ "hrtimer_expire_exit", { "on_timer_exit" } }, /* before entry: every entry has an exit */
	{ "hrtimer_expire_entry", { "on_timer_entry" } },
	{ "contention_begin", { "on_contention_begin" } },
	{ "contention_end", { "on_contention_end" } },
	{ "mm_filemap_fault", { "on_file_fault", "on_file_fault_entry", "on_file_fault_probe" } },
	{ "io_uring_submit_req", { "on_uring_submit", "on_uring_submit_sqe" } },
	{ "io_uring_complete", { "on_uring_complete" } },
	{ "sys_enter", { "on_sys_enter" }, HOOK_AT_CALLS, NEED_FULL },
	{ "sys_exit", { "on_sys_exit" }, HOOK_AT_CALLS, NEED_FULL | NEED_STACKS },
	{ "signal_deliver", { "on_signal_deliver" }, 0, NEED_FULL | NEED_STACKS },
	{ "sock_send_length", { "on_sock_send" }, 0, NEED_SCHED },
	{ "sock_recv_length", { "on_sock_receive" }, 0, NEED_SCHED },
	{ "sk_data_ready",
	  { "windows_on_readable", "windows_on_readable_entry" },
	  0,
	  NEED_WINDOWS },
	{ "sched_process_exec", { "on_exec" }, HOOK_VITAL },
	{ "task_rename", { "on_rename" }, 0, NEED_NAMES },
	{ "cgroup_attach_task", { "on_cgroup_attach" }, 0, NEED_CGROUPS },
	{ "cgroup_mkdir", { "on_cgroup_mkdir" }, 0, NEED_IDENTITY },
	{ "cgroup_rmdir", { "on_cgroup_rmdir" }, 0, NEED_IDENTITY },
	{},
};

static unsigned needs_of(const struct ledger_options *options)
{
	return (options->full ? NEED_FULL : NEED_SCHED) | (options->tick_ns ? NEED_STACKS : 0) |
	       (options->target->name_count ? NEED_NAMES : 0) |
	       (options->target->cgroups.count ? NEED_CGROUPS : 0) |
	       (options->with_cgroups ? NEED_IDENTITY : 0) | (options->requests ? NEED_WINDOWS : 0);
}

/* Size of a thread's kernel stack: 16 KiB, or one page if pages are larger. */
static uint64_t thread_stack_bytes(void)
{
	uint64_t page = (uint64_t)getpagesize();

	return page > LEAST_STACK_BYTES ? page : LEAST_STACK_BYTES;
}

/* The maps whose size depends on the number of threads and on how often they are read. */
static int size_maps(struct ledger_bpf *skel, const struct ledger_options *options)
{
	uint32_t most = options->most_waits ? options->most_waits : WAITS_OF_ALL, occupants;
	int err = 0;

	if (options->ring_bytes) {
		err |= bpf_map__set_max_entries(skel->maps.ring, options->ring_bytes);
		skel->rodata->wakeup_bytes = options->ring_bytes / 4;
	}
	if (!options->target->all)
		return err;
	err |= bpf_map__set_max_entries(skel->maps.waits_a, most);
	err |= bpf_map__set_max_entries(skel->maps.waits_b, most);
	occupants = options->no_occupants ? 1 : most;
	err |= bpf_map__set_max_entries(skel->maps.occupants_a, occupants);
	err |= bpf_map__set_max_entries(skel->maps.occupants_b, occupants);
	/* Threads have sums of calls only at level full. */
	most = options->full ? WAITS_OF_ALL : 1;
	err |= bpf_map__set_max_entries(skel->maps.thread_calls_a, most);
	err |= bpf_map__set_max_entries(skel->maps.thread_calls_b, most);
	return err;
}

static int set_knobs(struct ledger *ledger, const struct ledger_options *options)
{
	struct ledger_bpf *skel = ledger->skel;
	const struct target *target = options->target;
	uint8_t classes[LEDGER_SYSCALLS];
	int err = size_maps(skel, options);

	skel->rodata->full = options->full;
	skel->rodata->by_class = options->by_class;
	skel->rodata->with_occupants = !options->no_occupants;
	skel->rodata->with_cgroups = options->with_cgroups;
	skel->rodata->cgroup_hierarchy = options->cgroup_hierarchy;
	skel->rodata->thread_stack_bytes = thread_stack_bytes();
	skel->rodata->all_threads = target->all;
	/* Nobody asks a recorder that never ends for idle time. */
	skel->rodata->track_cpus = target->all && !options->by_class;
	skel->rodata->by_cgroup = target->cgroups.count > 0;
	skel->rodata->by_descent = target__has_descendants(target);
	skel->rodata->early = options->early;
	skel->bss->gated_pid = options->gated_pid;
	ledger__limit_calls(ledger, options->budget);
	skel->rodata->name_count = (uint32_t)target->name_count;
	memcpy((void *)skel->rodata->names, target->names, sizeof(target->names));
	skel->rodata->exe_count = (uint32_t)target->exe_count;
	memcpy((void *)skel->rodata->exe_fds, target->exe_fds, sizeof(target->exe_fds));
	skel->rodata->user_count = (uint32_t)target->user_count;
	memcpy((void *)skel->rodata->users, target->users, sizeof(target->users));
	ledger->by_user = target->user_count > 0;
	skel->rodata->with_outside = options->outside && !target->all;
	skel->rodata->drop_every = options->drop_every;
	skel->rodata->no_repair = options->drop_every > 0;
	skel->rodata->nr_setuid = calls__number("setuid");
	skel->rodata->nr_setreuid = calls__number("setreuid");
	skel->rodata->nr_setresuid = calls__number("setresuid");
	skel->rodata->nr_wait4 = calls__number("wait4");
	skel->rodata->nr_sendfile = calls__number("sendfile");
	skel->rodata->nr_exit = calls__number("exit");
	skel->rodata->nr_sigreturn = calls__number("rt_sigreturn");
	skel->rodata->nr_restart = calls__number("restart_syscall");
	calls__classes(classes);
	memcpy((void *)skel->rodata->class_of, classes, sizeof(classes));
	calls__talks(classes);
	memcpy((void *)skel->rodata->talk_of, classes, sizeof(classes));
	/* A recorder that never ends sees CPUs that come later. */
	ledger->cpus = options->by_class ? sys__possible_cpus() : sys__cpus();
	skel->rodata->online_cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	err |= bpf_map__set_max_entries(
		skel->maps.calls, (uint32_t)(options->full ? ledger->cpus : 1) * LEDGER_SYSCALLS);
	err |= bpf_map__set_max_entries(skel->maps.histograms, (uint32_t)ledger->cpus * SLOT_COUNT);
	err |= bpf_map__set_max_entries(skel->maps.cpus, (uint32_t)ledger->cpus);
	err |= bpf_map__set_max_entries(skel->maps.queues, (uint32_t)ledger->cpus);
	return err | ledger_windows__set_knobs(ledger, options);
}

static void set_syscalls(struct ledger *ledger, const struct ledger_options *options)
{
	struct ledger_bpf *skel = ledger->skel;
	struct call_shape shapes[CALL_NUMBERS];

	skel->rodata->with_slow_calls = !options->no_events;
	calls__shapes(shapes);
	memcpy((void *)skel->rodata->shape_of, shapes, sizeof(shapes));
	for (size_t i = 0; i < LEDGER_PATH_STREAMS; i++)
		skel->bss->path_streams[i].limit = LEDGER_PATH_FUSE;
}

/* A random seed that is not 0 and fits into a signed SQLite integer. */
static uint64_t draw_seed(void)
{
	uint64_t seed;

	if (getentropy(&seed, sizeof(seed)))
		seed = clock__now_ns();
	return (seed >> 1) | 1;
}

static int size_stacks(struct ledger_bpf *skel, const struct ledger_options *options)
{
	int err = 0;

	if (options->stack_ring_bytes) {
		err |= bpf_map__set_max_entries(skel->maps.stack_ring, options->stack_ring_bytes);
		skel->rodata->stack_wakeup_bytes = options->stack_ring_bytes / 2;
	}
	if (options->most_stacks)
		err |= bpf_map__set_max_entries(skel->maps.stacks_seen, options->most_stacks);
	return err;
}

/* Sets up stacks. If they are off, their maps are shrunk to almost no memory. */
static int set_sampling(struct ledger *ledger, const struct ledger_options *options)
{
	struct ledger_bpf *skel = ledger->skel;
	uint64_t pages = options->table_bytes / UNWIND_PAGE_BYTES;
	int err = 0;

	ledger->tick_ns = options->tick_ns;
	ledger->seed = options->seed ? options->seed : draw_seed();
	ledger->is_paused = options->is_paused;
	skel->rodata->with_stacks = options->tick_ns > 0;
	skel->data->is_sampling = !ledger->is_paused;
	skel->rodata->tick_ns = options->tick_ns;
	skel->bss->draw_period_ns = options->tick_ns;
	bpf_program__set_autoload(skel->progs.on_tick, options->tick_ns > 0);
	bpf_program__set_autoload(skel->progs.on_asleep, options->tick_ns > 0);
	if (options->tick_ns) {
		err |= bpf_map__set_max_entries(skel->maps.pages, (uint32_t)pages + 1);
		err |= bpf_map__set_max_entries(skel->maps.tick_clocks, (uint32_t)ledger->cpus);
		return err | size_stacks(skel, options);
	}
	err |= bpf_map__set_max_entries(skel->maps.stack_ring, (uint32_t)getpagesize());
	err |= bpf_map__set_max_entries(skel->maps.stacks_seen, 1);
	err |= bpf_map__set_max_entries(skel->maps.asked, 1);
	err |= bpf_map__set_max_entries(skel->maps.pendings, 1);
	return err;
}

static bool has_program(const struct ledger *ledger, const char *event)
{
	for (size_t i = 0; i < ledger->hook_count; i++)
		if (!strcmp(ledger->uses[i].event, event))
			return ledger->uses[i].program;
	return false;
}

/* Turns need both directions: without one of them, an answer would never be seen. */
static void set_turns(struct ledger *ledger, bool full)
{
	struct timespec tick = {};

	/* The resolution of the coarse clock is one jiffy. */
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick))
		return;
	ledger->skel->rodata->jiffy_ns = (uint64_t)tick.tv_nsec;
	ledger->skel->rodata->with_turns =
		has_program(ledger, full ? "sys_enter" : "sock_send_length") &&
		has_program(ledger, full ? "sys_exit" : "sock_recv_length");
}

static bool is_needed(const struct hook *hook, const struct ledger_options *options)
{
	return !hook->needed_for || hook->needed_for & needs_of(options) ||
	       (!(hook->flags & HOOK_AT_CALLS) && parts__need(options->parts, hook->programs[0]));
}

static int choose_hooks(struct ledger *ledger, const struct ledger_options *options,
			struct features *features)
{
	struct hook needed[LEDGER_HOOKS + 1] = {};

	ledger->hook_count = 0;
	for (size_t i = 0; hooks[i].event; i++) {
		if (is_needed(&hooks[i], options))
			needed[ledger->hook_count++] = hooks[i];
		else
			bpf_program__set_autoload(bpf_object__find_program_by_name(
							  ledger->skel->obj, hooks[i].programs[0]),
						  false);
	}
	loader__choose(ledger->skel->obj, needed, features, ledger->uses);
	for (size_t i = 0; i < ledger->hook_count; i++) {
		if (ledger->uses[i].program || !(ledger->uses[i].flags & HOOK_VITAL))
			continue;
		log_error("'%s' cannot be hooked: %s [see 'gapless doctor']", ledger->uses[i].event,
			  ledger->uses[i].why_not);
		return -ENOTSUP;
	}
	set_turns(ledger, options->full);
	return 0;
}

/* Opens the object anew, because one that failed to load cannot be loaded again. */
static int try_to_load(struct ledger *ledger, const struct ledger_options *options,
		       struct features *features)
{
	int err;

	ledger_bpf__destroy(ledger->skel);
	ledger->skel = ledger_bpf__open();
	if (!ledger->skel)
		return -errno;
	err = set_knobs(ledger, options);
	if (err)
		return err;
	set_syscalls(ledger, options);
	err = set_sampling(ledger, options);
	if (!err)
		err = choose_hooks(ledger, options, features);
	if (!err)
		err = parts__set_up(ledger, options, features);
	loader__forget();
	return err ? err : ledger_bpf__load(ledger->skel);
}

/* Law 5: what was refused may be windows. If it was not, *options still has them. */
static int try_to_load_without_windows(struct ledger *ledger, struct ledger_options *options,
				       struct features *features)
{
	int err;

	loader__replay();
	options->requests = false;
	err = try_to_load(ledger, options, features);
	if (err) {
		options->requests = true;
		return err;
	}
	log_warning("requests cannot be told apart: this kernel refused the programs "
		    "[see 'gapless doctor']; continuing without them");
	return 0;
}

/* Law 5: adds one signal after the other, and goes without those that this kernel refuses. */
static int load_one_by_one(struct ledger *ledger, struct ledger_options *options,
			   struct features *features)
{
	int err;

	parts__switch_all(options->parts, false);
	err = try_to_load(ledger, options, features);
	if (err && options->requests)
		err = try_to_load_without_windows(ledger, options, features);
	for (struct part *part = options->parts; !err && part->signal; part++) {
		if (part->is_impossible)
			continue;
		part->is_on = true;
		err = try_to_load(ledger, options, features);
		if (!err)
			continue;
		loader__replay();
		log_warning(
			"signal '%s' does not load: %s [see 'gapless doctor']; continuing without it",
			part->signal->name, strerror(-err));
		part->is_on = false;
		err = try_to_load(ledger, options, features);
	}
	return err;
}

int parts__load(struct ledger *ledger, const struct ledger_options *options,
		struct features *features)
{
	struct part none = {};
	struct ledger_options all = *options;
	int err;

	if (!all.parts)
		all.parts = &none;
	parts__switch_all(all.parts, true);
	all.requests = all.requests && all.full && !all.by_class;
	err = try_to_load(ledger, &all, features);
	if (err && all.requests)
		err = try_to_load_without_windows(ledger, &all, features);
	if (err && parts__any(all.parts))
		err = load_one_by_one(ledger, &all, features);
	if (err) {
		loader__replay();
		log_error("the ledger does not load: %s [see 'gapless doctor']", strerror(-err));
	}
	return err;
}
