/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places that the user has chosen with --function and --usdt: found, tried, attached, and
 * detached if they cost too much. There is one choice at a time. All functions log.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/signal.h"
#include "core/uprobes.h"

#define FUNCTION_PROBES_SPECS 32

struct function_choice {
	const char *functions[FUNCTION_PROBES_SPECS]; /* as the user has written them */
	size_t function_count;
	const char *probes[FUNCTION_PROBES_SPECS]; /* --usdt */
	size_t probe_count;
	bool force_returns;  /* also where an exception would end the program */
	uint32_t budget_ppm; /* of a CPU's time, for all hits; 0: no limit */
};

/* Finds the places. Replaces an earlier choice. -errno: one of them is not to be found. */
int function_probes__choose(const struct function_choice *choice, const struct uprobe_scope *scope);
void function_probes__forget(void);

/* Attaches what was chosen and is not called too often. -ENODATA: nothing was chosen. */
int function_probes__attach(struct bpf_object *object);
void function_probes__detach(void);
/* Call this once a second: detaches what has become too expensive; says at last what it cost. */
int function_probes__hold(struct bpf_object *object, bool is_last);

/* "libc.so.6:malloc"; "" for a number without a place. */
const char *function_probes__name(uint32_t place);

/* Replaces the name of a caller, "prog+0x1234", by that of the function that contains it. */
void function_probes__name_caller(struct event *event);
