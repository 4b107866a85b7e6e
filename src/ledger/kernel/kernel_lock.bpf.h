/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A wait for a lock of the kernel: who holds it, and what it protects. The tracepoints have only
 * the address of the lock. Two locks are recognised by what is around them:
 *
 *   mmap_lock  It is that of the waiter's own memory map, or it lies in a memory map whose owner
 *              uses that map.
 *   i_rwsem    It lies in an inode: the page cache of that inode points back to the inode.
 *
 * Memory that is no map and no inode does not have such a pointer to itself at that place.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "ledger/kernel/describe.bpf.h"
#include "ledger/kernel/holder.bpf.h"

/* Flags of the tracepoint contention_begin (include/trace/events/lock.h). */
#define LCB_F_SPIN   1
#define LCB_F_READ   2
#define LCB_F_WRITE  4
#define LCB_F_RT     8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX  32

/* Flag bits in the owner field of a mutex or an rw_semaphore. */
#define OWNER_BITS         7UL
#define RWSEM_READER_OWNED 1UL

/* Resolves a tid found in user memory to the id of an accounted thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 262144);
	__type(key, struct tid_key);
	__type(value, __u64);
} tids SEC(".maps");

/* The number of a thread or process at one pid namespace level; 0 if it has none there. */
static __always_inline __u32 number_at(struct pid *pid, __u32 level, __u64 ns)
{
	struct upid number = {};

	if (!pid || level > BPF_CORE_READ(pid, level))
		return 0;
	/* The running kernel's struct upid may be larger than the one that we compile with. */
	bpf_probe_read_kernel(&number, sizeof(number),
			      (void *)&pid->numbers[0] + level * bpf_core_type_size(struct upid));
	return ns && (__u64)number.ns != ns ? 0 : number.nr;
}

/* Pid namespace and tgid of gapless, saved by the seeding, which runs in its context. */
__u32 own_level;
__u64 own_ns;
__s32 own_tgid;

static __always_inline __u32 number_here(struct pid *pid)
{
	return number_at(pid, own_level, own_ns);
}

/* A name of the file. Which one, if it has several, does not matter: it has the same content. */
static __always_inline struct dentry *dentry_of(struct inode *inode)
{
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);

	return alias ? (void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias) : NULL;
}

static __always_inline bool is_rw_semaphore(const struct thread *thread)
{
	return thread->kernel_lock_flags & (LCB_F_READ | LCB_F_WRITE) &&
	       !(thread->kernel_lock_flags & (LCB_F_RT | LCB_F_PERCPU));
}

/* The owner of the kernel lock that the thread waits for; NULL if the lock does not tell. */
static __always_inline struct task_struct *owner_of_kernel_lock(const struct thread *thread)
{
	__u64 owner = 0;

	if (thread->kernel_lock_flags & LCB_F_MUTEX) {
		struct mutex *mutex = (void *)thread->kernel_lock;

		if (bpf_core_field_exists(mutex->owner)) /* absent with PREEMPT_RT */
			owner = BPF_CORE_READ(mutex, owner.counter);
	} else if (is_rw_semaphore(thread)) {
		struct rw_semaphore *semaphore = (void *)thread->kernel_lock;

		if (bpf_core_field_exists(semaphore->owner))
			owner = BPF_CORE_READ(semaphore, owner.counter);
		if (owner & RWSEM_READER_OWNED)
			return NULL; /* one of several readers, or a former reader */
	}
	return (void *)(owner & ~OWNER_BITS);
}

/* Which process has the memory map that the lock is in; 0: it is in none. */
static __always_inline __u32 process_of_mmap_lock(const struct thread *thread,
						  struct task_struct *task)
{
	struct mm_struct *own = BPF_CORE_READ(task, mm), *mm = NULL;
	struct task_struct *owner;

	if (own && thread->kernel_lock == (__u64)&own->mmap_lock)
		return thread->here_pid;
	mm = (void *)thread->kernel_lock - bpf_core_field_offset(mm->mmap_lock);
	if (!bpf_core_field_exists(mm->owner)) /* only with CONFIG_MEMCG */
		return 0;
	owner = BPF_CORE_READ(mm, owner);
	if (!owner || BPF_CORE_READ(owner, mm) != mm)
		return 0;
	return number_here(BPF_CORE_READ(owner, group_leader, thread_pid));
}

/* The inode that the lock is the i_rwsem of; NULL: none. */
static __always_inline struct inode *inode_of_lock(const struct thread *thread)
{
	struct inode *inode = NULL;

	inode = (void *)thread->kernel_lock - bpf_core_field_offset(inode->i_rwsem);
	return BPF_CORE_READ(inode, i_data.host) == inode ? inode : NULL;
}

/* The descriptor by which the call in flight uses the file; -1: none. */
static __always_inline __s32 descriptor_of_inode(struct task_struct *task, struct inode *inode)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__s32 fd = (__s32)regs->ARCH_ARG1;
	struct file *file = syscall_of(regs) >= 0 && fd >= 0 ? file_of(task, fd) : NULL;

	return file && BPF_CORE_READ(file, f_inode) == inode ? fd : -1;
}

/* Fills in the object of thread->wait. */
static __noinline void name_kernel_lock(struct thread *thread, struct task_struct *task)
{
	struct ledger_key *wait = &thread->wait;
	struct inode *inode;
	__u32 pid;

	wait->object_kind = OBJECT_KERNEL;
	wait->object[0] = thread->kernel_lock;
	if (by_class || !is_rw_semaphore(thread))
		return;
	pid = process_of_mmap_lock(thread, task);
	if (pid) {
		wait->object[1] = KERNEL_LOCK_MMAP | (__u64)pid << 32;
		return;
	}
	inode = inode_of_lock(thread);
	if (!inode)
		return;
	wait->object[1] = KERNEL_LOCK_INODE;
	if (!is_object_of_cell(thread))
		describe(thread, NULL, dentry_of(inode), descriptor_of_inode(task, inode));
}

static __noinline __u32 cause_of_kernel_lock(struct thread *thread, struct task_struct *task)
{
	struct ledger_key *wait = &thread->wait;
	struct tid_key key = {};
	struct task_struct *owner;
	struct pid *pid;
	__u64 *id;

	thread->releases = *releases_of_wait(wait); /* read this before the owner */
	owner = owner_of_kernel_lock(thread);
	if (!owner)
		return SLOT_WAIT_KERNEL;
	pid = BPF_CORE_READ(owner, thread_pid);
	key.pid = BPF_CORE_READ(owner, tgid);
	key.ns_tid = pid ? number_at(pid, BPF_CORE_READ(pid, level), 0) : 0;
	id = bpf_map_lookup_elem(&tids, &key);
	wait->by = id ? *id : (__u64)BPF_CORE_READ(owner, pid);
	wait->by_kind = id ? BY_THREAD : BY_UNACCOUNTED;
	wait->evidence = EVIDENCE_OWNER;
	if (!id && !(BPF_CORE_READ(owner, flags) & (PF_KTHREAD | PF_IO_WORKER)))
		thread->suspect = (struct outside_key) { BPF_CORE_READ(owner, start_boottime),
							 (__u32)wait->by };
	return SLOT_WAIT_KERNEL;
}
