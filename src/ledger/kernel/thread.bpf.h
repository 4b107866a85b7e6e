/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's account in task storage, and the functions that change it.
 *
 * Writers are the hooks of the thread itself while it runs, sched_switch on its CPU, and
 * sched_wakeup on any CPU while it does not run. The scheduler's locks order these, so there is one
 * writer at a time. The snapshot reads from another CPU at any moment, so there is a sequence
 * count.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/identity.bpf.h"
#include "bpf/interrupts.bpf.h"
#include "ledger/ledger.h"

/*
 * Values of thread.nr. NR_NONE: not in a syscall. NR_KERNEL: in the kernel, but not in a syscall (a
 * new thread before its first return to user space, or a kernel thread).
 */
#define NR_NONE   (-1)
#define NR_KERNEL (-2)

/*
 * A call that a signal interrupted, until it is known whether the kernel restarts it; see
 * calls.bpf.h.
 */
struct interrupted_call {
	__u64 begin_ns;  /* 0: no such call */
	__u64 off_ns;    /* the thread's off_ns at begin_ns */
	__u64 end_ns;    /* when the signal interrupted it */
	__u64 waited_ns; /* time without a CPU from begin_ns to end_ns */
	__u64 sp;        /* the user stack pointer: a restart has the same one */
	__s32 nr;
	__u16 restart; /* its return value, one of ERESTART… */
	__u16 state;
};

/* A request, or a connection, that may be unanswered; see asks.bpf.h. */
struct ask {
	__u64 inode; /* of the socket; 0: none */
	__u64 file;
	__s32 fd; /* -1 at level sched */
	__u32 pad;
};

/* What can change the turn of a wait while it lasts, see turns.bpf.h. */
enum turn_watch {
	WATCH_NOTHING,
	WATCH_SOCKET, /* another thread may ask on the socket */
	WATCH_EPOLL,  /* another thread may ask on a socket in the epoll instance turn_at */
	WATCH_UNSENT, /* the socket turn_at holds a part of the request back */
};

/* Identifies a thread without an account. */
struct outside_key {
	__u64 start_ns;
	__u32 pid; /* the kernel's; 0: none */
	__u32 pad;
};

/* Which calls of a thread are timed, see budget.bpf.h. */
struct timed_calls {
	__u32 shift; /* one call in 2^shift */
	__u32 skip;  /* calls before the next that is timed */
	__u32 rest;  /* calls of its block after that one */
	/* The account when the rate was last chosen: */
	__u32 window_user, window_kernel;
	__u32 window_run; /* running time in 1,024 ns */
	__u64 owed_ns;    /* estimated time in the kernel that is not booked yet */
	__u64 spread;     /* to be added to the account's */
};

/* thread.window is the serial number of its window, and whether a sample was taken in it. */
#define WINDOW_OF(serial) ((serial) << 1)
#define WINDOW_SAMPLED    1ULL

struct thread {
	/* The fields of struct identity come first: signals read these from the same storage. */
	__u64 id;
	__u32 here_pid; /* in gapless's pid namespace, as in its /proc; 0: not visible there */
	__u32 here_tid;
	__u32 flags;
	__u32 flush; /* the value of the global `flush` when the cell was last flushed */
	struct ledger_account account;
	/* What switches and wakeups need is together, in as few cache lines as possible. */
	__s16 nr; /* the syscall in flight, or NR_NONE, NR_KERNEL */
	__s16 last_nr;
	__u32 pid;     /* the kernel's tgid; (pid, ns_tid) is the key of the map tids */
	__u32 ns_tid;  /* the tid in its own pid namespace, as found in user memory */
	__u32 place;   /* in the list of a CPU's queued threads, see queue.bpf.h; 0: none */
	__u64 on_ns;   /* when it got the CPU; 0: before we attached */
	__u64 left_ns; /* when it left the CPU */
	__u64 kernel_lock;
	__u64 exec_ns;    /* sum_exec_runtime when it left the CPU, see repair.bpf.h */
	__u64 delay_ns;   /* sched_info.run_delay when it left the CPU */
	__u64 stack_mark; /* see in_interrupt() */
	__u64 last_waker; /* cache in woken_by(): the task that woke it last */
	__u64 last_waker_id;
	__u64 waker; /* set by sched_waking, which may come before the wait begins */
	__s32 last_waker_pid;
	__u16 cpu;
	__u8 has_calls;         /* sums of calls in another storage, see thread_calls.bpf.h */
	__u8 has_pending;       /* an element of the map of pending.bpf.h */
	__u8 last_waker_kind;   /* enum ledger_by */
	__u8 waker_kind;        /* likewise */
	__u8 released_many;     /* set by sched_waking: the waker's call asked to wake several */
	__u8 kernel_lock_flags; /* LCB_F_… */
	__u8 call_weight;       /* calls that the time of this one stands for; 0: not timed */
	__u8 pending_count;     /* of its entries in the map pendings, see pending.bpf.h */
	__u8 left_none;         /* how it left the CPU, see samples.bpf.h */
	__u8 switch_out_shift;  /* likewise */
	struct ledger_key wait;
	__u64 released; /* set by sched_waking: the lock that the waker released; 0: none */
	struct ledger_key cell;
	__u64 unjudged_ns; /* a wait that the return value will judge: see outcome.bpf.h */
	struct ledger_sum cell_sum;
	__u8 unjudged_by_kind;
	__u8 waker_ended;  /* enum ledger_ended, as far as the waking shows it */
	__u8 by_interrupt; /* the waking came from an interrupt, even if a sender is known */
	__u8 by_rcu;       /* the waking came from RCU */
	__u8 turn_watch;   /* enum turn_watch */
	__u8 turn_undone;  /* the send in flight was the first since we were answered */
	__u8 no_talk;      /* the call in flight waited for a descriptor that is no socket */
	__u8 left;         /* how it left the CPU, see samples.bpf.h */
	union {
		struct {
			__u64 classed, socket_class; /* a socket and its class, see classes.bpf.h */
		};
		/* Without classes. See windows/worker.bpf.h: */
		struct {
			__u64 window;
			union {
				__u64 woken_ns; /* ready since then, when it got the CPU last */
				__u64 handing;  /* until it gets it, see windows/handover.bpf.h */
			};
		};
	};
	__u64 request;               /* inode of the socket that it read a request from; 0: none */
	__u64 occupant, occupant_ns; /* who had the CPU, a sum that is not in the map yet */
	__u32 occupant_flush;
	__s32 request_fd;
	struct ask asked; /* its latest one */

	__u64 call_ns;       /* when the syscall began */
	__u64 call_off_ns;   /* off_ns at call_ns */
	__u64 call_begin_ns; /* how long it had run when it left the CPU, if call_weight > 1 */
	__u32 cell_number;   /* of `cell`: each one that begins has another */
	__u32 random;        /* the random number of draw_early() */
	__u64 off_ns;        /* all time without a CPU so far */
	struct interrupted_call broken;
	__u64 turn_at;         /* see turn_watch */
	__u32 released_before; /* releases of that lock before this one */
	__u32 releases;        /* when the wait for the lock began; see holder.bpf.h */
	__u64 waker_stack;     /* stack of the thread that ended it, if it was drawn */
	__u64 unjudged_by;
	struct outside_key suspect; /* may keep it waiting, see outside.bpf.h */
	__u64 left_stack;           /* how it left the CPU, see samples.bpf.h */
	__u64 fiber;                /* of its last user stack, as in struct sample_record */
	__u64 minor_faults;         /* when its account began */
	__u32 major_faults;         /* likewise, without the upper half */
	__u32 waking_since; /* start of the wait that draw_early() has drawn, without it too */
	__u64 fault_inode;  /* the file of its last fault in a file, see fault.bpf.h */
	__u32 fault_number;
	__u32 requests; /* that it submitted to io_uring so far, see uring.bpf.h */
	struct timed_calls timed;
};

/*
 * The kernel adds up to 80 bytes to a value in task storage, and rounds the sum up to a power of
 * two. A machine may have tens of thousands of threads.
 */
#define FITS_SLAB(type, bytes) (sizeof(type) + 80 <= (bytes))

_Static_assert(FITS_SLAB(struct thread, 1024), "what few threads need is elsewhere");
_Static_assert(__builtin_offsetof(struct thread, account) ==
		       __builtin_offsetof(struct ledger_thread, account),
	       "user space makes one to calibrate with");
_Static_assert(__builtin_offsetof(struct thread, flags) ==
		       __builtin_offsetof(struct identity, flags),
	       "signals read a struct identity there");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread);
} threads SEC(".maps");

const volatile bool full;         /* level full: syscalls are hooked */
const volatile bool all_threads;  /* are accounted */
const volatile bool with_windows; /* the account is cut by requests and calls */

__u64 start_ns; /* hooks open accounts from then on; 0: not yet */
/*
 * The start of the recording. Later than start_ns, because the seeding must visit every thread
 * first. Accounts that were opened earlier stay at zero until base_ns and begin there. NOT_YET
 * during the seeding; 0 before it.
 */
#define NOT_YET (~0ULL)
__u64 base_ns;
__u64 end_ns; /* the end of the recording: accounts do not change from then on; 0: not known */
__u64 quality[QUALITY_COUNT];
__u64 last_id;

static __always_inline void count_quality(enum ledger_quality what)
{
	__sync_fetch_and_add(&quality[what], 1);
}

/*
 * A hook passes the time at which it changes an account. It reads its clock before it calls this,
 * and end_ns is in the future when it is set, so no hook books a later time.
 */
static __always_inline bool is_over(__u64 now)
{
	return end_ns && now >= end_ns;
}

/* For hooks that have no use for a clock otherwise. */
static __always_inline bool is_over_now(void)
{
	return end_ns && bpf_ktime_get_ns() >= end_ns;
}

/* An interrupt that begins before the recording does is not counted. */
static __always_inline void interrupts_begin(struct interrupts *cpu, __u64 now)
{
	interrupts_hit(cpu);
	if (base_ns && now >= base_ns && !is_over(now))
		__sync_fetch_and_add(&cpu->taken_ns, -now);
}

static __always_inline void interrupts_end(struct interrupts *cpu, __u64 now)
{
	if (cpu->taken_ns >= 0)
		return;
	__sync_fetch_and_add(&cpu->taken_ns, is_over(now) ? end_ns : now);
}

static __always_inline struct thread *find(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, 0);
}

static __always_inline __u32 cpu_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->thread_info.cpu) ? task->thread_info.cpu : 0;
}

static __always_inline struct identity *identity_of(struct task_struct *task)
{
	return (struct identity *)find(task);
}

/*
 * There is one writer at a time, so the count needs no atomics. The barriers keep the writes
 * between the two increments. copy_account() has the reader's barriers.
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
 * The interval in which a thread was found counts as one that began, so that every interval with
 * time in the account is counted, as in the sums of waits. If that interval moves to another slot,
 * the count moves too (-1 there, +1 here).
 */
static __always_inline void count_found(struct ledger_account *account, __u32 slot, __u32 change)
{
	if (slot < SLOT_COUNT)
		account->count[slot] += change;
}

/* Tell the parts of signals, see part_waits.bpf.h. */
static void parts_wait_begins(const struct thread *thread, __u32 slot, __u64 now);
static void parts_wait_ends(const struct thread *thread, __u32 slot, __u64 ns);

/* Books a wait under its object and culprit, see waits.bpf.h. */
int wait_ended(struct thread *thread, __u32 slot, __u64 ns);

/*
 * Takes what interrupts had of the last `ns` of a thread that runs on this CPU. Returns the rest,
 * which is its own. The caller is between write_begin() and write_end().
 */
static __always_inline __u64 without_interrupts(struct ledger_account *account, __u64 ns)
{
	__u64 taken_ns = interrupts_take(ns);

	if (taken_ns) {
		account->ns[SLOT_RUN_IRQ] += taken_ns;
		account->count[SLOT_RUN_IRQ]++;
	}
	return ns - taken_ns;
}

/*
 * Law 1: closes the open slot and opens the next one with the same timestamp. Returns how long the
 * closed slot was open. The caller is between write_begin() and write_end(). Waits end nowhere
 * else, so the wait time in an account equals the sums of its waits (invariant 5).
 */
static __always_inline __u64 move(struct thread *thread, __u32 to, __u64 now)
{
	struct ledger_account *account = &thread->account;
	__u32 from = account->slot;
	__u64 ns, own_ns, at;

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
	own_ns = with_interrupts && SLOT_IS_RUN(from) ? without_interrupts(account, ns) : ns;
	/* 6.1 does not learn a bound from SLOT_IS_RUN(), so the compiler must not rely on it. */
	at = from;
	barrier_var(at);
	if (at < SLOT_COUNT)
		account->ns[at] += own_ns;
	if (SLOT_IS_WAIT(from))
		wait_ended(thread, from, ns);
	account->since_ns = now;
	account->slot = to;
	if (to < SLOT_COUNT)
		account->count[to]++;
	return ns;
}

static __always_inline __u64 current_run_ns(__u64 now)
{
	struct thread *thread = find(bpf_get_current_task_btf());
	const struct ledger_account *account;
	__u64 ns = 0;

	if (!thread)
		return 0;
	account = &thread->account;
	for (__u32 slot = SLOT_FIRST; slot < SLOT_RUN_END; slot++)
		ns += account->ns[slot];
	if (SLOT_IS_RUN(account->slot) && account->since_ns < now)
		ns += now - account->since_ns;
	return ns;
}

/* The start of the open interval, or of the recording if that is later. */
static __always_inline __u64 open_since(const struct ledger_account *account)
{
	return account->since_ns < base_ns ? base_ns : account->since_ns;
}

/*
 * Time that was seen but cannot be attributed. It stays in the slot that was open, so that the sums
 * still add up.
 */
static __always_inline void unexplained(struct thread *thread, __u64 now)
{
	__u64 ns = now - open_since(&thread->account);

	if (now < base_ns)
		return;
	count_quality(QUALITY_IMPOSSIBLE);
	if ((__s64)ns > 0)
		thread->account.unexplained_ns += ns;
}

/* The slot of a thread that has the CPU. */
static __always_inline __u32 run_slot(const struct thread *thread)
{
	if (!full)
		return SLOT_RUN_ANY;
	return thread->nr == NR_NONE ? SLOT_RUN_USER : SLOT_RUN_KERNEL;
}

/* True if no hook has moved the thread since the seeding. */
static __always_inline bool is_as_seeded(const struct ledger_account *account)
{
	return account->since_ns == account->first_ns;
}

/* A hook found an account that the seeding has created but not opened yet: the hook wins. */
static __always_inline void open_account(struct thread *thread, __u32 slot, __u64 now)
{
	struct ledger_account *account = &thread->account;

	account->first_ns = now;
	account->since_ns = now;
	account->slot = slot;
	count_found(account, slot, 1);
}
