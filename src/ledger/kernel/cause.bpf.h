/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a thread is about to wait. Determined at switch-out from its scheduler state, the syscall in
 * flight (from the registers saved at kernel entry, so no syscall hook is needed) and the kind of
 * file behind the descriptor. Fills in thread->wait.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "ledger/kernel/calls.bpf.h"
#include "ledger/kernel/fault.bpf.h"
#include "ledger/kernel/futex.bpf.h"
#include "ledger/kernel/holder.bpf.h"
#include "ledger/kernel/kernel_lock.bpf.h"
#include "ledger/kernel/runtimes.bpf.h"
#include "ledger/kernel/turns.bpf.h"
#include "ledger/kernel/uring.bpf.h"

/* The scheduler's state bits (include/linux/sched.h), the same from 6.1 to 6.18. */
#define TASK_UNINTERRUPTIBLE 0x00000002
#define TASK_STOPPED_ANY     0x0000000c /* __TASK_STOPPED | __TASK_TRACED */
#define TASK_DEAD            0x00000080
#define TASK_WAKEKILL        0x00000100
#define TASK_NEW             0x00000800
#define TASK_FROZEN          0x00008000

/*
 * The cgroup freezer uses an ordinary sleep; only this bit shows it
 * (include/linux/sched/jobctl.h).
 */
#define JOBCTL_TRAP_FREEZE (1UL << 23)

const volatile __u8 class_of[LEDGER_SYSCALLS];
const volatile __s32 nr_wait4;
const volatile __s32 nr_sendfile;
const volatile __s32 nr_exit; /* waits of an exiting thread are booked under this number */

/*
 * Any file but a socket or a pipe. Inode numbers are reused with another generation. Anonymous
 * files share one inode, so their type (f_op), process and descriptor identify them; an anonymous
 * file that is closed and opened again at the same descriptor counts as the same one.
 */
static __always_inline __u32 note_file(struct thread *thread, struct file *file, __s32 fd,
				       __u32 slot)
{
	struct ledger_key *wait = &thread->wait;
	struct file_facts facts;

	if (is_anonymous(file)) {
		wait->object_kind = OBJECT_ANONYMOUS;
		wait->object[0] = (__u64)BPF_CORE_READ(file, f_op);
		wait->object[1] = (__u64)thread->pid << 32 | (__u32)fd;
		return slot;
	}
	look_at_file(file, &facts);
	wait->object_kind = OBJECT_FILE;
	wait->object[1] = (__u64)facts.generation << 32 | facts.device;
	switch (facts.mode & S_IFMT) {
	case S_IFREG:
	case S_IFBLK:
	case S_IFDIR:
		return slot == SLOT_WAIT_OTHER ? SLOT_WAIT_DISK : slot;
	default: /* for example terminals */
		return slot;
	}
}

/*
 * The slot by the kind of file; `fallback` if we do not know that kind. `fd`: its descriptor, -1 if
 * it has none. `kind`: what is done to a socket, TALK_*.
 */
static __noinline __u32 cause_of_open_file(struct thread *thread, struct file *file, __s32 fd,
					   __u32 fallback, __u32 kind)
{
	struct ledger_key *wait = &thread->wait;
	__u32 slot = fallback, mode;

	look_at_inode(file, &wait->object[0], &mode);
	thread->no_talk = (mode & S_IFMT) != S_IFSOCK;
	switch (mode & S_IFMT) {
	case S_IFSOCK:
		wait->object_kind = OBJECT_SOCKET;
		wait->turn = turn_of_call(thread, (__u64)file, kind);
		if (slot == SLOT_WAIT_OTHER)
			slot = SLOT_WAIT_NET;
		break;
	case S_IFIFO:
		wait->object_kind = OBJECT_PIPE;
		slot = SLOT_WAIT_PIPE;
		break;
	default:
		slot = note_file(thread, file, fd, slot);
	}
	if (!is_object_of_cell(thread))
		describe(thread, file, BPF_CORE_READ(file, f_path.dentry), fd);
	return slot;
}

/* The same for the file behind a descriptor. */
static __always_inline __u32 cause_of_file(struct thread *thread, struct task_struct *task,
					   __s32 fd, __u32 fallback)
{
	struct file *file = file_of(task, fd);

	return file ? cause_of_open_file(thread, file, fd, fallback, talk_in_flight(thread))
		    : fallback;
}

/* A page fault. The object is that of read() on the same file. */
static __noinline __u32 cause_of_fault(struct thread *thread, struct task_struct *task)
{
	struct inode *inode = inode_of_fault(thread, task);
	struct ledger_key *wait = &thread->wait;

	if (!inode)
		return SLOT_WAIT_FAULT;
	wait->object_kind = OBJECT_FILE;
	wait->object[0] = BPF_CORE_READ(inode, i_ino);
	wait->object[1] =
		(__u64)BPF_CORE_READ(inode, i_generation) << 32 | BPF_CORE_READ(inode, i_sb, s_dev);
	if (!is_object_of_cell(thread))
		describe(thread, NULL, dentry_of(inode), -1);
	return SLOT_WAIT_FAULT;
}

static __noinline __u32 cause_of_uring(struct thread *thread, struct task_struct *task,
				       struct pt_regs *regs)
{
	struct io_kiocb *request;
	struct file *file = NULL;

	request = request_in_flight(thread, task, regs, &file);
	if (request)
		cause_of_open_file(thread, file, descriptor_of(request), SLOT_WAIT_URING,
				   talk_of_request(request));
	return SLOT_WAIT_URING;
}

/* `here`: the thread is the current one, so its user memory can be read. */
static __noinline __u32 cause_of_futex(struct thread *thread, struct pt_regs *regs, bool here)
{
	struct ledger_key *wait = &thread->wait;
	struct tid_key key = { .pid = thread->pid };
	__u32 op = (__u32)regs->ARCH_ARG2 & FUTEX_CMD_MASK;
	__u32 slot;
	__u64 *owner;

	wait->object_kind = OBJECT_FUTEX;
	wait->object[0] = regs->ARCH_ARG1;
	if (!here)
		return SLOT_WAIT_LOCK;
	slot = cause_of_runtime(thread);
	if (slot != SLOT_NONE)
		return slot;
	thread->releases = *releases_of_wait(wait); /* read this before the owner */
	key.ns_tid = owner_of(wait->object[0], op, (__u32)regs->ARCH_ARG3);
	if (!key.ns_tid || key.ns_tid == thread->ns_tid || is_raw_syscall(regs))
		return SLOT_WAIT_LOCK;
	owner = bpf_map_lookup_elem(&tids, &key);
	if (!owner)
		return SLOT_WAIT_LOCK;
	wait->by = *owner;
	wait->by_kind = BY_THREAD;
	wait->evidence = EVIDENCE_OWNER;
	return SLOT_WAIT_LOCK_OWNED;
}

static __always_inline __u32 other_syscall(struct thread *thread, __s32 nr)
{
	thread->wait.object_kind = OBJECT_SYSCALL;
	thread->wait.object[0] = nr;
	return SLOT_WAIT_OTHER;
}

static __always_inline bool is_on_disk(struct task_struct *task, __s32 fd)
{
	struct file *file = file_of(task, fd);
	__u32 mode = 0;
	__u64 inode;

	if (file)
		look_at_inode(file, &inode, &mode);
	return ((mode & S_IFMT) == S_IFREG && !is_anonymous(file)) || (mode & S_IFMT) == S_IFBLK;
}

/* A copy between two descriptors. In iowait, prefer the one that is on a disk. */
static __always_inline __u32 cause_of_copy(struct thread *thread, struct task_struct *task,
					   struct pt_regs *regs, __s32 nr, bool in_iowait)
{
	__s32 fd = (__s32)regs->ARCH_ARG1;

	if (in_iowait && nr == nr_sendfile)
		fd = (__s32)regs->ARCH_ARG2;
	else if (in_iowait && !is_on_disk(task, fd))
		fd = (__s32)regs->ARCH_ARG3;
	other_syscall(thread, nr);
	return cause_of_file(thread, task, fd, SLOT_WAIT_OTHER);
}

static __always_inline __u32 cause_of_class(struct thread *thread, struct task_struct *task,
					    struct pt_regs *regs, __s32 nr, bool here,
					    bool in_iowait)
{
	__s32 fd = (__s32)regs->ARCH_ARG1;

	switch (class_of[nr & (LEDGER_SYSCALLS - 1)]) {
	case CLASS_FUTEX:
		return cause_of_futex(thread, regs, here);
	case CLASS_FUTEX2:
		thread->wait.object_kind = OBJECT_FUTEX;
		thread->wait.object[0] = regs->ARCH_ARG1;
		return SLOT_WAIT_LOCK;
	case CLASS_LOCK:
		return SLOT_WAIT_LOCK;
	case CLASS_LOCK_FD:
		return cause_of_file(thread, task, fd, SLOT_WAIT_LOCK);
	case CLASS_SLEEP:
		return SLOT_WAIT_SLEEP;
	case CLASS_POLL:
		if (here && with_turns)
			note_poll(thread, task);
		return SLOT_WAIT_POLL;
	case CLASS_CHILD:
		thread->wait.object_kind = OBJECT_CHILD;
		if (nr == nr_wait4 && fd > 0)
			thread->wait.object[0] = fd; /* the first argument is the child's pid */
		return SLOT_WAIT_CHILD;
	case CLASS_NET:
		return cause_of_file(thread, task, fd, SLOT_WAIT_NET);
	case CLASS_ACCEPT:
		return cause_of_file(thread, task, fd, SLOT_WAIT_ACCEPT);
	case CLASS_FD:
		other_syscall(thread, nr);
		return cause_of_file(thread, task, fd, SLOT_WAIT_OTHER);
	case CLASS_COPY:
		return cause_of_copy(thread, task, regs, nr, in_iowait);
	case CLASS_DISK:
		other_syscall(thread, nr);
		return SLOT_WAIT_DISK;
	case CLASS_QUEUE:
		return SLOT_WAIT_PIPE;
	case CLASS_URING:
		return cause_of_uring(thread, task, regs);
	default:
		return other_syscall(thread, nr);
	}
}

/* The syscall in flight according to the registers; NR_NONE outside of a syscall. */
static __always_inline __s32 syscall_in_flight(struct thread *thread, struct task_struct *task,
					       struct pt_regs *regs)
{
	__s64 nr = syscall_of(regs);

	if (nr < 0 || nr >= LEDGER_SYSCALLS)
		return NR_NONE;
	if (is_32bit(task))
		return LEDGER_32BIT_CALL;
	/* If the call was interrupted before we attached, its own number is unknown. */
	if (nr == nr_restart)
		return thread->last_nr == NR_NONE ? nr : thread->last_nr;
	thread->last_nr = nr;
	return nr;
}

/*
 * The kernel marks a thread that waits for a device (in_iowait), and one that waits for memory
 * (in_memstall, with CONFIG_PSI) because its cgroup is over a limit or pages are being reclaimed.
 * A killable sleep with neither mark and outside of a syscall is throttling by memory.high.
 */
static __always_inline bool waits_for_memory(struct task_struct *task, __u32 state, __s64 nr)
{
	if (!(state & TASK_UNINTERRUPTIBLE) || BPF_CORE_READ_BITFIELD(task, in_iowait))
		return false;
	if (bpf_core_field_exists(task->in_memstall) && BPF_CORE_READ_BITFIELD(task, in_memstall))
		return true;
	return nr < 0 && state & TASK_WAKEKILL;
}

/* The cause of a wait in a syscall. A thread in iowait waits for a disk, whatever the call is. */
static __always_inline __u32 cause_of_call(struct thread *thread, struct task_struct *task,
					   struct pt_regs *regs, __s32 nr, bool here)
{
	bool in_iowait = BPF_CORE_READ_BITFIELD(task, in_iowait);
	__u32 slot = cause_of_class(thread, task, regs, nr, here, in_iowait);

	/* io_uring sets in_iowait for waits for any completion, so the mark says nothing there. */
	if (!in_iowait || slot == SLOT_WAIT_DISK || slot == SLOT_WAIT_URING)
		return slot;
	thread->wait.evidence = EVIDENCE_NONE;
	thread->wait.by_kind = BY_NOBODY;
	if (thread->wait.object_kind != OBJECT_FILE)
		other_syscall(thread, nr);
	return SLOT_WAIT_DISK;
}

/* Returns the slot of the wait and fills in thread->wait. */
static __noinline __u32 cause_of_wait(struct thread *thread, struct task_struct *task, __u32 state,
				      bool here)
{
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	__u32 flags = task->flags;
	__s32 nr;

	thread->wait = (struct ledger_key) { .thread = thread->id, .pid = thread->pid };
	thread->wait.in_request = here && has_request(thread, task);
	thread->turn_watch = WATCH_NOTHING;
	if (state & (TASK_STOPPED_ANY | TASK_FROZEN) || task->jobctl & JOBCTL_TRAP_FREEZE)
		return SLOT_WAIT_STOPPED;
	if (flags & PF_KTHREAD)
		return SLOT_WAIT_KTHREAD;
	if (thread->kernel_lock) {
		name_kernel_lock(thread, task);
		return cause_of_kernel_lock(thread, task);
	}
	if (!(thread->flags & THREAD_EXITING) && waits_for_memory(task, state, syscall_of(regs))) {
		thread->wait.object_kind = OBJECT_MEMORY;
		return SLOT_WAIT_KERNEL;
	}
	if (flags & PF_IO_WORKER)
		return SLOT_WAIT_URING;
	if (thread->flags & THREAD_EXITING)
		return other_syscall(thread, nr_exit);
	nr = syscall_in_flight(thread, task, regs);
	if (nr == NR_NONE)
		return cause_of_fault(thread, task);
	if (nr == LEDGER_32BIT_CALL)
		return other_syscall(thread, nr);
	return cause_of_call(thread, task, regs, nr, here);
}

/* The same for the current thread, which is about to leave its CPU. */
VERIFIED_ONCE __u32 cause_of_own_wait(struct thread *thread, __u32 state)
{
	return thread ? cause_of_wait(thread, bpf_get_current_task_btf(), state, true)
		      : SLOT_WAIT_OTHER;
}
