/*
 * A thread's account in task storage, and the one way to change it.
 *
 * Who writes: hooks of the thread itself while it runs, sched_switch on its CPU, and sched_wakeup
 * on any CPU while it does not run. The scheduler's locks order these, so there is one writer at a
 * time. The snapshot reads from another CPU at any moment: hence the sequence count.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/identity.h"
#include "ledger/ledger.h"

/* In the kernel, but not in a syscall: a new thread before its first return, a kernel thread. */
#define NR_NONE   (-1)
#define NR_KERNEL (-2)

/* Drawn intervals that wait for a user stack, see samples.bpf.h. count 0: none. */
struct pending {
	__u64 kernel, waker; /* stacks */
	__u64 ip, sp;        /* of the user stack that it waits for */
	__u64 weight_ns, wait_ns, period_ns, end_ns;
	__u64 by, first;
	__u64 object[2];
	__u16 count;
	__u8 slot, flags;
	__u8 by_kind, object_kind, evidence, pad;
};
#define MOST_PENDING 4

/*
 * A call that a signal broke off, until it is known whether the kernel makes it again; see
 * calls.bpf.h.
 */
struct broken_call {
	__u64 begin_ns;  /* 0: none */
	__u64 off_ns;    /* the thread's off_ns then */
	__u64 end_ns;    /* when it was broken off … */
	__u64 waited_ns; /* … and how long it had been without a CPU by then */
	__u64 sp;        /* the user stack pointer: the call is made again with the same one */
	__s32 nr;
	__u16 restart; /* its return: one of ERESTART… */
	__u16 state;
};

struct thread {
	/* First, and as struct identity has it: signals see that much of a thread. */
	__u64 id;
	__u32 here_pid; /* in gapless's own pid namespace, as /proc has it; 0: not to be seen there
			 */
	__u32 here_tid;
	__u64 ended_ns; /* see end_of_call() */
	struct ledger_account account;
	__u32 pid;    /* the kernel's number; the key of tids together with … */
	__u32 ns_tid; /* … the tid in its own pid namespace, as user memory has it */
	__u32 flags;
	__u32 flush; /* the last flush that the cell took part in */
	__s32 nr;    /* the syscall in flight, or NR_NONE, NR_KERNEL */
	__s32 last_nr;
	__u64 call_ns;     /* when it began */
	__u64 call_off_ns; /* off_ns then */
	struct broken_call broken;
	__u64 off_ns;       /* all time without a CPU so far */
	__u64 left_ns;      /* when it left the CPU */
	__u64 on_ns;        /* when it got the CPU; 0: before we looked */
	__u64 exec_ns;      /* the scheduler's sums when it left the CPU: of running … */
	__u64 delay_ns;     /* … and of waiting for a CPU; see repair.bpf.h */
	__u64 minor_faults; /* when its account began */
	__u64 major_faults;
	__u64 kernel_lock;
	__u64 waker; /* set by sched_waking, which may come before the wait begins */
	__u32 waker_kind;
	__u32 cpu;
	__u64 released; /* set by sched_waking: the lock that the waker let go of; 0: none … */
	__u32 released_before; /* … and how often it was released before */
	__u32 releases;        /* of the lock, when the wait for it began; see holder.bpf.h */
	__u64 stack_mark;      /* see in_interrupt() */
	__u64 last_waker; /* the last thread that woke it: task, number, and what it is to us */
	__s32 last_waker_pid;
	__u32 last_waker_kind;
	__u64 last_waker_id;
	__u64 waking_since_ns;   /* the begin of the wait that sched_waking has seen the end of … */
	__u64 waker_stack;       /* … who ended it, if it will be drawn … */
	__u32 random;            /* … by this number */
	__u32 kernel_lock_flags; /* LCB_F_… */
	struct ledger_key wait;
	struct ledger_key cell;
	struct ledger_sum cell_sum;
	__u64 unjudged_ns; /* a wait that may have timed out: see timeouts.bpf.h */
	__u64 unjudged_by;
	__u32 unjudged_by_kind;
	__u16 by_interrupt; /* waking comes from an interrupt, whoever is behind it … */
	__u16 by_rcu;       /* … or from RCU */
	__u64 left_stack;   /* how it left the CPU, see samples.bpf.h */
	__u8 left, left_none, left_shift, pad;
	__u32 pending_count;
	struct pending pending[MOST_PENDING];
};

_Static_assert(__builtin_offsetof(struct thread, account) ==
		       __builtin_offsetof(struct ledger_thread, account),
	       "user space makes one to calibrate with");
_Static_assert(__builtin_offsetof(struct thread, ended_ns) ==
		       __builtin_offsetof(struct identity, ended_ns),
	       "signals read a struct identity there");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

const volatile bool full; /* level full: syscalls are hooked */

__u64 start_ns; /* accounts are opened since then; 0: not yet */
/*
 * When the recording begins: later than start_ns, when every thread has been seen. An account that
 * was opened before has no sums until then, whatever its thread does, and begins there. NOT_YET
 * while the seeding is at work; 0 before.
 */
#define NOT_YET (~0ULL)
__u64 base_ns;
bool frozen;     /* nothing changes any more … */
__u64 frozen_ns; /* … since then */
__u64 quality[QUALITY_COUNT];
__u64 last_id;

static __always_inline void count_quality(enum ledger_quality what)
{
	__sync_fetch_and_add(&quality[what], 1);
}

static __always_inline struct thread *find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

/*
 * One writer at a time, so the count itself needs no atomic. The barriers keep what is written
 * between the two changes of the count; copy_account() has the reader's.
 */
static __always_inline void write_begin(struct ledger_account *account)
{
	*(volatile __u32 *)&account->sequence = account->sequence + 1;
	arch_order_stores();
}

static __always_inline void write_end(struct ledger_account *account)
{
	arch_order_stores();
	*(volatile __u32 *)&account->sequence = account->sequence + 1;
}

/*
 * The interval in which a thread was found counts like one that begins, so that every interval with
 * time in the account is one of its count, as it is one of the wait's. Another name for the slot
 * takes the count along.
 */
static __always_inline void count_found(struct ledger_account *account, __u32 slot, __u32 change)
{
	if (slot < SLOT_COUNT)
		account->count[slot] += change;
}

/* Books a wait under its object and culprit, see waits.bpf.h. */
int wait_ended(struct thread *thread, __u32 slot, __u64 ns);

/*
 * Law 1: closes the open slot and opens the next with the same timestamp. Returns how long the
 * closed one was open. The caller is between write_begin() and write_end(). No wait ends in
 * another way, so what an account has of waits, the sums of waits have too (invariant 5).
 */
static __always_inline __u64 move(struct thread *thread, __u32 to, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 from = account->slot;
	__u64 ns;

	if (account->since_ns < base_ns) {
		if (now < base_ns) {
			account->since_ns = now;
			account->slot = to;
			count_found(account, from, -1);
			count_found(account, to, 1);
			return 0;
		}
		account->first_ns = account->since_ns = base_ns;
	}
	ns = now - account->since_ns;
	if ((__s64)ns < 0) {
		count_quality(QUALITY_NEGATIVE);
		now = account->since_ns;
		ns = 0;
	}
	if (from < SLOT_COUNT)
		account->ns[from] += ns;
	if (SLOT_IS_WAIT(from))
		wait_ended(thread, from, ns);
	account->since_ns = now;
	account->slot = to;
	if (to < SLOT_COUNT)
		account->count[to]++;
	return ns;
}

/* When the open slot began, of what is recorded. */
static __always_inline __u64 open_since(const struct ledger_account *account)
{
	return account->since_ns < base_ns ? base_ns : account->since_ns;
}

/* An interval that we saw but cannot stand for. It keeps its state, so that sums still close. */
static __always_inline void unexplained(struct thread *thread, __u64 now)
{
	__u64 ns = now - open_since(&thread->account);

	if (now < base_ns)
		return;
	count_quality(QUALITY_IMPOSSIBLE);
	if ((__s64)ns > 0)
		thread->account.unexplained_ns += ns;
}

/* Where a thread is that has the CPU. */
static __always_inline __u32 run_slot(const struct thread *thread)
{
	if (!full)
		return SLOT_RUN_ANY;
	return thread->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL;
}

/* No hook has moved it since the seeding. */
static __always_inline bool is_as_seeded(const struct ledger_account *account)
{
	return account->since_ns == account->first_ns;
}

/* A hook found an account that the seeding has made but not opened yet: the hook wins. */
static __always_inline void open_account(struct thread *thread, __u32 slot, __u64 now)
{
	struct ledger_account *account = &thread->account;

	account->first_ns = now;
	account->since_ns = now;
	account->slot = slot;
	count_found(account, slot, 1);
}
