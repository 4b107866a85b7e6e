/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A receiver of OTLP as an outlet: gives it the figures of the page of metrics. */
#pragma once

#include "agent/config.h"
#include "metrics/totals.h"
#include "otlp/metrics_load.h"

struct outlet_otlp;

/* *ret is NULL if the configuration names no receiver. `host`: see outlets.h. Logs. */
int outlet_otlp__new(const struct config *config, const char *host, uint64_t host_id,
		     struct outlet_otlp **ret);
/* What was not sent yet is dropped. */
void outlet_otlp__free(struct outlet_otlp *otlp);

/*
 * A step; takes a reference to its pages. Unix time: when its totals began. Never waits. -ENOMEM.
 */
int outlet_otlp__step(struct outlet_otlp *otlp, struct pages *pages, uint64_t start_ns);

#define OUTLET_OTLP_PUSHES COURIER_OLD /* a step is neither old nor large */

struct outlet_otlp_status {
	uint64_t rejected; /* points */
	struct totals_push pushes[OUTLET_OTLP_PUSHES];
	char problem[256]; /* "": none */
};
void outlet_otlp__status(struct outlet_otlp *otlp, struct outlet_otlp_status *ret);

/* --- for profiles, which go to the same receiver --- */

#define OUTLET_OTLP_ATTRIBUTES 5

/* The resource: the first attribute is the name of the service, the others are of the host. */
struct outlet_otlp_resource {
	/* A receiver refuses all points if one text is not UTF-8. */
	char host[EXPOSITION_LABEL_BYTES], cluster[EXPOSITION_LABEL_BYTES], id[32];
	struct encoding_attribute attributes[OUTLET_OTLP_ATTRIBUTES];
};

/* The attributes point into the resource. */
void outlet_otlp__describe(struct outlet_otlp_resource *resource, const struct config *config,
			   const char *host, uint64_t host_id);
struct http_options outlet_otlp__http(const struct config *config);
/* Why pusher__new() failed. */
const char *outlet_otlp__reason(int err);
