/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kind of a wait, as far as the account alone proves it. Without stacks, nobody can tell a
 * thread that waits for work from one that is being held up in the middle of it. So a wait is
 *
 *   delaying   if its cause leaves no doubt (a disk, a lock that somebody holds, an answer that was
 *              asked for), or if the thread sleeps with a request that it has not answered
 *   idle       if it waits for the next connection, or is a kernel thread without work
 *   undecided  otherwise
 */
#pragma once

#include "ledger/ledger.h"

enum kind proof__kind(const struct ledger_key *wait);
