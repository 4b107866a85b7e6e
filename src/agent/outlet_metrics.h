/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics as an outlet: adds up steps, and after each publishes a page and gives it to the receiver
 * of OTLP.
 */
#pragma once

#include "agent/outlet_profiles.h"
#include "agent/outlet_store.h"
#include "agent/outlets.h"

struct outlet_metrics;

/*
 * *ret is NULL if the configuration wants none. Goes on with the counters of host->before if it
 * wants the same series. Logs.
 */
int outlet_metrics__new(const struct config *config, const struct outlets_host *host,
			struct outlet_metrics **ret);
/* Serves and pushes no more. Call only outlet_metrics__new() and outlet_metrics__free() after it.
 */
void outlet_metrics__close(struct outlet_metrics *metrics);
void outlet_metrics__free(struct outlet_metrics *metrics);
/* `store`, `profiles`: what the other outlets have done. */
int outlet_metrics__step(struct outlet_metrics *metrics, const struct outlets_view *view,
			 const struct bucket *step, uint64_t step_ns,
			 const struct outlet_store_status *store,
			 const struct outlet_profiles_status *profiles);
