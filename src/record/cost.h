/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The cost of a recording: our own CPU time and memory, and the CPU time of hooks. */
#pragma once

#include "core/sessions.h"
#include "core/timing.h"
#include "ledger/reader/attach.h"
#include "record/intake.h"
#include "record/samples.h"
#include "stacks/mapper.h"

struct cost {
	struct timing timing;
	int64_t opened_cpu_ns; /* our own CPU time at cost__open() */
	int64_t setup_cpu_ns;  /* CPU time from cost__open() to cost__begin() */
	uint64_t start_ns;
	uint64_t due_ns;  /* when the hooks are to be timed next */
	uint64_t busy_ns; /* time of all CPUs that were not idle, before start_ns */
	/* At the last cost__lately(). */
	uint64_t then_ns, then_busy_ns;
	struct timing_work then;
};

void cost__open(struct cost *cost);
/* Call this when all hooks are attached and no thread has an account yet. */
void cost__attached(struct cost *cost, const struct ledger *ledger);
void cost__begin(struct cost *cost, uint64_t start_ns);
/* Whether it is time for cost__time(). */
bool cost__is_due(const struct cost *cost, uint64_t now_ns);
/*
 * Times the hooks for some milliseconds; not for longer, because timing costs as much as a hook.
 * *looked_ns: when the last snapshot began.
 */
int cost__time(struct cost *cost, struct intake *intake, uint64_t *looked_ns);
/* What the hooks have cost up to now_ns, with this work; 0: not known yet. */
struct timing_cost cost__of_hooks(const struct cost *cost, const struct timing_work *work,
				  uint64_t now_ns);
/* What the hooks have cost since the last time, with `work` up to now_ns. */
struct timing_cost cost__lately(struct cost *cost, const struct timing_work *work, uint64_t now_ns);
/* Writes the cost so far. Without stacks, `samples` and `mapper` are NULL. */
int cost__write(const struct cost *cost, const struct timing_work *work,
		struct recording *recording, const struct samples *samples, struct mapper *mapper);
