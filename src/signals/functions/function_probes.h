/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places that the user has chosen with --function, --window and --usdt. There is one choice at
 * a time. Functions log, except where it is said.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/signal.h"
#include "core/uprobes.h"

/* The options that name places. */
enum function_option { FUNCTION_CALLS, FUNCTION_WINDOW, FUNCTION_USDT, FUNCTION_OPTIONS };

/*
 * Takes the argument of an option, which the caller keeps. -EINVAL, -E2BIG: `why` says what is
 * wrong. Does not log.
 */
int function_probes__ask(const char *text, enum function_option option, char *why, size_t size);
/* Times also functions through which an exception may pass. */
void function_probes__force_returns(void);

/*
 * Finds the places of all that was asked for, instead of those found earlier. -errno: one of them
 * is not to be found. `budget_ppm`: see core/probe_set.h.
 */
int function_probes__find(const struct uprobe_scope *scope, uint32_t budget_ppm);

/* Attaches what was found and is not called too often. */
int function_probes__attach(struct bpf_object *object);
void function_probes__detach(void);
/* Call this once a second: detaches what has become too expensive; says at last what it cost. */
int function_probes__hold(struct bpf_object *object, bool is_last);

uint64_t function_probes__left_out(void);

/* "libc.so.6:malloc"; "" for a number without a place. */
const char *function_probes__name(uint32_t place);

/* Replaces the name of a caller, "prog+0x1234", by that of the function that contains it. */
void function_probes__name_caller(struct event *event);
