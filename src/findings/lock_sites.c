/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The waiting time of a lock is exact, and a sample of a wait has its length, its weight and its
 * stack. So the time is shared out among the call sites by the weights of their samples. The
 * histogram of a site is an estimate: a sample stands for weight / length waits of its length.
 *
 * Rejected: sums by call site in the kernel half. They would need the user stack of every wait.
 */
#include "findings/lock_sites.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "findings/analysis.h"
#include "vocabulary/histogram.h"

/* A hostile recording may have weights of any size. */
#define MOST_WAITS 1e12

struct lock_site_value {
	int bucket;
	double waits;
};

struct finding_sites {
	const struct model *model;
	const struct signals_signal *signal;
	struct known *functions; /* index as in hot.functions */
	struct map locks;        /* id of an object → index of its lock + 1 */
	struct map known;        /* (lock, function) → index of a site + 1 */
	struct lock_sites *sites;
};

static int list_locks(struct finding_sites *finding)
{
	int err = 0;

	for (size_t i = 0; !err && i < finding->signal->lock_count; i++)
		err = map__put(&finding->locks, (uint64_t)finding->signal->locks[i].object->id,
			       (void *)(i + 1));
	return err;
}

static int list_functions(struct finding_sites *finding)
{
	const struct hot *hot = &finding->model->hot;

	finding->functions = calloc(hot->function_count + 1, sizeof(*finding->functions));
	for (size_t i = 0; finding->functions && i < hot->function_count; i++)
		finding->functions[i] = known__find(&hot->functions[i]);
	return finding->functions ? 0 : -ENOMEM;
}

static struct lock_site *find_site(struct finding_sites *finding, size_t lock, uint32_t function)
{
	uint64_t key = (uint64_t)lock << 32 | function;
	uintptr_t at = (uintptr_t)map__get(&finding->known, key);
	struct lock_site *site;

	if (at)
		return &finding->sites->list[at - 1];
	site = APPEND(&finding->sites->list, &finding->sites->count);
	if (!site || map__put(&finding->known, key, (void *)finding->sites->count))
		return NULL;
	site->lock = lock;
	site->function = function;
	return site;
}

static int add_sample(struct finding_sites *finding, const struct model_sample *sample, size_t lock)
{
	const struct hot *hot = &finding->model->hot;
	uint32_t node = hot->nodes ? hot->nodes[sample->node].user : 0, library = 0;
	uint32_t caller = path__caller(hot, finding->functions, node, &library);
	struct lock_site *site = find_site(finding, lock, caller ? caller : library);
	double weight = (double)sample->weight_ns, wait = (double)sample->wait_ns;
	double count = (double)sample->count;
	struct lock_site_value *value;

	if (!site)
		return -ENOMEM;
	value = APPEND(&site->values, &site->value_count);
	if (!value)
		return -ENOMEM;
	value->bucket = (int)histogram_bucket((__u64)(wait / count));
	value->waits = fmin(count * weight / wait, MOST_WAITS);
	site->samples++;
	site->weight_ns += weight;
	/* As in hot.h: the period is the weight of one wait that is shorter than it. */
	if (weight > wait)
		site->variance += weight / count * (weight - wait);
	return 0;
}

/* A wait that is still open is not in the sums of the signal. */
static bool is_counted(const struct model_sample *sample)
{
	return is_wait(sample->state) && !sample->tick && !sample->summed && sample->object &&
	       sample->ended != ENDED_OPEN && sample->wait_ns > 0 && sample->count > 0 &&
	       sample->weight_ns > 0;
}

static int add_samples(struct finding_sites *finding)
{
	const struct model *model = finding->model;
	int err = 0;

	for (size_t i = 0; !err && i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];
		uintptr_t lock = is_counted(sample) ? (uintptr_t)map__get(&finding->locks,
									  (uint64_t)sample->object)
						    : 0;

		if (lock)
			err = add_sample(finding, sample, lock - 1);
	}
	return err;
}

static int by_lock(const void *a, const void *b)
{
	const struct lock_site *x = a, *y = b;

	if (x->lock != y->lock)
		return x->lock < y->lock ? -1 : 1;
	if (x->weight_ns != y->weight_ns)
		return x->weight_ns > y->weight_ns ? -1 : 1;
	return (x->function > y->function) - (x->function < y->function);
}

static int by_bucket(const void *a, const void *b)
{
	const struct lock_site_value *x = a, *y = b;

	return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static int make_histogram(struct lock_site *site)
{
	double waits = 0;

	qsort(site->values, site->value_count, sizeof(*site->values), by_bucket);
	for (size_t i = 0; i < site->value_count; i++) {
		int number = site->values[i].bucket;
		struct bucket *bucket;

		waits += site->values[i].waits;
		if (i + 1 < site->value_count && site->values[i + 1].bucket == number)
			continue;
		bucket = APPEND(&site->buckets, &site->bucket_count);
		if (!bucket)
			return -ENOMEM;
		*bucket = (struct bucket) { number, llround(waits) };
		site->count += bucket->count;
		waits = 0;
	}
	percentiles__find(site->buckets, site->bucket_count, site->count, 0, site->percentiles);
	for (int i = 0; i < PERCENTILES; i++)
		if (site->samples < percentiles__words(i)->least)
			site->percentiles[i] = -1;
	return 0;
}

/* Shares the time of a lock out among its sites, without a remainder. */
static int share_out(const struct signals_lock *lock, struct lock_site *sites, size_t count)
{
	double weight_ns = 0, upto = 0, wait_ns = (double)lock->wait_ns;
	int64_t given_ns = 0;
	int err = 0;

	for (size_t i = 0; i < count; i++)
		weight_ns += sites[i].weight_ns;
	for (size_t i = 0; !err && i < count; i++) {
		struct lock_site *site = &sites[i];

		upto += site->weight_ns;
		site->ns = (i + 1 == count ? lock->wait_ns : llround(wait_ns * upto / weight_ns)) -
			   given_ns;
		site->error_ns = llround(fmin(2 * sqrt(site->variance) / weight_ns, 1) * wait_ns);
		given_ns += site->ns;
		err = make_histogram(site);
	}
	return err;
}

static int finish(const struct signals_signal *signal, struct lock_sites *sites)
{
	int err = 0;

	if (sites->count)
		qsort(sites->list, sites->count, sizeof(*sites->list), by_lock);
	for (size_t i = 0, end; !err && i < sites->count; i = end) {
		for (end = i; end < sites->count && sites->list[end].lock == sites->list[i].lock;)
			end++;
		err = share_out(&signal->locks[sites->list[i].lock], &sites->list[i], end - i);
	}
	return err;
}

int lock_sites__find(const struct model *model, const struct signals_signal *signal,
		     struct lock_sites *ret)
{
	struct finding_sites finding = { .model = model, .signal = signal, .sites = ret };
	int err;

	*ret = (struct lock_sites) {};
	err = list_locks(&finding);
	if (!err)
		err = list_functions(&finding);
	if (!err)
		err = add_samples(&finding);
	if (!err)
		err = finish(signal, ret);
	free(finding.functions);
	map__release(&finding.locks);
	map__release(&finding.known);
	return err;
}

void lock_sites__release(struct lock_sites *sites)
{
	for (size_t i = 0; i < sites->count; i++) {
		free(sites->list[i].buckets);
		free(sites->list[i].values);
	}
	free(sites->list);
	*sites = (struct lock_sites) {};
}

const struct lock_site *lock_sites__of(const struct lock_sites *sites, size_t lock,
				       size_t *ret_count)
{
	const struct lock_site *first = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < sites->count; i++) {
		if (sites->list[i].lock != lock)
			continue;
		if (!first)
			first = &sites->list[i];
		++*ret_count;
	}
	return first;
}
