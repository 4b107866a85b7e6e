/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ends of pairs that are functions or declared probes (USDT): found in programs and libraries, and
 * attached within the budget (core/probe_set.h). All functions log.
 */
#pragma once

#include <bpf/libbpf.h>

#include "core/uprobes.h"
#include "signals/events/events.h"

/* Finds the places of all that was asked for, instead of those found earlier. */
int event_probes__find(const struct uprobe_scope *scope, uint32_t budget_ppm);

/* Everything that the kernel half needs, also for tracepoints. */
const struct events_knobs *event_probes__knobs(void);

/* 0, also if there are no such ends. */
int event_probes__attach(const struct bpf_object *object);
void event_probes__detach(void);
uint64_t event_probes__left_out(void);
/* Call this once a second. */
int event_probes__hold(const struct bpf_object *object, bool is_last);
