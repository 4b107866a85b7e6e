/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles as an outlet: pushes the stacks of a minute as pprof, to a server such as Pyroscope, and
 * as OTLP, to the receiver of metrics.
 */
#pragma once

#include "agent/config.h"
#include "agent/outlets.h"
#include "metrics/totals.h"
#include "otlp/courier.h"

#define OUTLET_PROFILES_SINKS  2
#define OUTLET_PROFILES_PUSHES (OUTLET_PROFILES_SINKS * COURIER_RESULTS)

struct outlet_profiles;

/* *ret is NULL if the configuration wants none. Logs. */
int outlet_profiles__new(const struct config *config, const struct outlets_host *host,
			 struct outlet_profiles **ret);
/* What was not sent yet is dropped. */
void outlet_profiles__free(struct outlet_profiles *profiles);

/* Encodes the minute's profile, if there is one, and hands it over. Never waits. -ENOMEM. */
int outlet_profiles__minute(struct outlet_profiles *profiles, const struct outlets_view *view);

struct outlet_profiles_status {
	uint64_t lost; /* profiles that nobody took */
	struct totals_push pushes[OUTLET_PROFILES_PUSHES];
	size_t push_count;
	char problem[256]; /* "": none */
};
void outlet_profiles__status(struct outlet_profiles *profiles, struct outlet_profiles_status *ret);
