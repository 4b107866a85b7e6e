/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The holders of locks that threads still wait for when a recording ends. The kernel half reads the
 * owner of a lock in the waiter's context, when the wait begins. For a wait that began before the
 * recording, it is read here, from the memory of the process.
 */
#pragma once

#include "ledger/reader/attach.h"

/*
 * Call this after ledger__freeze(), for an open wait of the thread (pid, tid) in our pid namespace.
 * If the wait has no evidence, but is for a lock that was not released since the recording began,
 * and the lock's memory names its owner, the owner becomes the culprit.
 */
void holders__find(const struct ledger *ledger, uint32_t pid, uint32_t tid,
		   struct ledger_key *wait);
