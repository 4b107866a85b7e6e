/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a thread of a language runtime waits for at a futex. The address of the futex tells, so this
 * needs no hook in the program: the lock of CPython's interpreter is at a known place, and so is
 * the barrier at which HotSpot holds threads during a safepoint. A thread that has asked HotSpot's
 * VM Thread for a collection waits for nothing else until it has ended; that it has asked is known
 * from the signal runtime. For locks of Java, see java_locks.bpf.h.
 */
#pragma once

#include "bpf/collections.bpf.h"
#include "ledger/kernel/java_locks.bpf.h"

/* struct _gil_runtime_state of CPython, the same from 3.8 to 3.14. */
#define GIL_LAST_HOLDER 8
#define GIL_LOCKED      16
#define GIL_BEGIN       32 /* its condition, a mutex, and another pair of them */
#define GIL_MUTEX       80
#define GIL_SECOND      120
#define GIL_LAST_MUTEX  168
#define GIL_END         208
#define MUTEX_OWNER     8 /* of glibc */
/* The two futexes of glibc's condition, which it uses by turns. */
#define GIL_WORDS 72

/* The part of HotSpot's wait barrier that has its futex. */
#define BARRIER_BYTES 16

/*
 * The number of the thread that has the GIL, or the mutex at `futex` that is held while the GIL is
 * taken and given up; 0: nobody, or it cannot be read.
 */
static __always_inline __u32 gil_owner(const struct runtime_python *python, __u64 futex)
{
	struct {
		__u64 state;
		__u32 locked, pad;
	} gil = {};
	__u64 id = 0, at = futex - python->gil;
	__u32 tid = 0;

	if (at >= GIL_LAST_MUTEX || (at >= GIL_MUTEX && at < GIL_SECOND)) {
		bpf_probe_read_user(&tid, sizeof(tid), (void *)(futex + MUTEX_OWNER));
		return tid;
	}
	if (bpf_probe_read_user(&gil, sizeof(gil), (void *)(python->gil + GIL_LAST_HOLDER)) ||
	    gil.locked != 1 || !gil.state ||
	    bpf_probe_read_user(&id, sizeof(id), (void *)(gil.state + python->thread_native_id)))
		return 0;
	/* Up to 3.10 it is a pthread_t, which has the number. */
	if (python->pthread_tid &&
	    !bpf_probe_read_user(&tid, sizeof(tid), (void *)(id + python->pthread_tid)))
		return tid;
	return id;
}

static __always_inline __u32 cause_of_gil(struct thread *thread,
					  const struct runtime_python *python)
{
	struct ledger_key *wait = &thread->wait;
	__u64 futex = wait->object[0], owner;

	wait->object[0] = python->gil + GIL_WORDS;
	thread->releases = *releases_of_wait(wait); /* read this before the owner */
	owner = thread_by_tid(thread, gil_owner(python, futex));
	if (!owner || owner == thread->id)
		return SLOT_WAIT_GIL;
	wait->by = owner;
	wait->by_kind = BY_THREAD;
	wait->evidence = EVIDENCE_OWNER;
	return SLOT_WAIT_GIL;
}

/*
 * The slot of a wait of the current thread at the futex thread->wait.object[0]; SLOT_NONE: it is
 * not one of a runtime.
 */
static __noinline __u32 cause_of_runtime(struct thread *thread)
{
	struct task_struct *current = bpf_get_current_task_btf();
	__u64 futex = thread->wait.object[0];
	struct unwind_process *process;

	if (!with_stacks)
		return SLOT_NONE;
	process = process_of(current, thread->here_pid);
	if (!process)
		return SLOT_NONE;
	switch (process->runtime.kind) {
	case RUNTIME_PYTHON:
		if (futex - process->runtime.python.gil - GIL_BEGIN < GIL_END - GIL_BEGIN)
			return cause_of_gil(thread, &process->runtime.python);
		return SLOT_NONE;
	case RUNTIME_HOTSPOT:
		if (process->runtime.hotspot.barrier &&
		    futex - process->runtime.hotspot.barrier < BARRIER_BYTES)
			return SLOT_WAIT_SAFEPOINT;
		if (waits_for_collection(thread->pid, thread->id)) {
			/* The condition of all operations says nothing of this one. */
			thread->wait.object_kind = OBJECT_NONE;
			thread->wait.object[0] = 0;
			return SLOT_WAIT_GC;
		}
		return cause_of_java(thread, &process->runtime.hotspot.locks);
	default:
		return SLOT_NONE;
	}
}
