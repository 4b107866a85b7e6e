/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/holders.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "bpf/arch/arch.h"
#include "bpf/futex.h"
#include "vocabulary/calls.h"

/* A thread in a syscall, from /proc/PID/task/TID/syscall. */
struct blocked_call {
	int64_t number;
	uint64_t args[6];
	uint64_t sp, pc;
};

/* False if the thread runs or is in no syscall. */
static bool read_call(uint32_t pid, uint32_t tid, struct blocked_call *ret)
{
	cleanup(fclose_p) FILE *file = NULL;
	struct blocked_call call = {};
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu32 "/task/%" PRIu32 "/syscall", pid, tid);
	file = fopen(path, "re");
	if (!file || fscanf(file,
			    "%" SCNd64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
			    " %" SCNx64 " %" SCNx64 " %" SCNx64,
			    &call.number, &call.args[0], &call.args[1], &call.args[2],
			    &call.args[3], &call.args[4], &call.args[5], &call.sp, &call.pc) != 9)
		return false;
	*ret = call;
	return true;
}

static bool read_memory(uint32_t pid, uint64_t address, void *to, size_t bytes)
{
	struct iovec local = { to, bytes };
	struct iovec remote = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv((pid_t)pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

/* The same rules as in the kernel half; 0 if the owner is not known. */
static uint32_t owner_of(uint32_t pid, const struct blocked_call *call)
{
	uint32_t op = (uint32_t)call->args[1] & FUTEX_CMD_MASK, expected = (uint32_t)call->args[2];
	struct glibc_mutex mutex = {};
	uint32_t bytes = futex_bytes(op, expected);
	uint64_t code = 0;

	if (!bytes || !read_memory(pid, call->args[0], &mutex, bytes) ||
	    (read_memory(pid, call->pc - sizeof(code), &code, sizeof(code)) &&
	     code == ARCH_SYSCALL_BY_HAND_CODE))
		return 0;
	return futex_owner(&mutex, op, expected);
}

void holders__find(const struct ledger *ledger, uint32_t pid, uint32_t tid, struct ledger_key *wait)
{
	struct blocked_call call, after;
	uint64_t id;
	uint32_t owner;

	if (wait->object_kind != OBJECT_FUTEX || wait->evidence != EVIDENCE_NONE ||
	    ledger__releases(ledger, wait))
		return;
	if (!read_call(pid, tid, &call) || call.number != calls__number("futex") ||
	    call.args[0] != wait->object[0])
		return;
	owner = owner_of(pid, &call);
	/* The memory counts only if the thread has not moved meanwhile. */
	if (!owner || !read_call(pid, tid, &after) || memcmp(&call, &after, sizeof(call)) != 0)
		return;
	if (!ledger__find_tid(ledger, wait->pid, owner, &id) || id == wait->thread)
		return;
	wait->by = id;
	wait->by_kind = BY_THREAD;
	wait->evidence = EVIDENCE_OWNER;
}
