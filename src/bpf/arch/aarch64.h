/* arm64. Included by bpf/arch/arch.h only; x86_64.h explains the names. */
#pragma once

#include <linux/types.h>

#define ARCH_NAME        "aarch64"
#define ARCH_ELF_MACHINE EM_AARCH64

/* The kernel gives out addresses of 52 bits only to those that ask for them: not to code. */
#define ARCH_MOST_ADDRESS (1ULL << 48)
/* The signature of a return address is in the bits above the address. */
#define ARCH_CODE_ADDRESS(pc) ((pc) & (ARCH_MOST_ADDRESS - 1))

/* --- stacks ----------------------------------------------------------------------------------- */

#define ARCH_REGISTERS    32
#define ARCH_DWARF_FP     29
#define ARCH_DWARF_LINK   30
#define ARCH_DWARF_SP     31
#define ARCH_DWARF_RETURN ARCH_DWARF_LINK

#define ARCH_LINK_REGISTER 1
#define ARCH_SIGNS_RETURN  1

/* mov x8, #139; svc #0: in the vDSO, which has no rows for it since Linux 5.8. */
#define ARCH_SIGRETURN_CODE 0xd4000001d2801168ULL

/* struct rt_sigframe: a siginfo_t of 128 bytes, then the ucontext, with x0 at its byte 184. */
#define ARCH_SIGNAL_FP   (128 + 184 + 29 * 8)
#define ARCH_SIGNAL_LINK (ARCH_SIGNAL_FP + 8)
#define ARCH_SIGNAL_SP   (ARCH_SIGNAL_FP + 16)

typedef __u32 arch_syscall_code;
#define ARCH_SYSCALL_CODE 0xd4000001
/* mov x6, x7; svc #0 */
#define ARCH_SYSCALL_BY_HAND_CODE 0xd4000001aa0703e6ULL

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

/* The first part of struct pt_regs: what bpf_tracing.h takes the context of probes for. */
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};

struct thread_info {
	unsigned long flags;
};

#pragma clang attribute pop

#define ARCH_PC   pc
#define ARCH_SP   sp
#define ARCH_FP   regs[29]
#define ARCH_LINK regs[30]
#define ARCH_CALL syscallno
#define ARCH_ARG1 orig_x0 /* x0 has the result when the call ends */
#define ARCH_ARG2 regs[1]
#define ARCH_ARG3 regs[2]
#define ARCH_ARG4 regs[3]
#define ARCH_ARG5 regs[4]

#define ARCH_IS_64BIT(regs)      (!((regs)->pstate & 0x10))                /* PSR_MODE32_BIT */
#define ARCH_IS_32BIT_CALL(task) ((task)->thread_info.flags & (1UL << 22)) /* TIF_32BIT */

/* Interrupts never do; softirqs since Linux 6.0 (8eb858c44b98). */
#define ARCH_INTERRUPTS_BORROW_STACK 0

static __always_inline void arch_note_registers(__u64 to[ARCH_REGISTERS], struct pt_regs *regs)
{
	bpf_probe_read_kernel(to, sizeof(regs->regs), regs->regs);
	to[ARCH_DWARF_SP] = regs->sp;
}

/*
 * BPF has no barriers for memory, but its atomics that return what was there are full ones, as in
 * the kernel: swpal, or a loop that ends with dmb ish. Those without a result are relaxed (stadd),
 * and clang makes one out of the other where the result is not used; an exchange has no such form.
 * The exchange is with memory of our own: the barrier orders what is before and after it, but not
 * its own load and store. The address goes through asm, else clang could see that nobody else has
 * it.
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
