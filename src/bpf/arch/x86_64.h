/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64. Included by bpf/arch/arch.h only; other architectures define the same names. */
#pragma once

#include <linux/types.h>

#define ARCH_NAME        "x86_64"
#define ARCH_ELF_MACHINE EM_X86_64

/* Addresses of user space are below this limit. */
#define ARCH_MOST_ADDRESS (1ULL << 47)
/* The code address in a return address: without a signature, where the machine has one. */
#define ARCH_CODE_ADDRESS(pc) (pc)

/* --- stacks: the registers as DWARF counts them ---------------------------------------------- */

#define ARCH_REGISTERS    16 /* that can hold a CFA; a power of two */
#define ARCH_DWARF_FP     6
#define ARCH_DWARF_SP     7
#define ARCH_DWARF_RETURN 16

/*
 * 1: a call puts the return address into a register (ARCH_DWARF_LINK, ARCH_LINK), and the function
 * saves the register at a place of its choice. 0: a call pushes the return address, so that it is
 * always at CFA − 8.
 */
#define ARCH_LINK_REGISTER 0
/* 1: functions may sign return addresses; their CFI says where. */
#define ARCH_SIGNS_RETURN 0

/* mov $15, %rax; syscall: the return from a signal handler, in a C library without CFI for it. */
#define ARCH_SIGRETURN_CODE 0x0f0000000fc0c748ULL

/* Offsets of saved registers in a signal frame, from sp as it is after the handler returned. */
#define ARCH_SIGNAL_FP 120
#define ARCH_SIGNAL_SP 160 /* the saved program counter follows it */

/*
 * HotSpot: the register of the bytecode's address, and the one that has the return address while
 * the interpreter makes room for a method's locals; both by their DWARF number. Then what code
 * looks like where a frame is not there yet (push %rbp; mov %rsp,%rbp) or no more (ret, with the
 * poll for a safepoint before it), and before the frame pointer is restored.
 */
#define ARCH_JAVA_BYTECODE 13
#define ARCH_JAVA_RETURN   0
#define ARCH_JAVA_IS_EDGE(code)                                                                    \
	(((code) & 0xff) == 0xc3 || ((code) & 0xff) == 0x55 || ((code) & 0xffffff) == 0xec8b48 ||  \
	 ((code) & 0xffffff) == 0xe58948 || ((code) & 0xffffff) == 0xa73b49 ||                     \
	 ((code) & 0xffff) == 0x870f || ARCH_JAVA_IS_POP(code))
#define ARCH_JAVA_IS_POP(code)                                                                     \
	(((code) & 0xff) == 0x5d || ((code) & 0xffffff) == 0xec8b48 ||                             \
	 ((code) & 0xffffff) == 0xe58948)

/* The syscall instruction. */
typedef __u16 arch_syscall_code;
#define ARCH_SYSCALL_CODE 0x050f
/* The last bytes of glibc's syscall(2), which programs call to implement their own futex locks. */
#define ARCH_SYSCALL_BY_HAND_CODE 0x050f08244c8b4cc8ULL

/* Go 1.N passes arguments in registers (ARCH_GO_ARG1 …) from this N on. */
#define ARCH_GO_BY_REGISTERS 17

/* --- the kernel half ---------------------------------------------------------------------- */

#ifdef __bpf__

#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct thread_struct {
	unsigned long fsbase;
};

struct thread_info {
	__u32 status;
	__u32 cpu; /* with CONFIG_SMP */
};

#pragma clang attribute pop

/* What the thread's own variables are addressed by. */
#define arch_thread_pointer(task) BPF_CORE_READ(task, thread.fsbase)

/* Fields of struct pt_regs. */
#define ARCH_PC   ip
#define ARCH_SP   sp
#define ARCH_FP   bp
#define ARCH_CALL orig_ax /* the syscall number, as __s64; negative: not in a syscall */
/* The syscall's arguments: valid while the syscall runs and at its exit. */
#define ARCH_ARG1 di
#define ARCH_ARG2 si
#define ARCH_ARG3 dx
#define ARCH_ARG4 r10
#define ARCH_ARG5 r8
/* Arguments of a function of Go, at its entry. */
#define ARCH_GO_ARG1 ax
#define ARCH_GO_ARG2 bx
#define ARCH_GO_ARG3 cx

/* Whether the registers belong to a 64-bit program. */
#define ARCH_IS_64BIT(regs) ((regs)->cs == 0x33)
/* Whether the current syscall is from the 32-bit table, which has other numbers (TS_COMPAT). */
#define ARCH_IS_32BIT_CALL(task) ((task)->thread_info.status & 2)

/*
 * Interrupts and softirqs usually run on a stack of their own. 1: but those that interrupted user
 * space run on the thread's kernel stack. 0: none does.
 */
#define ARCH_INTERRUPTS_BORROW_STACK 1

static __always_inline void arch_note_registers(__u64 to[ARCH_REGISTERS], struct pt_regs *regs)
{
	to[0] = regs->ax;
	to[1] = regs->dx;
	to[2] = regs->cx;
	to[3] = regs->bx;
	to[4] = regs->si;
	to[5] = regs->di;
	to[6] = regs->bp;
	to[7] = regs->sp;
	to[8] = regs->r8;
	to[9] = regs->r9;
	to[10] = regs->r10;
	to[11] = regs->r11;
	to[12] = regs->r12;
	to[13] = regs->r13;
	to[14] = regs->r14;
	to[15] = regs->r15;
}

/*
 * Other CPUs see the stores (loads) before this point before those after it. x86 keeps the order of
 * stores and the order of loads, so only the compiler must not reorder them.
 */
#define arch_order_stores() barrier()
#define arch_order_loads()  barrier()

#endif
