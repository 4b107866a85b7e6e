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
	__u64 weight_ns, wait_ns, period_ns, end_ns;
	__u64 by;
	__u64 object[2];
	__u16 count;
	__u8 slot, flags;
	__u8 by_kind, object_kind, evidence, pad;
};
#define MOST_PENDING 4

struct thread {
	/* First, and as struct identity has it: signals see that much of a thread. */
	__u64 id;
	__u32 here_pid; /* in gapless's own pid namespace, as /proc has it; 0: not to be seen there
			 */
	__u32 here_tid;
	struct ledger_account account;
	__u32 pid;    /* the kernel's number; the key of tids together with … */
	__u32 ns_tid; /* … the tid in its own pid namespace, as user memory has it */
	__u32 flags;
	__u32 flush; /* the last flush that the cell took part in */
	__s32 nr;    /* the syscall in flight, or NR_NONE, NR_KERNEL */
	__s32 last_nr;
	__u64 call_ns;          /* when it began */
	__u64 call_off_ns;      /* off_ns then */
	__u64 broken_ns;        /* a call that a signal broke off: when it began; 0: none */
	__u64 broken_off_ns;    /* off_ns then */
	__u64 broken_waited_ns; /* without a CPU until it was broken off … */
	__u64 broken_end_ns;    /* … then */
	__u64 off_ns;           /* all time without a CPU so far */
	__u64 left_ns;          /* when it left the CPU */
	__u64 on_ns;            /* when it got the CPU; 0: before we looked */
	__u64 exec_ns;          /* the scheduler's sums when it left the CPU: of running … */
	__u64 delay_ns;         /* … and of waiting for a CPU; see repair.bpf.h */
	__u64 kernel_lock;
	__u64 waker; /* set by sched_waking, which may come before the wait begins */
	__u32 waker_kind;
	__u32 cpu;
	__u64 stack_mark; /* see in_interrupt() */
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
	__u32 pending_count;
	__u32 pad;
	struct pending pending[MOST_PENDING];
};

_Static_assert(__builtin_offsetof(struct thread, here_tid) ==
		       __builtin_offsetof(struct identity, tid),
	       "signals read a struct identity there");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

const volatile bool full; /* level full: syscalls are hooked */

__u64 seed_base_ns; /* accounts that the seeding opens begin here; 0: when it sees them */
__u64 start_ns;     /* when the recording began; 0: not yet */
bool frozen;        /* nothing changes any more … */
__u64 frozen_ns;    /* … since then */
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
 * x86 keeps stores in order, so the compiler is all that must be stopped. Elsewhere an atomic with
 * a result is a full barrier.
 */
static __always_inline void write_begin(struct ledger_account *account)
{
#ifdef __TARGET_ARCH_x86
	*(volatile __u32 *)&account->sequence = account->sequence + 1;
	barrier();
#else
	__sync_fetch_and_add(&account->sequence, 1);
#endif
}

static __always_inline void write_end(struct ledger_account *account)
{
#ifdef __TARGET_ARCH_x86
	barrier();
	*(volatile __u32 *)&account->sequence = account->sequence + 1;
#else
	__sync_fetch_and_add(&account->sequence, 1);
#endif
}

/*
 * Law 1: closes the open slot and opens the next with the same timestamp. Returns how long the
 * closed one was open. The caller is between write_begin() and write_end().
 */
static __always_inline __u64 move(struct thread *thread, __u32 to, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 from = account->slot;
	__u64 ns = now - account->since_ns;

	if ((__s64)ns < 0) {
		count_quality(QUALITY_NEGATIVE);
		now = account->since_ns;
		ns = 0;
	}
	if (from < SLOT_COUNT)
		account->ns[from] += ns;
	account->since_ns = now;
	account->slot = to;
	if (to < SLOT_COUNT)
		account->count[to]++;
	return ns;
}

/* An interval that we saw but cannot stand for. It keeps its state, so that sums still close. */
static __always_inline void unexplained(struct thread *thread, __u64 now)
{
	__u64 ns = now - thread->account.since_ns;

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
	return account->since_ns == account->first_ns + account->ns[SLOT_UNSEEN];
}

/* A hook found an account that the seeding has made but not opened yet: the hook wins. */
static __always_inline void open_account(struct thread *thread, __u32 slot, __u64 now)
{
	struct ledger_account *account = &thread->account;

	account->first_ns = seed_base_ns ? seed_base_ns : now;
	account->ns[SLOT_UNSEEN] = now - account->first_ns;
	account->since_ns = now;
	account->slot = slot;
}
