/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of a syscall's number and of its return value. */
#pragma once

#include "bpf/common.h"

#define EINTR     4
#define MAX_ERRNO 4095

/*
 * Return values of a syscall that a signal interrupted (include/linux/errno.h). If the signal has
 * no handler, the kernel restarts the syscall. If it has one, the program gets EINTR, except from
 * ERESTARTNOINTR, and from ERESTARTSYS if the handler was installed with SA_RESTART.
 */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

/* Whether the current syscall is from the 32-bit table, which has other numbers. */
static __always_inline bool is_32bit(struct task_struct *task)
{
	return ARCH_IS_32BIT_CALL(task);
}

/* The number of the current syscall; negative outside of syscalls. */
static __always_inline __s64 syscall_of(const struct pt_regs *regs)
{
	return (__s64)regs->ARCH_CALL;
}

static __always_inline bool is_broken_off(long ret)
{
	return ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK;
}

/* 0 on success. */
static __always_inline __u16 errno_in(long ret)
{
	return ret >= 0 || ret < -MAX_ERRNO ? 0 : -ret;
}
