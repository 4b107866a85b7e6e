/* Which threads have an account. Decided when a thread appears; the other hooks only look it up. */
#pragma once

#include "bpf/files.bpf.h"
#include "bpf/glob.h"
#include "ledger/kernel/cause.bpf.h"

#define MOST_NAMES        8
#define MOST_EXES         8
#define MOST_USERS        8
#define CGROUP_MOST_DEPTH 32
#define MOST_ANCESTORS    64

const volatile bool all_threads;
const volatile __u32 name_count;
const volatile struct glob names[MOST_NAMES];
const volatile __u32 exe_count;
const volatile __u32 exe_fds[MOST_EXES]; /* descriptors of gapless that hold the files open */
const volatile __u32 user_count;
const volatile __u32 users[MOST_USERS];
const volatile bool by_cgroup;
const volatile bool by_descent; /* children that are there at the start are wanted too */
const volatile bool early;      /* children are followed before accounts are open */

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
 * The files behind exe_fds, noted by the seeding. Their addresses are theirs alone for as long as
 * gapless holds them open; numbers of devices and inodes differ between stat() and the kernel on
 * some file systems (overlayfs, btrfs).
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

/* By its effective user, as ps(1) shows. */
static __noinline bool has_wanted_user(struct task_struct *task)
{
	__u32 user = BPF_CORE_READ(task, real_cred, euid.val);

	for (__u32 i = 0; i < MOST_USERS && i < user_count; i++)
		if (user == users[i])
			return true;
	return false;
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
__s32 own_tgid;

static __always_inline __u32 number_here(struct pid *pid)
{
	return number_at(pid, own_level, own_ns);
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

/* Whether the process is one that was asked for, by number, by file or by name. */
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

	/* What the target's shell started is its child, but not if that is gapless. */
	if (!parent || parent == task || BPF_CORE_READ(task, tgid) == own_tgid)
		return 1;
	ascent->task = parent;
	ascent->found = is_wanted_process(parent, BPF_CORE_READ(parent, group_leader));
	return ascent->found;
}

/*
 * Whether one of its ancestors is a wanted process. Asked by the seeding only: from then on every
 * birth is seen, and a process whose parent has ended may get one that it does not descend from.
 */
static __noinline bool is_descendant(struct task_struct *task)
{
	struct ascent ascent = { .task = task };

	if (by_descent && base_ns == NOT_YET)
		bpf_loop(MOST_ANCESTORS, climb, &ascent, 0);
	return ascent.found;
}

/* *ret_flags says whether its children are wanted too. */
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
	/* Children have the user of their parent; one that takes another is wanted no more. */
	if (user_count && has_wanted_user(task))
		return true;
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
		/* Or another CPU was making it at the same time. */
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
