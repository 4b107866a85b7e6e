/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each experiment opens the probe object anew with a single program enabled. libbpf loads all
 * programs or none, and one refused program must not hide that another works. For the same reason,
 * maps that the program does not use are not created.
 */
#include "core/probes.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sdt.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/loader.h"
#include "core/probe.h"
#include "core/sys.h"
#include "probe.skel.h"

#define PERF_PAGES    8
#define SAMPLE_HZ     1000
#define SAMPLE_MOST_S 1

struct run {
	struct probe_bpf *skel;
	struct bpf_program *program;
	struct bpf_link *link;
	uint64_t nonce;
};

struct probe {
	const char *program;
	const char *maps[3];
	int (*attach)(struct run *run); /* NULL: nothing to attach */
	int (*deliver)(struct run *run);
};

DEFINE_CLEANUP(struct probe_bpf *, probe_bpf__destroy)
DEFINE_CLEANUP(struct btf *, btf__free)

/* Target of the uprobe experiments; external and opaque, so that no compiler removes a call. */
__attribute__((noinline)) uint64_t gapless_probe_target(uint64_t argument);
uint64_t gapless_probe_target(uint64_t argument)
{
	__asm__ volatile("" : "+r"(argument));
	return argument;
}

static int attach_auto(struct run *run)
{
	run->link = bpf_program__attach(run->program);
	return run->link ? 0 : -errno;
}

static int attach_sampling(struct run *run)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_freq = SAMPLE_HZ,
		.freq = 1,
	};
	int fd = sys__perf_event_open(&attr, -1, sched_getcpu());

	if (fd < 0)
		return fd;
	/* The link owns the descriptor from here on, unless attaching failed. */
	run->link = bpf_program__attach_perf_event(run->program, fd);
	if (!run->link) {
		int err = -errno;

		close(fd);
		return err;
	}
	return 0;
}

static int attach_to_target(struct run *run, bool at_return)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .retprobe = at_return);
	uint64_t offset;
	int err = sys__file_offset((uintptr_t)gapless_probe_target, &offset);

	if (err)
		return err;
	run->link =
		bpf_program__attach_uprobe_opts(run->program, 0, "/proc/self/exe", offset, &opts);
	return run->link ? 0 : -errno;
}

static int attach_uprobe(struct run *run)
{
	return attach_to_target(run, false);
}

static int attach_uretprobe(struct run *run)
{
	return attach_to_target(run, true);
}

static int attach_usdt(struct run *run)
{
	run->link = bpf_program__attach_usdt(run->program, getpid(), "/proc/self/exe", "gapless",
					     "probe", NULL);
	return run->link ? 0 : -errno;
}

/* 0 if the program counted the stimulus exactly once. */
static int seen_once(const struct run *run)
{
	return run->skel->bss->seen == 1 ? 0 : -ENODATA;
}

static int deliver_syscall(struct run *run)
{
	syscall(SYS_STIMULUS, run->nonce);
	return seen_once(run);
}

static int deliver_sleep(struct run *run)
{
	struct timespec pause = { .tv_nsec = (long)run->nonce };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	return seen_once(run);
}

static int deliver_call(struct run *run)
{
	gapless_probe_target(run->nonce);
	return seen_once(run);
}

static int deliver_usdt(struct run *run)
{
	STAP_PROBE1(gapless, probe, run->nonce);
	return seen_once(run);
}

static int deliver_sample(struct run *run)
{
	time_t end = time(NULL) + SAMPLE_MOST_S + 1;

	while (!*(volatile __u64 *)&run->skel->bss->seen)
		if (time(NULL) > end)
			return -ENODATA;
	return 0;
}

/* Reads an iterator to its end; *ret_matches counts the nonces in it. */
static int read_iterator(const struct run *run, uint64_t *ret_matches)
{
	cleanup(close_p) int fd = bpf_iter_create(bpf_link__fd(run->link));
	uint64_t values[512], matches = 0;
	ssize_t bytes;

	if (fd < 0)
		return fd;
	while ((bytes = read(fd, values, sizeof(values))) > 0)
		for (size_t i = 0; i < (size_t)bytes / sizeof(*values); i++)
			matches += values[i] == run->nonce;
	if (bytes < 0)
		return -errno;
	*ret_matches = matches;
	return 0;
}

static int deliver_iterator(struct run *run)
{
	uint64_t matches;
	int err = read_iterator(run, &matches);

	return err ? err : matches > 0 ? 0 : -ENODATA;
}

static int run_once(const struct run *run)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	return bpf_prog_test_run_opts(bpf_program__fd(run->program), &opts);
}

static int deliver_test_run(struct run *run)
{
	int err = run_once(run);

	return err ? err : seen_once(run);
}

static int take_nonce(void *context, void *data, size_t size)
{
	struct run *run = context;

	if (size == sizeof(uint64_t) && *(uint64_t *)data == run->nonce)
		run->skel->bss->seen++;
	return 0;
}

static int deliver_ring(struct run *run)
{
	struct ring_buffer *ring;
	int err = run_once(run);

	if (err)
		return err;
	ring = ring_buffer__new(bpf_map__fd(run->skel->maps.probe_ring), take_nonce, run, NULL);
	if (!ring)
		return -errno;
	ring_buffer__consume(ring);
	ring_buffer__free(ring);
	return seen_once(run);
}

static int deliver_pt_regs(struct run *run)
{
	int err = deliver_test_run(run);

	return err ? err : run->skel->bss->result == SYS_bpf ? 0 : -EBADMSG;
}

static int deliver_loop(struct run *run)
{
	int err = deliver_test_run(run);

	return err ? err : run->skel->bss->result == PROBE_LOOP_TURNS ? 0 : -EBADMSG;
}

static const struct probe probes[FEATURE_COUNT] = {
	[FEATURE_RING_BUFFER] = { "probe_ring_buffer", { "probe_ring" }, NULL, deliver_ring },
	[FEATURE_TASK_STORAGE] = { "probe_task_storage",
				   { "probe_storage" },
				   NULL,
				   deliver_test_run },
	[FEATURE_TASK_ITERATOR] = { "probe_iterator", {}, attach_auto, deliver_iterator },
	[FEATURE_SLEEPABLE_ITERATOR] = { "probe_sleepable_iterator",
					 {},
					 attach_auto,
					 deliver_iterator },
	[FEATURE_TP_BTF] = { "probe_tp_btf", {}, attach_auto, deliver_syscall },
	[FEATURE_RAW_TP] = { "probe_raw_tp", {}, attach_auto, deliver_syscall },
	[FEATURE_TRACEPOINT] = { "probe_tracepoint", {}, attach_auto, deliver_syscall },
	[FEATURE_PERF_SAMPLING] = { "probe_perf_event", {}, attach_sampling, deliver_sample },
	[FEATURE_UPROBE] = { "probe_uprobe", {}, attach_uprobe, deliver_call },
	[FEATURE_URETPROBE] = { "probe_uretprobe", {}, attach_uretprobe, deliver_call },
	[FEATURE_USDT] = { "probe_usdt",
			   { "__bpf_usdt_specs", "__bpf_usdt_ip_to_spec_id" },
			   attach_usdt,
			   deliver_usdt },
	[FEATURE_FENTRY] = { "probe_fentry", {}, attach_auto, deliver_sleep },
	[FEATURE_FEXIT] = { "probe_fexit", {}, attach_auto, deliver_sleep },
	[FEATURE_KPROBE] = { "probe_kprobe", {}, attach_auto, deliver_sleep },
	[FEATURE_TASK_PT_REGS] = { "probe_pt_regs", {}, NULL, deliver_pt_regs },
	[FEATURE_TASK_STACK] = { "probe_task_stack", {}, NULL, deliver_test_run },
	[FEATURE_LOOP] = { "probe_loop", {}, NULL, deliver_loop },
};

static bool uses_map(const struct probe *probe, const char *name)
{
	for (size_t i = 0; i < 3 && probe->maps[i]; i++)
		if (!strcmp(probe->maps[i], name))
			return true;
	return false;
}

static int open_alone(const struct probe *probe, struct run *run)
{
	struct bpf_program *program;
	struct bpf_map *map;

	run->skel = probe_bpf__open();
	if (!run->skel)
		return -errno;
	bpf_object__for_each_program (program, run->skel->obj)
		bpf_program__set_autoload(program, false);
	bpf_object__for_each_map (map, run->skel->obj)
		if (!bpf_map__is_internal(map) && !uses_map(probe, bpf_map__name(map)))
			bpf_map__set_autocreate(map, false);
	run->program = bpf_object__find_program_by_name(run->skel->obj, probe->program);
	bpf_program__set_autoload(run->program, true);
	run->skel->rodata->nonce = run->nonce;
	run->skel->rodata->stimulus = SYS_STIMULUS;
	run->skel->rodata->own_address = (uintptr_t)&run->nonce;
	return 0;
}

static int run_program(const struct probe *probe, struct run *run, enum feature_stage *stage)
{
	int err;

	*stage = STAGE_LOAD;
	err = open_alone(probe, run);
	if (!err)
		err = probe_bpf__load(run->skel);
	if (err)
		return err;
	*stage = STAGE_ATTACH;
	err = probe->attach ? probe->attach(run) : 0;
	if (err)
		return err;
	*stage = STAGE_DELIVER;
	err = probe->deliver(run);
	bpf_link__destroy(run->link);
	return err;
}

static int run_btf(enum feature_stage *stage)
{
	cleanup(btf__free_p) struct btf *btf = NULL;
	int id;

	*stage = STAGE_LOAD;
	btf = btf__load_vmlinux_btf();
	if (!btf)
		return -errno;
	*stage = STAGE_DELIVER;
	id = btf__find_by_name_kind(btf, "task_struct", BTF_KIND_STRUCT);
	return id < 0 ? id : 0;
}

/* Looks for an mmap2 record in a perf ring that is not written to any more. */
static bool has_mmap2(const struct perf_event_mmap_page *page)
{
	const char *data = (const char *)page + page->data_offset;
	uint64_t head = page->data_head, at = page->data_tail;

	atomic_thread_fence(memory_order_acquire);
	while (at < head) {
		const struct perf_event_header *record =
			(const void *)(data + at % page->data_size);

		if (record->type == PERF_RECORD_MMAP2)
			return true;
		if (!record->size)
			return false;
		at += record->size;
	}
	return false;
}

static int provoke_mmap2(const struct perf_event_mmap_page *page)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	cleanup(fclose_p) FILE *self = fopen("/proc/self/exe", "re");
	void *mapping;

	if (!self)
		return -errno;
	mapping = mmap(NULL, page_bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(self), 0);
	if (mapping == MAP_FAILED)
		return -errno;
	munmap(mapping, page_bytes);
	return has_mmap2(page) ? 0 : -ENODATA;
}

/* As in the profiler: a dummy event on one CPU that covers every process running there. */
static int run_mmap2(enum feature_stage *stage)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.exclude_kernel = 1,
	};
	size_t bytes = (PERF_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
	cleanup(close_p) int fd = -1;
	cpu_set_t before;
	void *page;
	int err;

	*stage = STAGE_ATTACH;
	sched_getaffinity(0, sizeof(before), &before);
	sys__stay_on_cpu(sched_getcpu());
	fd = sys__perf_event_open(&attr, -1, sched_getcpu());
	page = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page != MAP_FAILED) {
		*stage = STAGE_DELIVER;
		err = provoke_mmap2(page);
		munmap(page, bytes);
	} else {
		err = fd < 0 ? fd : -errno;
	}
	sched_setaffinity(0, sizeof(before), &before);
	return err;
}

/* Explains the failure in words that users understand, where errno alone would be unclear. */
static void explain(enum feature which, struct feature_state *state)
{
	const char *stage[] = { "the kernel refused to load it", "it loads but does not attach",
				"it attaches but delivers nothing" };
	const char *known = NULL;

	if (which == FEATURE_KPROBE && !sys__exists("/sys/bus/event_source/devices/kprobe") &&
	    sys__exists("/sys/bus/event_source/devices"))
		known = "kprobes are not in this kernel (CONFIG_KPROBE_EVENTS)";
	else if (which == FEATURE_TRACEPOINT && !sys__tracefs())
		known = "tracefs is not mounted or not readable";
	else if (which == FEATURE_BTF && !sys__exists("/sys/kernel/btf/vmlinux"))
		known = "/sys/kernel/btf/vmlinux is not there (CONFIG_DEBUG_INFO_BTF)";
	if (known)
		snprintf(state->why, sizeof(state->why), "%s", known);
	else if (state->err == -ENODATA)
		snprintf(state->why, sizeof(state->why), "%s", stage[state->stage]);
	else
		snprintf(state->why, sizeof(state->why), "%s: %s", stage[state->stage],
			 strerror(-state->err));
}

void probes__run(enum feature which, struct feature_state *ret)
{
	struct run run = { .nonce = 100000 + (uint64_t)getpid() % 100000 };
	enum feature_stage stage = STAGE_LOAD;
	int err;

	*ret = (struct feature_state) {};
	loader__forget();
	if (which == FEATURE_BTF)
		err = run_btf(&stage);
	else if (which == FEATURE_PERF_MMAP2)
		err = run_mmap2(&stage);
	else
		err = run_program(&probes[which], &run, &stage);
	probe_bpf__destroy_p(&run.skel);
	ret->err = err;
	ret->stage = err ? stage : STAGE_DONE;
	if (err)
		explain(which, ret);
}
