/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to sampler.c, sampler_stacks.c and sampler_profile.c. */
#pragma once

#include "agent/sampler.h"
#include "base/map.h"
#include "bpf/stack.h"
#include "fold/sampling.h"

/* A stack whose frames arrived, innermost first. */
struct sampler_seen {
	uint64_t used_ns;
	uint64_t unsent_ns; /* when it was deleted from the kernel half's map; 0: it is there */
	bool is_partial;    /* some files were not named in time, or are gone */
	bool is_unmapped;   /* the mappings of the process were not known yet */
	uint32_t count, used_count;
	const uint64_t *modules, *offsets; /* modules by their hashes */
	struct code_module *const *used;   /* each module once */
	uint64_t room[];                   /* for all three */
};

/* A stack that is being made. */
struct sampler_scratch {
	bool is_partial, is_unmapped;
	uint32_t count, used_count;
	uint64_t modules[STACK_MOST_FRAMES], offsets[STACK_MOST_FRAMES];
	struct code_module *used[STACK_MOST_FRAMES];
};

/* A sample of a thread whose workload is not known yet. */
struct sampler_waiting {
	struct sampler_waiting *next;
	struct sampling_key key;
	uint64_t weight_ns;
	uint64_t step; /* number of the step in which it came */
	uint32_t count;
	double probability;
};

struct sampler {
	const struct folding *folding;
	struct code_client *client; /* NULL: not connected */
	int stacks_fd;
	struct map seen;     /* by the kernel half's hash */
	struct map combined; /* by user and kernel hash: the hash of the minute's stack */
	struct map waiting;  /* by thread: struct sampler_waiting */
	size_t waiting_count;
	uint64_t steps;
	struct sampler_scratch scratch;
	struct sampling *sampling;
	struct map modules; /* by hash: struct code_module, of this minute */
	bool has_failed;
	bool has_partial;               /* a stack, maybe */
	bool has_begun;                 /* samples were taken for this worker */
	uint64_t supervisor_ns;         /* its CPU time at the start */
	uint64_t spent_ns, table_bytes; /* by it since then; of unwind tables */
	uint64_t gone;                  /* modules of the kernel, at the last step */
	double probability;
	uint64_t begin_ns;     /* of this minute */
	bool is_chosen;        /* this minute: sampling was asked for */
	uint64_t on_before_ns; /* time with sampling until this minute began */
	struct sampler_quality quality;
	/* The profile of the minute. */
	struct fact_profile profile;
	struct fact_sample *samples;
	struct fact_stack *stacks;
	struct fact_module *listed;
};

/* A stack arrives. -ENOMEM. */
int sampler__take_stack(struct sampler *sampler, const struct stack_record *record);
void sampler__use_stack(struct sampler *sampler, struct sampler_seen *seen, uint64_t now_ns);
/* Lets the kernel half send the stacks again whose files were not named. */
void sampler__ask_again(struct sampler *sampler);
/* Forgets stacks and modules that were not used for some minutes. */
void sampler__forget_stacks(struct sampler *sampler, uint64_t now_ns);

void sampler__release_profile(struct sampler *sampler);
