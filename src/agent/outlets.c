/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlets.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/outlet_metrics.h"
#include "agent/outlet_profiles.h"
#include "agent/outlet_store.h"
#include "base/cleanup.h"

struct outlets {
	struct outlet_store *store;       /* NULL: none */
	struct outlet_metrics *metrics;   /* NULL: none */
	struct outlet_profiles *profiles; /* NULL: none */
};

DEFINE_CLEANUP(struct outlets *, outlets__free)

const struct workload *outlets__workload(void *context, uint64_t id)
{
	return identity__get(context, id);
}

int outlets__new(const struct config *config, const struct outlets_host *host, struct outlets **ret)
{
	cleanup(outlets__free_p) struct outlets *outlets = calloc(1, sizeof(*outlets));
	int err = outlets ? outlet_store__new(config, host, &outlets->store) : -ENOMEM;

	if (!err)
		err = outlet_profiles__new(config, host, &outlets->profiles);
	/* Last, because it may take over host->before. */
	if (!err)
		err = outlet_metrics__new(config, host, &outlets->metrics);
	if (!err)
		*ret = TAKE(outlets);
	return err;
}

void outlets__free(struct outlets *outlets)
{
	if (!outlets)
		return;
	outlet_profiles__free(outlets->profiles);
	outlet_metrics__free(outlets->metrics);
	outlet_store__free(outlets->store);
	free(outlets);
}

struct outlet_metrics *outlets__end(struct outlets *outlets)
{
	struct outlet_metrics *metrics = TAKE(outlets->metrics);

	if (metrics)
		outlet_metrics__close(metrics);
	outlets__free(outlets);
	return metrics;
}

int outlets__step(struct outlets *outlets, const struct outlets_view *view,
		  const struct bucket *step, uint64_t step_ns)
{
	struct outlet_store_status store = {};
	struct outlet_profiles_status profiles = {};

	if (!outlets->metrics)
		return 0;
	if (outlets->store)
		outlet_store__status(outlets->store, &store);
	if (outlets->profiles)
		outlet_profiles__status(outlets->profiles, &profiles);
	return outlet_metrics__step(outlets->metrics, view, step, step_ns, &store, &profiles);
}

int outlets__minute(struct outlets *outlets, const struct outlets_view *view,
		    const struct bucket *minute)
{
	int err = outlets->profiles ? outlet_profiles__minute(outlets->profiles, view) : 0;
	int next = outlets->store ? outlet_store__minute(outlets->store, view, minute) : 0;

	return err ? err : next;
}

int outlets__unseen(struct outlets *outlets, const struct outlets_view *view,
		    const struct minutes_gap *gap)
{
	return outlets->store ? outlet_store__unseen(outlets->store, view, gap) : 0;
}
