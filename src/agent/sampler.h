/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stacks and samples from the kernel half, folded for the minute. It lives in the worker; what a
 * frame is in, it asks the supervisor (code_client.h).
 *
 * A sample counts where its interval ends: a wait that began in an earlier minute weighs all of its
 * length. So sums over many minutes are right, whichever of them are sampled.
 *
 * One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "agent/code_client.h"
#include "agent/self.h"
#include "bpf/wire.h"
#include "fold/folding.h"
#include "store/fact.h"

struct sampler;

/* All functions accept NULL: an agent without stacks. */
int sampler__new(struct sampler **ret);
void sampler__free(struct sampler *sampler);

/* Whose threads these are; where to ask, which belongs to the sampler; the map of sent stacks. */
void sampler__connect(struct sampler *sampler, const struct folding *folding,
		      struct code_client *client, int stacks_fd);

/* Takes a record of the stack ring: ledger_take_record_fn. The context is the sampler. */
int sampler__take(void *context, const struct wire_head *head);
/* Threads that ended, for folding_options.note_end. */
void sampler__note_end(struct sampler *sampler, uint64_t thread, uint64_t workload);
/* After each step: finds the workloads of new threads. */
void sampler__step(struct sampler *sampler);

/*
 * Begins or ends sampling. `probability` is that of this minute to be sampled; weights are divided
 * by it. Logs if it does not work.
 */
void sampler__choose(struct sampler *sampler, bool on, double probability);
/* Adds the CPU time and the memory that stacks cost outside of this process. */
void sampler__cost(struct sampler *sampler, struct self_cost *cost);

/*
 * The samples since the last sampler__clear(), for the minute from begin_s on; NULL if there was no
 * sampling, or too little. If there was sampling in a part of the minute, they stand for all of it.
 * Once a minute. Belongs to the sampler until it is cleared. -ENOMEM.
 */
int sampler__profile(struct sampler *sampler, uint64_t begin_s, uint64_t now_ns,
		     const struct fact_profile **ret);
/* Begins a minute. Forgets stacks and modules that were not used for some minutes. */
void sampler__clear(struct sampler *sampler, uint64_t now_ns);

/* Since the start. */
struct sampler_quality {
	uint64_t malformed; /* records that were not understood */
	uint64_t lost;      /* stacks of samples whose frames did not arrive */
	uint64_t cut;       /* stacks with more frames than are sent: the outermost are missing */
	uint64_t folded;    /* times that a stack or a row had no room: in stack 0 */
	uint64_t anonymous; /* frames in code without a file */
	uint64_t unmapped;  /* stacks of samples in processes whose mappings were not known yet */
	uint64_t left_out;  /* samples of minutes of which too little was sampled */
	uint64_t without_workload; /* samples of threads that are not known */
	uint64_t unanswered;       /* questions to the supervisor */
};
struct sampler_quality sampler__quality(const struct sampler *sampler);
