/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which goroutine a thread runs. Included by bpf/unwind_walk.h.
 *
 * The frames of Go are on the native stack and need no step of their own. A thread-local variable
 * points to the g that it runs. That can be a g of the scheduler (g0) or of the signal handler
 * (gsignal), but the thread's m, to which each of them points, has the goroutine in curg. It keeps
 * that goroutine during a system call.
 */
#pragma once

UNWIND_FN __u64 go_fiber(void *world, const struct unwind *walk, const struct runtime_go *go)
{
	__u64 at = walk->beside.thread_pointer;

	/* A thread that C started has no g. */
	if (!at || !go->g || unwind_read(world, &at, sizeof(at), at + (__s64)go->g) || !at)
		return FIBER_UNKNOWN;
	if (unwind_read(world, &at, sizeof(at), at + go->g_m) || !at)
		return FIBER_UNKNOWN;
	if (unwind_read(world, &at, sizeof(at), at + go->m_curg))
		return FIBER_UNKNOWN;
	if (!at)
		return FIBER_NONE;
	if (unwind_read(world, &at, sizeof(at), at + go->g_id))
		return FIBER_UNKNOWN;
	return at;
}
