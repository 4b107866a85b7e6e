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

#define TS_COMPAT 2

/* Whether the syscall in flight is one of the 32-bit table, which has other numbers. */
static __always_inline bool is_32bit(struct task_struct *task)
{
#ifdef __TARGET_ARCH_x86
	return task->thread_info.status & TS_COMPAT;
#else
	return false;
#endif
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
