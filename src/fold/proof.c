/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fold/proof.h"

enum kind proof__kind(const struct ledger_key *wait)
{
	if (wait->evidence == EVIDENCE_OWNER)
		return KIND_DELAYING;
	switch (wait->slot) {
	case SLOT_WAIT_DISK:
	case SLOT_WAIT_FAULT:
	case SLOT_WAIT_KERNEL:
	case SLOT_WAIT_CHILD:
	case SLOT_WAIT_STOPPED:
	case SLOT_WAIT_LOCK_OWNED:
	case SLOT_WAIT_GIL:
	case SLOT_WAIT_SAFEPOINT:
	case SLOT_WAIT_GC:
		return KIND_DELAYING;
	case SLOT_WAIT_SLEEP:
		return wait->in_request ? KIND_DELAYING : KIND_UNDECIDED;
	case SLOT_WAIT_ACCEPT:
	case SLOT_WAIT_KTHREAD:
		return KIND_IDLE;
	default:
		break;
	}
	switch (wait->turn) {
	case TURN_ASKED:
	case TURN_CONNECTING:
	case TURN_UNSENT:
		return KIND_DELAYING;
	default:
		return KIND_UNDECIDED;
	}
}
