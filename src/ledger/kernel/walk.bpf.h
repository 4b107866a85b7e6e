/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks in the kernel half: walked into per-CPU buffers, identified by their hash, and sent once.
 *
 * Stacks are taken in three places that can interrupt each other, but never themselves: a clock
 * tick, the end of a syscall (preemption is off, interrupts are on), and the scheduler (interrupts
 * are off). Each place has its own buffer. Events of signals come from anywhere, so their buffer
 * has a mark that it is in use (event_stack()).
 */
#pragma once

#include "bpf/syscall.bpf.h"
#include "bpf/unwind.h"
#include "ledger/kernel/thread.bpf.h"

#define PF_IO_WORKER 0x00000010
#define PF_KTHREAD   0x00200000

#define STACK_RING_BYTES (8 * 1024 * 1024)

/*
 * Limits for the stack of a waker or of a thread that leaves the CPU: scheduler locks are held. A
 * function of an interpreter can take four steps.
 */
#define SCHEDULER_MOST_FRAMES  256
#define SCHEDULER_MOST_RUNTIME 768

const volatile bool with_stacks;
const volatile __u32 stack_wakeup_bytes = STACK_RING_BYTES / 2;
bool is_sampling = true; /* user space switches it; ticks and sys_exit are detached meanwhile */

enum walk_place { WALK_TICK, WALK_SYSCALL, WALK_SCHEDULER, WALK_EVENT, WALK_PLACES };

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STACK_RING_BYTES);
} stack_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u8);
} stacks_seen SEC(".maps");

/* The tables of bpf/unwind.h. User space fills them in and sizes `pages` by its memory budget. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct unwind_page);
} pages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct unwind_process);
} processes SEC(".maps");

/* Requests already sent to user space, and the ring that carries them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u8);
} asked SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} requests SEC(".maps");

static __always_inline bool takes_stacks(void)
{
	return with_stacks && is_sampling;
}

static __always_inline int unwind_read(void *world, void *to, __u32 bytes, __u64 address)
{
	return bpf_probe_read_user(to, bytes, (const void *)address);
}

static __always_inline const struct unwind_page *unwind_page(void *world, __u64 key)
{
	return bpf_map_lookup_elem(&pages, &key);
}

#define UNWIND_FN static __always_inline
#include "bpf/unwind_walk.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_PLACES);
	__type(key, __u32);
	__type(value, struct unwind);
} walks SEC(".maps");

static __always_inline struct unwind *walk_at(enum walk_place place)
{
	__u32 key = place;

	return bpf_map_lookup_elem(&walks, &key);
}

/* The reader polls several times a second. Wake it only if the ring fills up faster. */
static __always_inline __u64 ring_flags(void)
{
	return bpf_ringbuf_query(&stack_ring, BPF_RB_AVAIL_DATA) > stack_wakeup_bytes
		       ? BPF_RB_FORCE_WAKEUP
		       : BPF_RB_NO_WAKEUP;
}

__u64 objects_sent_ns; /* when user space was last woken for the frames of a runtime */
#define OBJECTS_EVERY_NS 2000000ULL

/*
 * Names of a runtime's frames are read from the program while it has them. So the reader is woken
 * at once, but not for every stack.
 */
static __always_inline __u64 stack_flags(const struct unwind *walk)
{
	__u64 now = bpf_ktime_get_ns();

	if (!walk->has_objects || now - objects_sent_ns < OBJECTS_EVERY_NS)
		return ring_flags();
	objects_sent_ns = now;
	return BPF_RB_FORCE_WAKEUP;
}

/* Returns the hash of the stack in `walk`. Sends the frames the first time. 0: the ring is full. */
VERIFIED_ONCE __u64 remember_stack(struct unwind *walk)
{
	__u32 count;
	__u8 one = 1;
	__u64 hash;
	long err;

	if (!walk)
		return 0;
	count = walk->count;
	hash = walk->hash;
	if (bpf_map_lookup_elem(&stacks_seen, &hash))
		return hash;
	if (count > STACK_MOST_WORDS)
		return 0;
	wire_head_init(&walk->record.head, sizeof(walk->record) + count * sizeof(__u64),
		       STACK_FRAMES, 1);
	walk->record.hash = hash;
	walk->record.pid = walk->pid;
	walk->record.count = count;
	walk->record.how = walk->how;
	walk->record.end = walk->end;
	err = bpf_ringbuf_output(&stack_ring, &walk->record,
				 sizeof(walk->record) + count * sizeof(__u64), stack_flags(walk));
	if (err) {
		count_lost(LOST_RING_FULL);
		return 0;
	}
	bpf_map_update_elem(&stacks_seen, &hash, &one, BPF_ANY);
	return hash;
}

/* --- kernel stacks -------------------------------------------------------------------------- */

VERIFIED_ONCE __u64 remember_kernel_stack(struct unwind *walk, long bytes)
{
	__u32 count;

	if (!walk || bytes <= 0)
		return 0;
	count = (__u32)bytes / sizeof(__u64);
	walk->hash = 0;
	for (__u32 i = 0; i < STACK_MOST_KERNEL && i < count; i++)
		walk->hash = unwind_hash(walk->hash, walk->frames[i]);
	walk->hash |= 1;
	walk->count = count > STACK_MOST_KERNEL ? STACK_MOST_KERNEL : count;
	walk->has_objects = 0;
	walk->pid = 0;
	walk->how = 0;
	walk->end = STACK_END_ROOT;
	return remember_stack(walk);
}

/* `task`: a thread that does not run, or the current one. */
static __noinline __u64 kernel_stack_of(struct task_struct *task, __u32 place)
{
	struct unwind *walk = bpf_map_lookup_elem(&walks, &place);

	if (!walk)
		return 0;
	return remember_kernel_stack(
		walk, bpf_get_task_stack(task, walk->frames, STACK_MOST_KERNEL * sizeof(__u64), 0));
}

/* --- user stacks ---------------------------------------------------------------------------- */

struct walk_context {
	struct unwind *walk;
	struct unwind_process *process;
};

static long walk_frame(__u32 i, struct walk_context *context)
{
	return unwind_frame(NULL, context->walk, context->process);
}

/* Asks user space once for each need. User space deletes the entry to be asked again. */
static __noinline int ask(__u32 need, __u32 id)
{
	__u64 key = UNWIND_ASKED(need, id);
	struct unwind_request *request;
	__u8 one = 1;

	if (bpf_map_lookup_elem(&asked, &key))
		return 0;
	request = bpf_ringbuf_reserve(&requests, sizeof(*request), 0);
	if (!request)
		return 0; /* the next walk asks again */
	wire_head_init(&request->head, sizeof(*request), need, 1);
	request->id = id;
	request->pad = 0;
	bpf_ringbuf_submit(request, BPF_RB_FORCE_WAKEUP);
	bpf_map_update_elem(&asked, &key, &one, BPF_ANY);
	return 0;
}

/* After exec, the old mappings are invalid. Deletes the request too, so that it is sent again. */
static __always_inline void forget_process(__u32 pid)
{
	__u64 key = UNWIND_ASKED(UNWIND_NEED_PROCESS, pid);

	bpf_map_delete_elem(&processes, &pid);
	bpf_map_delete_elem(&asked, &key);
}

/* Compares the start time too, because pids are reused. */
static __always_inline bool is_of(const struct unwind_process *process, struct task_struct *task,
				  __u32 pid)
{
	__u64 start_ns = BPF_CORE_READ(task, group_leader, start_boottime);

	return process->pid == pid && process->start_ticks == start_ns / UNWIND_TICK_NS;
}

static __always_inline struct unwind_process *process_of(struct task_struct *task, __u32 pid)
{
	struct unwind_process *process = bpf_map_lookup_elem(&processes, &pid);

	return process && is_of(process, task, pid) ? process : NULL;
}

/*
 * In a syscall, pc points behind the syscall instruction. That instruction can be the last one that
 * an unwind row covers, as in rt_sigreturn, so return an address inside it. While a signal is
 * delivered, the thread is in a syscall too, but pc is the start of the handler.
 */
static __always_inline __u64 stopped_at(const struct pt_regs *regs)
{
	arch_syscall_code code = 0;

	if (syscall_of(regs) < 0 ||
	    bpf_probe_read_user(&code, sizeof(code), (void *)(regs->ARCH_PC - sizeof(code))))
		return regs->ARCH_PC;
	return regs->ARCH_PC - (code == ARCH_SYSCALL_CODE);
}

/* Defined in samples.bpf.h. */
static __u32 begin_event_walk(void);
static int end_event_walk(void);

/* A function of its own, so that its locals are not below the walk on the BPF stack. */
static __noinline int find_fiber(struct walk_context *context)
{
	if (context->walk)
		unwind_find_fiber(NULL, context->walk, context->process);
	return 0;
}

/* What the thread ran when its stack in this place was taken. */
static __always_inline __u64 fiber_at(enum walk_place place)
{
	struct unwind *walk = walk_at(place);

	return walk ? walk->fiber : FIBER_UNKNOWN;
}

static __always_inline __u32 most_steps(__u32 place, const struct unwind_process *process)
{
	if (place != WALK_SCHEDULER)
		return STACK_MOST_FRAMES;
	return process && process->runtime.kind ? SCHEDULER_MOST_RUNTIME : SCHEDULER_MOST_FRAMES;
}

/*
 * The user stack of the current thread, from the registers that it entered the kernel with. For
 * WALK_EVENT, `pid` is 0. That case is here and not in a function of its own, because the BPF stack
 * of all functions together has 512 bytes.
 */
VERIFIED_ONCE __u64 user_stack(__u32 pid, __u32 place)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct walk_context context = { bpf_map_lookup_elem(&walks, &place) };
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(current);
	struct unwind *walk = context.walk;
	__u64 hash;

	if (place == WALK_EVENT)
		pid = begin_event_walk();
	if (!walk || (place == WALK_EVENT && !pid))
		return 0;
	unwind_begin(walk, pid, stopped_at(regs), regs->ARCH_SP, regs->ARCH_FP);
	arch_note_registers(walk->registers, regs);
	walk->beside.thread_pointer = arch_thread_pointer(current);
	context.process = process_of(current, pid);
	bpf_loop(most_steps(place, context.process), walk_frame, &context, 0);
	find_fiber(&context);
	/* The map entry may have been reused for another process during the walk. */
	if (context.process && !is_of(context.process, current, pid))
		walk->need = UNWIND_NEED_PROCESS;
	unwind_finish(walk);
	if (walk->need)
		ask(walk->need, walk->need_id);
	hash = remember_stack(walk);
	if (place == WALK_EVENT)
		end_event_walk();
	return hash;
}

static __always_inline __u64 event_stack(void)
{
	return takes_stacks() ? user_stack(0, WALK_EVENT) : 0;
}

/* Why a thread's user stack cannot be taken, or STACK_TAKEN. */
static __always_inline __u8 why_no_user_stack(const struct thread *thread, struct task_struct *task)
{
	struct pt_regs *regs;

	if (thread->flags & THREAD_KERNEL)
		return STACK_NONE_KERNEL;
	if (thread->flags & THREAD_EXITING)
		return STACK_NONE_EXIT;
	if (thread->flags & THREAD_NEW_IMAGE)
		return STACK_NONE_EXEC;
	if (thread->flags & THREAD_STARTING)
		return STACK_NONE_START;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	return ARCH_IS_64BIT(regs) ? STACK_TAKEN : STACK_NONE_32BIT;
}
