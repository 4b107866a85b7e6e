/* SPDX-License-Identifier: GPL-2.0-or-later */
/* arm64. Included by bpf/arch/arch.h only; x86_64.h explains the names. */
#pragma once

#include <linux/types.h>

#define ARCH_NAME        "aarch64"
#define ARCH_ELF_MACHINE EM_AARCH64

/*
 * User addresses have 48 bits. The kernel hands out 52-bit addresses only to an mmap() that passes
 * a high address hint, which is not done for code.
 */
#define ARCH_MOST_ADDRESS (1ULL << 48)
/* A signed return address (pointer authentication) has its signature above the address bits. */
#define ARCH_CODE_ADDRESS(pc) ((pc) & (ARCH_MOST_ADDRESS - 1))

/* --- stacks ----------------------------------------------------------------------------------- */

#define ARCH_REGISTERS    32
#define ARCH_DWARF_FP     29
#define ARCH_DWARF_LINK   30
#define ARCH_DWARF_SP     31
#define ARCH_DWARF_RETURN ARCH_DWARF_LINK

#define ARCH_LINK_REGISTER 1
#define ARCH_SIGNS_RETURN  1

/* mov x8, #139; svc #0. This code is in the vDSO, which has no CFI for it since Linux 5.8. */
#define ARCH_SIGRETURN_CODE 0xd4000001d2801168ULL

/* struct rt_sigframe: a siginfo_t of 128 bytes, then the ucontext, with x0 at its offset 184. */
#define ARCH_SIGNAL_FP   (128 + 184 + 29 * 8)
#define ARCH_SIGNAL_LINK (ARCH_SIGNAL_FP + 8)
#define ARCH_SIGNAL_SP   (ARCH_SIGNAL_FP + 16)

/* HotSpot, see x86_64.h. Not tried: no edge of a frame is recognised. */
#define ARCH_JAVA_BYTECODE      22
#define ARCH_JAVA_RETURN        30
#define ARCH_JAVA_IS_EDGE(code) 0
#define ARCH_JAVA_IS_POP(code)  0

typedef __u32 arch_syscall_code;
#define ARCH_SYSCALL_CODE 0xd4000001
/* mov x6, x7; svc #0 */
#define ARCH_SYSCALL_BY_HAND_CODE 0xd4000001aa0703e6ULL

/* Go 1.N passes arguments in registers (ARCH_GO_ARG1 …) from this N on. */
#define ARCH_GO_BY_REGISTERS 18

/* --- the kernel half ---------------------------------------------------------------------- */

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
	__u64 orig_x0;
	__s32 syscallno;
};

/* The first part of struct pt_regs: bpf_tracing.h casts the context of probes to this type. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};

struct thread_info {
	unsigned long flags;
	__u32 cpu; /* with CONFIG_SMP */
};

#pragma clang attribute pop

/* What the thread's own variables are addressed by. */
#define arch_thread_pointer(task) BPF_CORE_READ(task, thread.uw.tp_value)

#define ARCH_PC   pc
#define ARCH_SP   sp
#define ARCH_FP   regs[29]
#define ARCH_LINK regs[30]
#define ARCH_CALL syscallno
#define ARCH_ARG1 orig_x0 /* when the syscall ends, x0 is its result */
#define ARCH_ARG2 regs[1]
#define ARCH_ARG3 regs[2]
#define ARCH_ARG4 regs[3]
#define ARCH_ARG5 regs[4]
/* Arguments of a function of Go, at its entry. */
#define ARCH_GO_ARG1 regs[0]
#define ARCH_GO_ARG2 regs[1]
#define ARCH_GO_ARG3 regs[2]

#define ARCH_IS_64BIT(regs)      (!((regs)->pstate & 0x10))                /* PSR_MODE32_BIT */
#define ARCH_IS_32BIT_CALL(task) ((task)->thread_info.flags & (1UL << 22)) /* TIF_32BIT */

/* Interrupts never run on the thread's stack; softirqs do not since Linux 6.0 (8eb858c44b98). */
#define ARCH_INTERRUPTS_BORROW_STACK 0

static __always_inline void arch_note_registers(__u64 to[ARCH_REGISTERS], struct pt_regs *regs)
{
	bpf_probe_read_kernel(to, sizeof(regs->regs), regs->regs);
	to[ARCH_DWARF_SP] = regs->sp;
}

/*
 * BPF has no memory barrier instruction. But its atomics that return the old value are full
 * barriers, as in the kernel: swpal, or a loop that ends with dmb ish. Atomics without a result are
 * relaxed (stadd), and clang replaces one by the other if the result is not used. An exchange has
 * no form without a result, so an exchange is used here.
 *
 * The exchange is on a local variable: the barrier orders the accesses before and after the
 * exchange, but not the exchange's own load and store. The address goes through asm because clang
 * could otherwise see that the variable is not shared.
 */
static __always_inline void arch_full_barrier(void)
{
	__u64 own = 0, *address = &own;

	__asm__ volatile("" : "+r"(address) : : "memory");
	__asm__ volatile("" : : "r"(__sync_lock_test_and_set(address, 1)) : "memory");
}

#define arch_order_stores() arch_full_barrier()
#define arch_order_loads()  arch_full_barrier()

#endif
