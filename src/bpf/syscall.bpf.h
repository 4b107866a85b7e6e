/* What a syscall's number and its return mean. */
#pragma once

#include "bpf/common.h"

#define EINTR     4
#define MAX_ERRNO 4095

/* Returns that mean "the call will be made again", unless a handler stands in between. */
#define ERESTART_FIRST 512
#define ERESTART_LAST  516

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

static __always_inline bool will_be_made_again(long ret)
{
	return ret <= -ERESTART_FIRST && ret >= -ERESTART_LAST;
}

/* 0 if it went well. */
static __always_inline __u16 errno_in(long ret)
{
	return ret >= 0 || ret < -MAX_ERRNO ? 0 : -ret;
}
