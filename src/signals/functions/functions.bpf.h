/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that the user names: count, duration, return value, caller; and declared probes (USDT)
 * with their arguments.
 *
 * Each thread has a stack of the calls that it is in. A call belongs to its stack pointer, so
 * recursion needs nothing special. If the stack pointer at an entry or a return is above that of
 * an entry below it, that call was left by longjmp() or an exception: it is unpaired. The kernel
 * has the same rule for its own list of return addresses (arch_uretprobe_is_alive()), and the same
 * limit of 64 calls.
 *
 * A function of the kernel always returns, so calls there need no stack pointer: 0 stands for it,
 * which is below those of the thread's calls in user space.
 *
 * Rejected: a hash by thread and stack pointer, which costs ten times as much as task storage.
 */
#pragma once

#include "bpf/probe_argument.bpf.h"
#include "signals/functions/function_objects.bpf.h"

/* --- calls -------------------------------------------------------------------------------- */

static __always_inline struct functions_frame *functions_top(struct functions_stack *stack)
{
	__u64 at = (__u64)stack->depth - 1;

	barrier_var(at);
	return at < FUNCTIONS_DEPTH ? &stack->frames[at] : NULL;
}

/* Removes the calls that were left without a return. */
VERIFIED_ONCE int functions_leave(struct functions_stack *stack, __u64 sp, bool keeps_equal)
{
	if (!is_on(SIGNAL_functions) || !stack)
		return 0;
#pragma clang loop unroll(disable)
	for (int i = 0; i < FUNCTIONS_DEPTH; i++) {
		struct functions_frame *top = functions_top(stack);

		if (!top || top->sp > sp || (top->sp == sp && keeps_equal))
			break;
		stack->depth--;
		__sync_fetch_and_add(&series[SIGNAL_functions].unpaired, 1);
	}
	return 0;
}

/*
 * A function that was jumped to by another one that is probed returns to the kernel's trampoline,
 * which is the highest page of user space. Both have the same stack pointer.
 */
static __always_inline bool functions_is_tail_call(__u64 return_address)
{
	return return_address >= ARCH_MOST_ADDRESS - 2 * 4096;
}

static __always_inline void functions_enter(struct pt_regs *ctx, __u32 site, __u32 flags,
					    const struct identity *who)
{
	struct functions_object caller = {};
	__u64 address = 0, sp = 0, at;
	struct functions_stack *stack;
	struct functions_frame *frame;

	if (!(flags & FUNCTIONS_IN_KERNEL)) {
		sp = ctx->ARCH_SP;
		address = functions_return_address(ctx);
		if (!functions_is_tail_call(address))
			functions_find_caller(address, who->pid, &caller);
	}
	stack = bpf_task_storage_get(&functions_stacks, bpf_get_current_task_btf(), NULL,
				     BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!stack) {
		COUNT_LOST(functions, LOST_NO_STORAGE);
		return;
	}
	if (sp)
		functions_leave(stack, sp, functions_is_tail_call(address));
	at = stack->depth;
	barrier_var(at);
	if (at >= FUNCTIONS_DEPTH) {
		COUNT_LOST(functions, LOST_NO_STORAGE);
		return;
	}
	frame = &stack->frames[at];
	frame->sp = sp;
	frame->object[0] = caller.numbers[0];
	frame->object[1] = caller.numbers[1];
	frame->site = site;
	stack->depth = at + 1;
	if (with_windows && flags & FUNCTIONS_IS_WINDOW)
		call_window_begins(at);
	frame->begin_ns = bpf_ktime_get_ns();
}

static __always_inline void functions_count(struct pt_regs *ctx, const struct functions_site *site,
					    const struct identity *who)
{
	struct functions_object caller = {};
	struct series_key key = { .thread = who->id,
				  .place = site->place,
				  .operation = FUNCTIONS_CALLED };
	__u64 values[2] = {};

	if (!(site->flags & FUNCTIONS_NO_CALLER))
		functions_find_caller(functions_return_address(ctx), who->pid, &caller);
	key.object[0] = caller.numbers[0];
	key.object[1] = caller.numbers[1];
	series_sum_up_own(SERIES(functions), series_turn(SERIES(functions)), &key, values);
}

/* --- declared probes ---------------------------------------------------------------------- */

/* The object of a hit: its first argument, if that is a number and not an address. */
static __always_inline void functions_learn_key(__u32 place, __s64 value, __u64 ret[2])
{
	struct functions_origin origin = { value, place };
	struct functions_object object = { { value, 1ULL << 63 | place } };
	struct functions_key *record;

	ret[0] = object.numbers[0];
	ret[1] = object.numbers[1];
	if (bpf_map_lookup_elem(&functions_objects, &origin))
		return;
	if (bpf_map_update_elem(&functions_objects, &origin, &object, BPF_NOEXIST) == -E2BIG) {
		ret[0] = ret[1] = 0;
		COUNT_LOST(functions, LOST_MAP_FULL);
		return;
	}
	record = bpf_ringbuf_reserve(&functions_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(functions, LOST_RING_FULL);
		bpf_map_delete_elem(&functions_objects, &origin);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), FUNCTIONS_KEY, 1);
	record->object[0] = object.numbers[0];
	record->object[1] = object.numbers[1];
	record->value = value;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline bool functions_may_send(__u64 now)
{
	__u64 second = now >> 30;

	if (!series[SIGNAL_functions].slow_ns)
		return true;
	if (functions_second != second) {
		functions_second = second;
		functions_sent = 0;
	}
	if (__sync_fetch_and_add(&functions_sent, 1) < FUNCTIONS_MOST_EVENTS)
		return true;
	__sync_fetch_and_add(&series[SIGNAL_functions].unsent, 1);
	return false;
}

static __always_inline void functions_hit(struct pt_regs *ctx, const struct functions_site *site,
					  const struct identity *who)
{
	struct functions_record found = { .thread = who->id,
					  .place = site->place,
					  .operation = FUNCTIONS_PROBE,
					  .argument_count = site->argument_count };
	struct series_key key = { .thread = who->id,
				  .place = site->place,
				  .operation = FUNCTIONS_PROBE };
	__u64 now = bpf_ktime_get_ns(), values[2] = {};

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < FUNCTIONS_ARGUMENTS; i++)
		if (probe_argument_read(ctx, &site->arguments[i], &found.arguments[i]))
			found.unread |= 1 << i;
	if (site->argument_count && !(found.unread & 1) && found.arguments[0] >= -(1LL << 31) &&
	    found.arguments[0] < 1LL << 32)
		functions_learn_key(site->place, found.arguments[0], key.object);
	series_sum_up_own(SERIES(functions), series_turn(SERIES(functions)), &key, values);
	if (!functions_may_send(now))
		return;
	found.object[0] = key.object[0];
	found.object[1] = key.object[1];
	wire_head_at(&found.head, sizeof(found), FUNCTIONS_CALL, 1, now);
	if (bpf_ringbuf_output(&functions_ring, &found, sizeof(found), BPF_RB_NO_WAKEUP))
		COUNT_LOST(functions, LOST_RING_FULL);
}

/* --- programs ----------------------------------------------------------------------------- */

static __always_inline void functions_count_hit(__u32 site)
{
	__u64 *hits = bpf_map_lookup_elem(&functions_hits, &site);

	/* The program may lose its CPU to another hit. */
	if (hits)
		__sync_fetch_and_add(hits, 1);
}

SEC("uprobe")
int functions_on_entry(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	struct functions_site *site;
	struct identity who;

	if (!is_on(SIGNAL_functions))
		return 0;
	functions_count_hit(number);
	if (!number || !is_wanted_now(SIGNAL_functions, &who))
		return 0;
	site = bpf_map_lookup_elem(&functions_sites, &number);
	if (!site)
		return 0;
	if (site->flags & FUNCTIONS_IS_PROBE)
		functions_hit(ctx, site, &who);
	else if (site->flags & FUNCTIONS_COUNT_ONLY)
		functions_count(ctx, site, &who);
	else
		functions_enter(ctx, number, site->flags, &who);
	return 0;
}

/*
 * The type that it returns is not known. An int of -1 is 0xffffffff in the register, so small
 * negative numbers of 32 bits are recognised.
 */
static __always_inline __u16 functions_judge(__u64 value, __s64 *ret)
{
	*ret = (__s64)value;
	if (!value)
		return FUNCTIONS_ZERO;
	if (value >> 32 == 0 && (__s32)value < 0 && (__s32)value >= -4095)
		*ret = (__s32)value;
	if (*ret < 0)
		return FUNCTIONS_NEGATIVE;
	return value >> 32 ? FUNCTIONS_LARGE : FUNCTIONS_POSITIVE;
}

static __always_inline void functions_send(const struct series_key *key, __u64 now,
					   __u64 duration_ns, __s64 returned)
{
	struct functions_record *record;

	record = bpf_ringbuf_reserve(&functions_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(functions, LOST_RING_FULL);
		return;
	}
	wire_head_at(&record->head, sizeof(*record), FUNCTIONS_CALL, 1, now);
	record->thread = key->thread;
	record->stack = event_stack();
	record->object[0] = key->object[0];
	record->object[1] = key->object[1];
	record->duration_ns = duration_ns;
	record->returned = returned;
	record->place = key->place;
	record->operation = key->operation;
	record->argument_count = 0;
	record->unread = 0;
	__builtin_memset(record->arguments, 0, sizeof(record->arguments));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void functions_finish(const struct functions_frame *frame, __u64 now,
					     __u64 value, const struct functions_site *site,
					     const struct identity *who)
{
	struct series_key key = { .thread = who->id,
				  .object = { frame->object[0], frame->object[1] },
				  .place = site->place };
	__u64 values[2] = { now - frame->begin_ns };
	__s64 returned;

	key.operation = functions_judge(value, &returned);
	if (key.operation != FUNCTIONS_LARGE)
		values[1] = returned < 0 ? -returned : returned;
	/* A large negative number is the least that a program can return: no sum of it. */
	if (values[1] >> 32)
		values[1] = 0;
	series_add_own(SERIES(functions), &key, values);
	if (series_is_slow(SERIES(functions), values[0]))
		functions_send(&key, now, values[0], returned);
}

SEC("uretprobe")
int functions_on_return(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	__u64 now = bpf_ktime_get_ns(), sp = ctx->ARCH_SP;
	struct functions_stack *stack;
	struct functions_frame *frame;
	struct functions_site *site;
	struct identity who;

	if (!is_on(SIGNAL_functions) || !number || !is_wanted_now(SIGNAL_functions, &who))
		return 0;
	site = bpf_map_lookup_elem(&functions_sites, &number);
	stack = bpf_task_storage_get(&functions_stacks, bpf_get_current_task_btf(), NULL, 0);
	/* A call that began before the recording is not counted. */
	if (!site || !stack)
		return 0;
	/* The return has removed the return address from the stack. */
	sp = site->flags & FUNCTIONS_IN_KERNEL ? 0 : sp - (ARCH_LINK_REGISTER ? 0 : 8);
	if (sp)
		functions_leave(stack, sp, true);
	frame = functions_top(stack);
	if (!frame || frame->sp != sp || frame->site != number)
		return 0;
	stack->depth--;
	if (with_windows && site->flags & FUNCTIONS_IS_WINDOW)
		call_window_ends(stack->depth, site->place);
	functions_finish(frame, now, PT_REGS_RC(ctx), site, &who);
	return 0;
}
