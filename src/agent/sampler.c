/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/sampler_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "bpf/stack.h"
#include "fold/proof.h"
#include "vocabulary/states.h"

#define MOST_ROWS      8192
#define MOST_STACKS    4096 /* of a minute */
#define MOST_WAITING   16384
#define MOST_FRAMES    512
#define PATIENCE_STEPS 2
#define NO_WORKLOAD    UINT64_MAX

DEFINE_CLEANUP(struct sampler *, sampler__free)

/* --- create and free -------------------------------------------------------------------------- */

int sampler__new(struct sampler **ret)
{
	const struct sampling_limits limits = { .most_rows = MOST_ROWS,
						.most_stacks = MOST_STACKS };
	cleanup(sampler__free_p) struct sampler *sampler = calloc(1, sizeof(*sampler));
	int err = sampler ? sampling__new(&limits, &sampler->sampling) : -ENOMEM;

	if (err)
		return err;
	sampler->stacks_fd = -1;
	sampler->probability = 1.0;
	*ret = TAKE(sampler);
	return 0;
}

static bool drop_waiting(void *context, uint64_t thread, void *value)
{
	struct sampler_waiting *next;

	(void)context;
	(void)thread;
	for (struct sampler_waiting *at = value; at; at = next) {
		next = at->next;
		free(at);
	}
	return true;
}

void sampler__free(struct sampler *sampler)
{
	if (!sampler)
		return;
	map__sweep(&sampler->waiting, drop_waiting, NULL);
	map__release(&sampler->waiting);
	map__free_values(&sampler->seen);
	map__free_values(&sampler->combined);
	map__release(&sampler->modules);
	sampler__release_profile(sampler);
	sampling__free(sampler->sampling);
	code_client__free(sampler->client);
	free(sampler);
}

void sampler__connect(struct sampler *sampler, const struct folding *folding,
		      struct code_client *client, int stacks_fd)
{
	sampler->folding = folding;
	sampler->client = client;
	sampler->stacks_fd = stacks_fd;
	sampler->begin_ns = clock__now_ns();
}

/* --- the stack of a sample -------------------------------------------------------------------- */

/* The modules of a stack are listed with the minute's samples. -ENOMEM. */
static int list_modules(struct sampler *sampler, const struct sampler_seen *seen)
{
	int err = 0;

	for (uint32_t i = 0; seen && i < seen->used_count && !err; i++)
		if (!map__get(&sampler->modules, seen->used[i]->hash))
			err = map__put(&sampler->modules, seen->used[i]->hash, seen->used[i]);
	return err;
}

/* The kernel's frames above those of the program, root first; innermost ones if there are many. */
static int add_whole(struct sampler *sampler, const struct sampler_seen *user,
		     const struct sampler_seen *kernel, uint64_t *ret)
{
	const struct sampler_seen *parts[] = { kernel, user };
	uint64_t modules[MOST_FRAMES], offsets[MOST_FRAMES];
	size_t at = MOST_FRAMES;
	int err;

	for (size_t i = 0; i < 2; i++)
		for (uint32_t j = 0; parts[i] && j < parts[i]->count && at; j++) {
			modules[--at] = parts[i]->modules[j];
			offsets[at] = parts[i]->offsets[j];
		}
	sampler->quality.cut +=
		(user ? user->count : 0) + (kernel ? kernel->count : 0) > MOST_FRAMES;
	err = list_modules(sampler, user);
	if (!err)
		err = list_modules(sampler, kernel);
	return err ? err
		   : sampling__add_stack(sampler->sampling, modules + at, offsets + at,
					 MOST_FRAMES - at, ret);
}

static bool is_whole(const struct sampler_seen *seen, uint64_t hash)
{
	return !hash || (seen && !seen->is_partial);
}

/* *ret is 0 if there is no stack. */
static int find_stack(struct sampler *sampler, uint64_t user_hash, uint64_t kernel_hash,
		      uint64_t now_ns, uint64_t *ret)
{
	struct sampler_seen *user = map__get(&sampler->seen, user_hash);
	struct sampler_seen *kernel = map__get(&sampler->seen, kernel_hash);
	uint64_t key = map__mix(map__mix(0, user_hash), kernel_hash), *known;
	int err;

	sampler->quality.unmapped += user && user->is_unmapped;
	sampler->quality.lost += (user_hash && !user) + (kernel_hash && !kernel);
	*ret = SAMPLING_OTHER;
	if (!user && !kernel)
		return 0;
	if (user)
		sampler__use_stack(sampler, user, now_ns);
	if (kernel)
		sampler__use_stack(sampler, kernel, now_ns);
	known = map__get(&sampler->combined, key);
	if (known) {
		*ret = *known;
		return 0;
	}
	known = malloc(sizeof(*known));
	err = known ? add_whole(sampler, user, kernel, known) : -ENOMEM;
	if (!err) {
		*ret = *known;
		/* Each of them counts as folded, and a later one may have room, or names. */
		if (*known == SAMPLING_OTHER || !is_whole(user, user_hash) ||
		    !is_whole(kernel, kernel_hash))
			err = -EAGAIN;
	}
	if (!err)
		err = map__put(&sampler->combined, key, known);
	if (err)
		free(known);
	return err == -EAGAIN ? 0 : err;
}

/* --- samples ---------------------------------------------------------------------------------- */

static int wait_for_workload(struct sampler *sampler, uint64_t thread,
			     const struct sampler_waiting *sample)
{
	struct sampler_waiting *kept = malloc(sizeof(*kept));

	if (!kept)
		return -ENOMEM;
	*kept = *sample;
	kept->next = map__get(&sampler->waiting, thread);
	if (map__put(&sampler->waiting, thread, kept)) {
		free(kept);
		return -ENOMEM;
	}
	sampler->waiting_count++;
	return 0;
}

static int add(struct sampler *sampler, const struct sampler_waiting *sample, uint64_t workload)
{
	struct sampling_key key = sample->key;

	key.workload = workload;
	return sampling__add(sampler->sampling, &key, sample->weight_ns, sample->count,
			     sample->probability);
}

static enum kind kind_of(const struct sample_record *record)
{
	const struct ledger_key wait = { .slot = record->slot,
					 .object_kind = record->object_kind,
					 .by_kind = record->by_kind,
					 .evidence = record->evidence,
					 .ended = record->ended,
					 .turn = record->turn,
					 .in_request = record->in_request };

	return SLOT_IS_WAIT(record->slot) ? proof__kind(&wait) : states__words(record->slot)->kind;
}

static int take_sample(struct sampler *sampler, const struct sample_record *record)
{
	struct sampler_waiting sample = { .weight_ns = record->weight_ns,
					  .count = record->count,
					  .step = sampler->steps,
					  .probability = sampler->probability };
	uint64_t now_ns = clock__now_ns(), workload;
	int err;

	if (record->slot == SLOT_NONE || record->slot >= SLOT_COUNT) {
		sampler->quality.malformed++;
		return 0;
	}
	sample.key.slot = record->slot;
	sample.key.kind = (uint8_t)kind_of(record);
	err = find_stack(sampler, record->user, record->kernel, now_ns, &sample.key.stack);
	if (!err)
		err = find_stack(sampler, record->waker, 0, now_ns, &sample.key.waker_stack);
	if (err)
		return err;
	workload = folding__workload(sampler->folding, record->thread);
	if (workload)
		return add(sampler, &sample, workload);
	if (sampler->waiting_count < MOST_WAITING)
		return wait_for_workload(sampler, record->thread, &sample);
	sampler->quality.without_workload++;
	return add(sampler, &sample, NO_WORKLOAD);
}

int sampler__take(void *context, const struct wire_head *head)
{
	struct sampler *sampler = context;

	/* What an earlier worker left in the ring has its numbers of modules. */
	if (!sampler->has_begun || head->kind == STACK_FATAL)
		return 0;
	if (head->version == 1 && head->kind == STACK_FRAMES &&
	    head->size >= sizeof(struct stack_record))
		return sampler__take_stack(sampler, (const void *)head);
	if (head->version == 1 && head->kind == STACK_SAMPLE &&
	    head->size == sizeof(struct sample_record))
		return take_sample(sampler, (const void *)head);
	sampler->quality.malformed++;
	return 0;
}

/* --- workloads -------------------------------------------------------------------------------- */

/* Adds the samples of a thread; what fails for lack of memory is counted. */
static void settle(struct sampler *sampler, struct sampler_waiting *list, uint64_t workload)
{
	struct sampler_waiting *next;

	for (struct sampler_waiting *at = list; at; at = next) {
		next = at->next;
		sampler->quality.without_workload += workload == NO_WORKLOAD;
		sampler->quality.lost += add(sampler, at, workload) != 0;
		sampler->waiting_count--;
		free(at);
	}
}

void sampler__note_end(struct sampler *sampler, uint64_t thread, uint64_t workload)
{
	if (sampler)
		settle(sampler, map__take(&sampler->waiting, thread), workload);
}

static bool is_settled(void *context, uint64_t thread, void *value)
{
	struct sampler *sampler = context;
	struct sampler_waiting *list = value;
	uint64_t workload = folding__workload(sampler->folding, thread);

	if (!workload && sampler->steps - list->step < PATIENCE_STEPS)
		return false;
	settle(sampler, list, workload ? workload : NO_WORKLOAD);
	return true;
}

static void say_problem(struct sampler *sampler)
{
	int err = code_client__problem(sampler->client);

	if (err && !sampler->has_failed)
		log_warning("samples cannot be taken: %s; continuing without stacks",
			    strerror(-err));
	sampler->has_failed = err != 0;
}

void sampler__step(struct sampler *sampler)
{
	if (!sampler || !sampler->client)
		return;
	sampler->steps++;
	code_client__step(sampler->client);
	say_problem(sampler);
	sampler__ask_again(sampler);
	map__sweep(&sampler->waiting, is_settled, sampler);
}

/* --- minutes ---------------------------------------------------------------------------------- */

/* The first minute without samples is over, and the ring has no more of them. */
static void rest(struct sampler *sampler)
{
	if (code_client__is_on(sampler->client) || !sampler->seen.count || sampler->modules.count ||
	    code_client__on_ns(sampler->client, 0) != sampler->on_before_ns)
		return;
	map__free_values(&sampler->seen);
	sampler->seen = (struct map) {};
	code_client__rest(sampler->client);
}

void sampler__choose(struct sampler *sampler, bool on, double probability)
{
	if (!sampler || !sampler->client)
		return;
	/* What is still in the ring belongs to the minute that ended. */
	sampler->probability = on ? probability : sampler->probability;
	if (!on)
		rest(sampler);
	sampler->has_begun |= on;
	sampler->is_chosen |= on;
	code_client__sample(sampler->client, on);
	say_problem(sampler);
}

void sampler__cost(struct sampler *sampler, struct self_cost *cost)
{
	uint64_t cpu_ns = 0;

	if (!sampler || !sampler->client)
		return;
	/* Without an answer, it is what it was. What loading cost does not count. */
	if (!code_client__cost(sampler->client, &cpu_ns, &sampler->table_bytes)) {
		if (!sampler->supervisor_ns)
			sampler->supervisor_ns = cpu_ns;
		sampler->spent_ns = cpu_ns - sampler->supervisor_ns;
	}
	cost->cpu_ns += sampler->spent_ns;
	cost->bpf_bytes += sampler->table_bytes;
}

void sampler__clear(struct sampler *sampler, uint64_t now_ns)
{
	if (!sampler)
		return;
	sampler__release_profile(sampler);
	sampling__clear(sampler->sampling);
	map__free_values(&sampler->combined);
	map__release(&sampler->modules);
	sampler->combined = sampler->modules = (struct map) {};
	sampler->begin_ns = now_ns;
	sampler->is_chosen = false;
	sampler->on_before_ns = sampler->client ? code_client__on_ns(sampler->client, now_ns) : 0;
	sampler__forget_stacks(sampler, now_ns);
}

struct sampler_quality sampler__quality(const struct sampler *sampler)
{
	struct sampler_quality quality = sampler ? sampler->quality : (struct sampler_quality) {};

	if (!sampler)
		return quality;
	quality.folded = sampling__folded(sampler->sampling);
	if (sampler->client) {
		quality.anonymous = code_client__anonymous(sampler->client);
		quality.unanswered = code_client__unanswered(sampler->client);
	}
	return quality;
}
