/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What samples show of the slowest windows. A sample has the window that its thread worked for. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "model/model.h"

static int by_weight(const void *a, const void *b)
{
	const struct windows_path *x = a, *y = b;

	if (x->sum.ns != y->sum.ns)
		return x->sum.ns < y->sum.ns ? 1 : -1;
	if (x->node != y->node)
		return x->node < y->node ? -1 : 1;
	return (x->state > y->state) - (x->state < y->state);
}

/* Whether the thread worked for one of the slowest windows of the service. */
static bool is_of(const struct model *model, const struct windows_service *service,
		  const struct model_sample *sample)
{
	const struct windows_one *one =
		sample->summed ? NULL
			       : model_windows__of(&model->windows, sample->window,
						   sample->time_ns - sample->wait_ns);

	return one && model_windows__service(&model->windows, one->class) == service &&
	       model_windows__is_in(service, WINDOWS_SLOW, one->length_ns);
}

/* As in hot.h. */
static double variance_of(const struct model_sample *sample)
{
	double weight = (double)sample->weight_ns;

	if (sample->tick)
		return weight * weight;
	return sample->weight_ns > sample->wait_ns ? weight * (weight - (double)sample->wait_ns)
						   : 0;
}

int model_windows__paths(const struct model *model, const struct windows_service *service,
			 struct windows_path **ret, size_t *ret_count)
{
	cleanup(map__release) struct map places = {};
	cleanup(free_p) struct windows_path *list = NULL;
	size_t count = 0;

	for (size_t i = 0; i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];
		const uint32_t node = sample->node ? model->hot.nodes[sample->node].user : 0;
		uint64_t key = map__mix(map__mix(0, node), (uintptr_t)sample->state);
		struct windows_path *path;
		uintptr_t at;

		if (!is_of(model, service, sample))
			continue;
		at = (uintptr_t)map__get(&places, key);
		path = at ? &list[at - 1] : APPEND(&list, &count);
		if (!path || (!at && map__put(&places, key, (void *)count)))
			return -ENOMEM;
		path->state = sample->state;
		path->node = node;
		hot__add(&path->sum, &(struct hot_sum) { .ns = sample->weight_ns,
							 .samples = 1,
							 .variance = variance_of(sample) });
	}
	if (count)
		qsort(list, count, sizeof(*list), by_weight);
	*ret = TAKE(list);
	*ret_count = count;
	return 0;
}
