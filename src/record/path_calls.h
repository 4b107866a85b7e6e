/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The paths that syscalls were called with: which files a program looks for. The kernel half sends
 * a random sample of them (ledger/kernel/paths.bpf.h); each stands for as many calls as its weight.
 */
#pragma once

#include "ledger/ledger.h"
#include "recording/recording.h"

struct path_calls;

int path_calls__new(struct recording *recording, struct path_calls **ret);
void path_calls__free(struct path_calls *calls);

/* -EBADMSG if the record makes no sense; -ENOMEM. */
int path_calls__take(struct path_calls *calls, const struct ledger_path_record *record);

/* Folds all paths so far into patterns, and replaces the rows of the recording by them. */
int path_calls__write(struct path_calls *calls);

/* Drops the paths that no thread used since `before_ns`. */
int path_calls__forget(struct path_calls *calls, uint64_t before_ns);
