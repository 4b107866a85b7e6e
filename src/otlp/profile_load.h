/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The profiles of a minute, as a courier brings them. Servers refuse profiles that have more than
 * 16,000 samples, more than 4 MB before compression, or an age of more than an hour: larger ones
 * are split, older ones are not sent.
 */
#pragma once

#include "otlp/courier.h"
#include "otlp/otlp_form.h"
#include "otlp/pprof_form.h"

enum profile_load_format {
	PROFILE_LOAD_PPROF, /* one profile for each service, namespace and state */
	PROFILE_LOAD_OTLP,  /* one profile for each service and namespace */
};

struct profile_load_options {
	enum profile_load_format format;
	struct otlp_form_context
		context; /* copied; its texts must stay during profile_load__new() */
	size_t most_samples, most_bytes; /* 0: those of servers */
};

/*
 * Encodes; compression is left to the courier. The profile and the workloads are used only during
 * the call. -ENOMEM.
 */
int profile_load__new(const struct profile_load_options *options,
		      const struct fact_profile *profile, const struct fact_context *context,
		      struct courier_load **ret);
/* The path, the type and the kind of compression of its requests. */
void profile_load__route(enum profile_load_format format, struct courier_options *ret);
