/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which threads have an account. Decided when a thread is created or seeded, when it executes a
 * program, and when it changes its name, user or cgroup. All other hooks only look up the account.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "bpf/glob.h"
#include "ledger/kernel/cause.bpf.h"

#define MOST_NAMES        8
#define MOST_EXES         8
#define MOST_USERS        8
#define CGROUP_MOST_DEPTH 32
#define MOST_ANCESTORS    64

const volatile __u32 name_count;
const volatile struct glob names[MOST_NAMES];
const volatile __u32 exe_count;
const volatile __u32 exe_fds[MOST_EXES]; /* gapless holds the files open at these descriptors */
const volatile __u32 user_count;
const volatile __u32 users[MOST_USERS];
const volatile bool by_cgroup;
const volatile bool by_descent; /* children that exist at the start are wanted too */
const volatile bool early;      /* children are followed before accounts are open */

/* The child process that will execute the command: wanted from its exec on. 0: none. */
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
 * Threads that are wanted by descent, before accounts are open. User space inserts the first one.
 * Parents cannot be looked up later, because they may have ended by then.
 */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} followed SEC(".maps");

static __noinline bool is_wanted_name(const char *comm)
{
	for (__u32 i = 0; i < MOST_NAMES && i < name_count; i++) {
		__u16 state = GLOB_START;

		for (__u32 j = 0; j < WIRE_COMM_BYTES && comm[j]; j++)
			state = glob_step(&names[i], state, comm[j]);
		if (state & names[i].end)
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

/*
 * Addresses of the inodes behind exe_fds, saved by the seeding. An address is unique while gapless
 * holds the file open. Device and inode numbers would not do: on some file systems (overlayfs,
 * btrfs) stat() and the kernel disagree about them.
 */
__u64 exe_inodes[MOST_EXES];

static __always_inline void note_exes(struct task_struct *current)
{
	for (__u32 i = 0; i < MOST_EXES && i < exe_count; i++) {
		struct file *file = file_of(current, exe_fds[i]);

		exe_inodes[i] = file ? (__u64)BPF_CORE_READ(file, f_inode) : 0;
	}
}

static __noinline bool has_wanted_exe(struct task_struct *task)
{
	__u64 inode = (__u64)BPF_CORE_READ(task, mm, exe_file, f_inode);

	for (__u32 i = 0; i < MOST_EXES && i < exe_count; i++)
		if (inode && inode == exe_inodes[i])
			return true;
	return false;
}

/* Compares the effective user, which ps(1) shows too. */
static __noinline bool has_wanted_user(struct task_struct *task)
{
	__u32 user = BPF_CORE_READ(task, real_cred, euid.val);

	for (__u32 i = 0; i < MOST_USERS && i < user_count; i++)
		if (user == users[i])
			return true;
	return false;
}

/* True for a wanted cgroup and for its descendants. */
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

static __always_inline void note_own(void)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(current, thread_pid);

	own_tgid = BPF_CORE_READ(current, tgid);
	own_level = BPF_CORE_READ(pid, level);
	bpf_probe_read_kernel(&own_ns, sizeof(own_ns),
			      (void *)&pid->numbers[0].ns +
				      own_level * bpf_core_type_size(struct upid));
	note_exes(current);
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
 * A thread is created before accounts are open (start_ns is 0): the child of a followed thread is
 * followed too. Returns false if accounts are open by now. We insert the child before we read
 * start_ns again, with a full barrier in between. The seeding sets start_ns before it visits
 * threads. So in any race, at least one of the two opens the account.
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

/* Whether the process matches the target by pid, by executable or by name. */
static __always_inline bool is_wanted_process(struct task_struct *task, struct task_struct *leader)
{
	__u64 id = number_here(BPF_CORE_READ(leader, thread_pid));

	if (bpf_map_lookup_elem(&wanted_pids, &id))
		return true;
	if (exe_count && has_wanted_exe(leader))
		return true;
	return name_count && (has_wanted_name(task) || has_wanted_name(leader));
}

struct ascent {
	struct task_struct *task;
	bool found;
};

static long climb(__u32 i, struct ascent *ascent)
{
	struct task_struct *task = ascent->task;
	struct task_struct *parent = BPF_CORE_READ(task, group_leader, real_parent);

	/* gapless itself and its children do not count as children of the target. */
	if (!parent || parent == task || BPF_CORE_READ(task, tgid) == own_tgid)
		return 1;
	ascent->task = parent;
	ascent->found = is_wanted_process(parent, BPF_CORE_READ(parent, group_leader));
	return ascent->found;
}

/*
 * Whether an ancestor is a wanted process. Only the seeding uses this. Afterwards a hook sees every
 * new thread; and an orphan may get a new parent that it does not descend from.
 */
static __noinline bool is_descendant(struct task_struct *task)
{
	struct ascent ascent = { .task = task };

	if (by_descent && base_ns == NOT_YET)
		bpf_loop(MOST_ANCESTORS, climb, &ascent, 0);
	return ascent.found;
}

/* *ret_flags has THREAD_FOLLOW if its children are wanted too. */
static __always_inline bool is_wanted(struct task_struct *task, __u32 *ret_flags)
{
	__u64 id;

	*ret_flags = THREAD_FOLLOW;
	if (all_threads || is_followed(task))
		return true;
	if (is_wanted_process(task, BPF_CORE_READ(task, group_leader)) || is_descendant(task))
		return true;
	if (by_cgroup && is_wanted_cgroup(BPF_CORE_READ(task, cgroups, dfl_cgrp)))
		return true;
	*ret_flags = 0;
	/* Do not follow children: they inherit the user, and match until they change it. */
	if (user_count && has_wanted_user(task))
		return true;
	id = number_here(BPF_CORE_READ(task, thread_pid));
	return bpf_map_lookup_elem(&wanted_tids, &id);
}

/* Saves pid and tid: the kernel's, those in gapless's pid namespace, and the tid in its own. */
static __always_inline void note_numbers(struct thread *thread, struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	thread->pid = BPF_CORE_READ(task, tgid);
	thread->here_pid = number_here(BPF_CORE_READ(task, group_leader, thread_pid));
	thread->here_tid = number_here(pid);
	thread->ns_tid = pid ? number_at(pid, BPF_CORE_READ(pid, level), 0) : 0;
}

static __always_inline __u32 current_pid(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return number_here(BPF_CORE_READ(task, group_leader, thread_pid));
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

/*
 * Creates the account without opening it. Returns NULL if there is no memory, which is counted, or
 * if the account already exists.
 */
static __always_inline struct thread *new_thread(struct task_struct *task, __u32 flags)
{
	struct thread *thread =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!thread) {
		/* The call also fails if another CPU creates the account at the same time. */
		if (!find(task))
			count_lost(LOST_NO_STORAGE);
		return NULL;
	}
	if (thread->id ||
	    __sync_val_compare_and_swap(&thread->id, 0, __sync_fetch_and_add(&last_id, 1) + 1))
		return NULL;
	note_numbers(thread, task);
	thread->nr = NR_NONE;
	thread->last_nr = NR_NONE;
	thread->flags = flags;
	thread->minor_faults = BPF_CORE_READ(task, min_flt);
	thread->major_faults = BPF_CORE_READ(task, maj_flt);
	if (BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_IO_WORKER)) {
		thread->nr = NR_KERNEL;
		thread->flags |= THREAD_KERNEL;
	}
	remember_tid(thread);
	return thread;
}

/* An outside thread now matches the target. Its account goes on, with the time before included. */
static __always_inline void no_longer_outside(struct thread *thread, __u32 flags)
{
	if (!(thread->flags & THREAD_OUTSIDE))
		return;
	__sync_fetch_and_or(&thread->flags, flags);
	__sync_fetch_and_and(&thread->flags, ~THREAD_OUTSIDE);
}
