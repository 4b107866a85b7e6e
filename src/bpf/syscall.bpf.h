/* What a syscall's number and its return mean. */
#pragma once

#include "bpf/common.h"

#define EINTR     4
#define MAX_ERRNO 4095

/*
 * Returns of a call that a signal broke off (include/linux/errno.h). Without a handler the kernel
 * makes the call again. With one, the program gets EINTR, except from ERESTARTNOINTR, and from
 * ERESTARTSYS if the handler was installed with SA_RESTART.
 */
#define ERESTARTSYS           512
#define ERESTARTNOINTR        513
#define ERESTARTNOHAND        514
#define ERESTART_RESTARTBLOCK 516

/* Whether the syscall in flight is one of the 32-bit table, which has other numbers. */
static __always_inline bool is_32bit(struct task_struct *task)
{
	return ARCH_IS_32BIT_CALL(task);
}

/* Its number, or a negative one outside of syscalls. */
static __always_inline __s64 syscall_of(const struct pt_regs *regs)
{
	return (__s64)regs->ARCH_CALL;
}

static __always_inline bool is_broken_off(long ret)
{
	return ret <= -ERESTARTSYS && ret >= -ERESTART_RESTARTBLOCK;
}

/* 0 if it went well. */
static __always_inline __u16 errno_in(long ret)
{
	return ret >= 0 || ret < -MAX_ERRNO ? 0 : -ret;
}
