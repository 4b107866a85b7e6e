/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A receiver of OTLP as an outlet: gives it the figures of the page of metrics. */
#pragma once

#include "agent/config.h"
#include "metrics/pages.h"
#include "metrics/totals.h"
#include "otlp/courier.h"

struct outlet_otlp;

/* *ret is NULL if the configuration names no receiver. `host`: see outlets.h. Logs. */
int outlet_otlp__new(const struct config *config, const char *host, uint64_t host_id,
		     struct outlet_otlp **ret);
/* What was not sent yet is dropped. */
void outlet_otlp__free(struct outlet_otlp *otlp);

/* A step; takes a reference to its pages. Unix time: when its totals began. Never waits. */
void outlet_otlp__step(struct outlet_otlp *otlp, struct pages *pages, uint64_t start_ns);

struct outlet_otlp_status {
	uint64_t rejected; /* points */
	struct totals_push pushes[COURIER_RESULTS];
	char problem[256]; /* "": none */
};
void outlet_otlp__status(struct outlet_otlp *otlp, struct outlet_otlp_status *ret);
