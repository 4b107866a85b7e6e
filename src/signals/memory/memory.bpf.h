/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Memory: page faults by what was touched, and the work that the kernel does to find free memory.
 *
 * Page faults: see faults.bpf.h.
 *
 * Reclaim and compaction have tracepoints at begin and end, in the thread that needs memory.
 * They can wait in between. The place is the cgroup of that thread, whose limit need not be the
 * reason; an ancestor's can be.
 */
#pragma once

#include "bpf/drawn.bpf.h"
#include "bpf/files.bpf.h"
#include "bpf/identity.bpf.h"
#include "bpf/path.bpf.h"
#include "bpf/syscall.bpf.h"
#include "signals/memory/memory.h"

#define MEMORY_PAGE_BYTES 4096

/* No histogram of bytes. */
SERIES_MAPS(memory, 2, 0x2, 8192);

const volatile struct memory_calls memory_calls SEC(".rodata.memory");
struct draw memory_fault_draw, memory_call_draw;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} memory_ring SEC(".maps");

/* Files whose name was sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64[2]);
	__type(value, __u8);
} memory_named SEC(".maps");

/* What a mapping is. `begin` and `end` are 0 if it is not known. */
struct memory_mapping {
	__u64 begin, end;
	__u64 object[2]; /* the file */
	struct dentry *dentry;
	struct vfsmount *mnt;
	__u32 kind;
	__u32 lock_seq; /* of the mm, when the mapping was looked up */
};

/* A thread's last mapping, and when its current reclaim, compaction or page fault began. */
struct memory_thread {
	struct memory_mapping last; /* of its last fault */
	__u64 fault_ns;             /* when its handling began; 0: it has not, or has ended */
	__u64 fault_address;
	__u32 fault_operation;
	__u16 fault_major; /* VM_FAULT_MAJOR: it was read from a device */
	__u16 fault_open;  /* it has not ended */
	__u64 begin_ns[MEMORY_TIMED];
	__u64 brk; /* of a main thread: the last known end of the heap; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct memory_thread);
} memory_threads SEC(".maps");

static __always_inline struct memory_thread *memory_thread_of(struct task_struct *task)
{
	struct memory_thread *thread =
		bpf_task_storage_get(&memory_threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread)
		COUNT_LOST(memory, LOST_NO_STORAGE);
	return thread;
}

/* The low half of the id of a thread's memory cgroup; 0: none. `task` may be any pointer. */
static __always_inline __u32 memory_cgroup_of(struct task_struct *task, char *name, __u32 size)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *state = NULL;
	struct kernfs_node *node;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) *
					      sizeof(state));
	node = BPF_CORE_READ(state, cgroup, kn);
	if (name)
		bpf_probe_read_kernel_str(name, size, BPF_CORE_READ(node, name));
	return BPF_CORE_READ(node, id);
}

static __always_inline void memory_send_slow(const struct series_key *key, const __u64 *values)
{
	struct memory_slow *record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(memory, LOST_RING_FULL);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), MEMORY_SLOW, 1);
	record->thread = key->thread;
	record->stack = event_stack();
	record->duration_ns = values[0];
	record->bytes = values[1];
	record->cgroup = key->place;
	record->operation = key->operation;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

#include "signals/memory/faults.bpf.h"

/* --- reclaim and compaction ------------------------------------------------------------------- */

VERIFIED_ONCE int memory_begins(__u32 which)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct memory_thread *thread;
	struct identity who;

	if (!is_on(SIGNAL_memory) || which >= MEMORY_TIMED ||
	    !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	thread = memory_thread_of(task);
	if (thread)
		thread->begin_ns[which] = bpf_ktime_get_ns();
	return 0;
}

VERIFIED_ONCE int memory_ends(__u32 which, __u64 bytes)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 values[memory_values] = { 0, bytes }, begin_ns;
	struct memory_thread *thread;
	struct series_key key = {};
	struct identity who;

	if (!is_on(SIGNAL_memory) || which >= MEMORY_TIMED ||
	    !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	thread = bpf_task_storage_get(&memory_threads, task, NULL, 0);
	if (!thread || !thread->begin_ns[which] ||
	    thread->begin_ns[which] < series[SIGNAL_memory].since_ns) { /* it began before */
		__sync_fetch_and_add(&series[SIGNAL_memory].unpaired, 1);
		return 0;
	}
	begin_ns = thread->begin_ns[which];
	thread->begin_ns[which] = 0;
	values[0] = bpf_ktime_get_ns() - begin_ns;
	key.thread = who.id;
	key.place = memory_cgroup_of(task, NULL, 0);
	key.operation = MEMORY_DIRECT_RECLAIM + which;
	series_reduce(&key);
	series_add_own(SERIES(memory), &key, values);
	if (series_is_slow(SERIES(memory), values[0]))
		memory_send_slow(&key, values);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(memory_on_direct_begin)
{
	return memory_begins(MEMORY_DIRECT_RECLAIM - MEMORY_DIRECT_RECLAIM);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(memory_on_direct_end, unsigned long pages)
{
	return memory_ends(MEMORY_DIRECT_RECLAIM - MEMORY_DIRECT_RECLAIM,
			   pages * MEMORY_PAGE_BYTES);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(memory_on_cgroup_begin)
{
	return memory_begins(MEMORY_CGROUP_RECLAIM - MEMORY_DIRECT_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(memory_on_cgroup_end, unsigned long pages)
{
	return memory_ends(MEMORY_CGROUP_RECLAIM - MEMORY_DIRECT_RECLAIM,
			   pages * MEMORY_PAGE_BYTES);
}

SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(memory_on_compaction_begin)
{
	return memory_begins(MEMORY_COMPACTION - MEMORY_DIRECT_RECLAIM);
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(memory_on_compaction_end)
{
	return memory_ends(MEMORY_COMPACTION - MEMORY_DIRECT_RECLAIM, 0);
}

/* --- what programs ask for -------------------------------------------------------------------- */

#define MAP_ANONYMOUS 0x20
#define PROT_NONE     0

static __always_inline bool memory_has(__u64 nr)
{
	return nr == memory_calls.mmap || nr == memory_calls.munmap || nr == memory_calls.mremap ||
	       nr == memory_calls.brk;
}

/* The heap's end moves to `now`. Returns by how much; 0 the first time, when that is not known. */
static __always_inline __s64 memory_moves(struct task_struct *task, __u64 now)
{
	struct memory_thread *main = memory_thread_of(task->group_leader);
	__s64 moved;

	if (!main)
		return 0;
	moved = main->brk ? now - main->brk : 0;
	main->brk = now;
	return moved;
}

/* By how much the call changes the memory of the process; *ret is the operation. */
static __always_inline __s64 memory_change(struct task_struct *task, __u64 nr, long result,
					   __u32 *ret)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s64 change;

	if (nr == memory_calls.brk) {
		change = memory_moves(task, result);
		*ret = change < 0 ? MEMORY_BRK_BACK : MEMORY_BRK;
		return change;
	}
	if (errno_in(result))
		return 0;
	if (nr == memory_calls.mmap) {
		*ret = MEMORY_MMAP;
		/* What cannot be accessed is an address range and no memory yet. */
		return regs->ARCH_ARG4 & MAP_ANONYMOUS && regs->ARCH_ARG3 != PROT_NONE
			       ? regs->ARCH_ARG2
			       : 0;
	}
	change = nr == memory_calls.mremap ? regs->ARCH_ARG3 - regs->ARCH_ARG2 : -regs->ARCH_ARG2;
	*ret = change < 0 ? MEMORY_MUNMAP : MEMORY_MMAP;
	return change;
}

VERIFIED_ONCE bool memory_changes(const struct identity *who, __u64 nr, long ret)
{
	__u64 values[memory_values] = {};
	struct series_key key = {};
	__u32 operation = 0;
	__s64 change;

	if (!is_on(SIGNAL_memory) || !who || !is_recorded(SIGNAL_memory, who))
		return false;
	change = memory_change(bpf_get_current_task_btf(), nr, ret, &operation);
	if (!change)
		return false;
	values[1] = change < 0 ? -change : change;
	key.thread = who->id;
	key.operation = operation;
	series_reduce(&key);
	series_sum_up_own(SERIES(memory), series_turn(SERIES(memory)), &key, values);
	if (change > 0)
		memory_draw(&memory_call_draw, operation, change);
	return true;
}

static __always_inline bool memory_sys_exit(const struct identity *who, __u64 nr, long ret,
					    __u64 now)
{
	return memory_has(nr) && memory_changes(who, nr, ret);
}

/* --- OOM kills -------------------------------------------------------------------------------- */

/* Before 6.10, the argument is the pid of the victim. */
static __always_inline void memory_describe(struct memory_victim *record, __u64 argument)
{
	struct task_struct *victim = (void *)argument;

	if (!bpf_core_field_exists(struct trace_event_raw_mark_victim, uid)) {
		record->pid = argument;
		record->comm[0] = '\0';
		record->cgroup = memory_cgroup_of((void *)bpf_get_current_task(), record->name,
						  sizeof(record->name));
		return;
	}
	record->pid = BPF_CORE_READ(victim, tgid);
	bpf_probe_read_kernel_str(record->comm, sizeof(record->comm), &victim->comm);
	record->cgroup = memory_cgroup_of(victim, record->name, sizeof(record->name));
}

/* Runs in the thread whose allocation failed. `raw_tp`, because the type of the argument changed.
 */
SEC("raw_tp/mark_victim")
int memory_on_victim(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 values[memory_values] = {};
	struct series_key key = {};
	struct memory_victim *record;
	struct identity who;

	if (!is_on(SIGNAL_memory) || !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	key.thread = who.id;
	key.operation = MEMORY_OOM_KILL;
	key.place = memory_cgroup_of(task, NULL, 0);
	series_reduce(&key);
	series_sum_up(SERIES(memory), series_turn(SERIES(memory)), &key, values);
	record = by_class ? NULL : bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
	if (!record) {
		if (!by_class)
			COUNT_LOST(memory, LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), MEMORY_VICTIM, 1);
	record->thread = who.id;
	record->name[0] = '\0';
	memory_describe(record, ctx->args[0]);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
