/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rejected: a Bloom filter, which is smaller, but keeps some stacks from ever being sent. The sets
 * are bounded instead: a full one is emptied, and what is sent twice is stored once.
 *
 * A batch can be lost long after it was pushed: the spool drops the oldest ones, or the store
 * refuses one. Nothing says what was in it, so all that was sent is forgotten.
 */
#include "agent/outlet_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define DAY_S       UINT64_C(86400)
#define MOST_STACKS 32768

void outlet_profile__release(struct outlet_profile *sent)
{
	map__release(&sent->stacks);
	map__release(&sent->modules);
	sent->stacks = sent->modules = (struct map) {};
}

void outlet_profile__begin(struct outlet_profile *sent, uint64_t day, uint64_t lost)
{
	if (sent->day != day || sent->lost != lost)
		outlet_profile__release(sent);
	sent->day = day;
	sent->lost = lost;
}

/* Whether it was not sent yet today; from now on, it was. */
static bool is_new(struct map *sent, uint64_t hash)
{
	if (map__get(sent, hash))
		return false;
	if (sent->count >= MOST_STACKS) {
		map__release(sent);
		*sent = (struct map) {};
	}
	/* Without memory, it is sent once more. */
	(void)map__put(sent, hash, (void *)1);
	return true;
}

static int push_stacks(struct outlet_profile *sent, struct sink *sink,
		       const struct fact_context *context, const struct fact_profile *profile)
{
	cleanup(free_p) struct fact_stack *rows = calloc(profile->stack_count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < profile->stack_count; i++)
		if (is_new(&sent->stacks, profile->stacks[i].stack))
			rows[count++] = profile->stacks[i];
	return count ? sink__push(sink, FACT_STACKS, context, rows, count) : 0;
}

static int push_modules(struct outlet_profile *sent, struct sink *sink,
			const struct fact_context *context, const struct fact_profile *profile)
{
	cleanup(free_p) struct fact_module *rows = calloc(profile->module_count + 1, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < profile->module_count; i++)
		if (is_new(&sent->modules, profile->modules[i].module))
			rows[count++] = profile->modules[i];
	return count ? sink__push(sink, FACT_MODULES, context, rows, count) : 0;
}

/* A table that has no room does not keep the others from being pushed. */
static int first_failure(int err, int next)
{
	return err && err != -ENOBUFS ? err : next ? next : err;
}

int outlet_profile__push(struct outlet_profile *sent, struct sink *sink,
			 const struct fact_context *context, const struct fact_profile *profile)
{
	int err;

	if (!profile || !profile->sample_count)
		return 0;
	outlet_profile__begin(sent, context->bucket_s / DAY_S, sink__lost(sink));
	err = sink__push(sink, FACT_SAMPLES, context, profile->samples, profile->sample_count);
	err = first_failure(err, push_stacks(sent, sink, context, profile));
	err = first_failure(err, push_modules(sent, sink, context, profile));
	/* What had no room must come again. */
	if (err)
		outlet_profile__release(sent);
	return err;
}
