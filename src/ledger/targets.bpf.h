/* Which threads have an account. Decided when a thread appears; the other hooks only look it up. */
#pragma once

#include "ledger/cause.bpf.h"

#define MOST_NAMES        8
#define CGROUP_MOST_DEPTH 32

const volatile bool all_threads;
const volatile __u32 name_count;
const volatile char names[MOST_NAMES][WIRE_COMM_BYTES];
const volatile bool by_cgroup;
const volatile bool early; /* children are followed before accounts are open */

/* A process that waits to be told to become the command: wanted from its exec on. 0: none. */
__u32 gated_pid;

struct id_set {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u64);
	__type(value, __u8);
};

struct id_set wanted_pids SEC(".maps");
struct id_set wanted_tids SEC(".maps");
struct id_set wanted_cgroups SEC(".maps");

/*
 * Threads that are wanted by descent, before they have an account: user space puts the first one
 * in. Parents cannot be asked later: by then they may have ended.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} followed SEC(".maps");

static __always_inline bool is_wanted_name(const char *comm)
{
	for (__u32 i = 0; i < MOST_NAMES && i < name_count; i++) {
		bool same = true;

		for (__u32 j = 0; j < WIRE_COMM_BYTES; j++) {
			same &= comm[j] == names[i][j];
			if (!same || !comm[j])
				break;
		}
		if (same)
			return true;
	}
	return false;
}

static __always_inline bool has_wanted_name(struct task_struct *task)
{
	char comm[WIRE_COMM_BYTES];

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	return is_wanted_name(comm);
}

/* In one of the wanted cgroups or below it. */
static __noinline bool is_wanted_cgroup(struct cgroup *cgroup)
{
	struct cgroup_subsys_state *css = (struct cgroup_subsys_state *)cgroup;

	for (int i = 0; i < CGROUP_MOST_DEPTH && css; i++) {
		__u64 id = BPF_CORE_READ((struct cgroup *)css, kn, id);

		if (bpf_map_lookup_elem(&wanted_cgroups, &id))
			return true;
		css = BPF_CORE_READ(css, parent);
	}
	return false;
}

/* Of gapless itself, noted by the seeding, which runs in its context. */
__u32 own_level;
__u64 own_ns;

static __always_inline __u32 number_here(struct pid *pid)
{
	return number_at(pid, own_level, own_ns);
}

static __always_inline void note_own_namespace(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(current, thread_pid);

	own_level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&own_ns, sizeof(own_ns),
			      (void *)&pid->numbers[0].ns +
				      own_level * bpf_core_type_size(struct upid));
}

static __always_inline bool is_gated(struct task_struct *task)
{
	return gated_pid && number_here(BPF_CORE_READ(task, group_leader, thread_pid)) == gated_pid;
}

static __always_inline bool is_followed(struct task_struct *task)
{
	return early && bpf_task_storage_get(&followed, task, NULL, 0);
}

/*
 * A birth before accounts are open: a child of one that is followed is followed. False if they are
 * open by now. The child is noted before the clock is looked at again, with a full barrier between,
 * and the seeding starts the clock before it looks at threads: so, however close they come, one of
 * the two opens the account.
 */
static __always_inline bool is_born_early(struct task_struct *task, struct task_struct *parent)
{
	if (start_ns)
		return false;
	if (is_followed(parent) &&
	    !bpf_task_storage_get(&followed, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE))
		count_lost(LOST_NO_STORAGE);
	return !early || !__sync_val_compare_and_swap(&start_ns, 0, 0);
}

/* *ret_flags says whether its children are wanted too. */
static __always_inline bool is_wanted(struct task_struct *task, __u32 *ret_flags)
{
	__u64 id;

	*ret_flags = THREAD_FOLLOW;
	if (all_threads || is_followed(task))
		return true;
	id = number_here(BPF_CORE_READ(task, group_leader, thread_pid));
	if (bpf_map_lookup_elem(&wanted_pids, &id))
		return true;
	if (name_count &&
	    (has_wanted_name(task) || has_wanted_name(BPF_CORE_READ(task, group_leader))))
		return true;
	if (by_cgroup && is_wanted_cgroup(BPF_CORE_READ(task, cgroups, dfl_cgrp)))
		return true;
	*ret_flags = 0;
	id = number_here(BPF_CORE_READ(task, thread_pid));
	return bpf_map_lookup_elem(&wanted_tids, &id);
}

/* Its numbers: the kernel's, those in gapless's namespace, and the one in its own. */
static __always_inline void note_numbers(struct thread *thread, struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	thread->pid = BPF_CORE_READ(task, tgid);
	thread->here_pid = number_here(BPF_CORE_READ(task, group_leader, thread_pid));
	thread->here_tid = number_here(pid);
	thread->ns_tid = pid ? number_at(pid, BPF_CORE_READ(pid, level), 0) : 0;
}

static __always_inline void remember_tid(const struct thread *thread)
{
	struct tid_key key = { thread->pid, thread->ns_tid };

	if (bpf_map_update_elem(&tids, &key, &thread->id, BPF_ANY))
		count_lost(LOST_MAP_FULL);
}

static __always_inline void forget_tid(const struct thread *thread)
{
	struct tid_key key = { thread->pid, thread->ns_tid };
	__u64 *id = bpf_map_lookup_elem(&tids, &key);

	if (id && *id == thread->id)
		bpf_map_delete_elem(&tids, &key);
}

/* Makes the account, not open yet. NULL if there was no memory (counted) or it is there already. */
static __always_inline struct thread *new_thread(struct task_struct *task, __u32 flags)
{
	struct thread *thread =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread) {
		count_lost(LOST_NO_STORAGE);
		return NULL;
	}
	if (thread->id)
		return NULL;
	thread->id = __sync_fetch_and_add(&last_id, 1) + 1;
	note_numbers(thread, task);
	thread->nr = NR_NONE;
	thread->last_nr = NR_NONE;
	thread->flags = flags;
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) {
		thread->nr = NR_KERNEL;
		thread->flags |= THREAD_KERNEL;
	}
	remember_tid(thread);
	return thread;
}
