/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which parts of the kernel half are on. The switches are constants, so the verifier does not look
 * at a part that is off, and the kernel removes its code.
 */
#pragma once

#include "bpf/common.h"
#include "bpf/parts.h"

const volatile bool with_signal[SIGNAL_COUNT];
/*
 * For a recorder that never ends: waits are summed by class (ledger/kernel/classes.bpf.h), and
 * events of signals by place, operation and error alone. Signals send no records then.
 */
const volatile bool by_class;
/* For tests: 1 + the number of a signal whose part this kernel is to refuse. */
const volatile __u32 refused_signal;

/*
 * Every function of a part that the verifier checks by itself (VERIFIED_ONCE) asks this first, and
 * so does at least one program of each signal, for the test. Programs of a signal that is off are
 * not loaded.
 */
static __always_inline bool is_on(enum signal_number number)
{
	if (!with_signal[number])
		return false;
	if (refused_signal == number + 1)
		asm volatile("r0 = *(u64 *)(r10 + 8)" ::: "r0"); /* outside of the stack */
	return true;
}
