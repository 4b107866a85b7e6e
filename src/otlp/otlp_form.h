/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples as the message ExportProfilesServiceRequest of opentelemetry-proto 1.11, in which
 * profiles are in development: later versions may not read it.
 *
 * Each service and namespace is a resource with one profile of wall time in nanoseconds. A sample
 * has the attributes state and cause. Frames have no names: a location is an address in a mapping,
 * and a mapping has the file and the build-id.
 *
 * Pure. Any thread.
 */
#pragma once

#include "base/proto.h"
#include "otlp/encoding.h"
#include "otlp/sampled.h"

#define OTLP_FORM_PATH "/v1development/profiles"
#define OTLP_FORM_TYPE "application/x-protobuf"

struct otlp_form_context {
	const struct encoding_attribute *host; /* the host's attributes */
	size_t host_count;
	const char *version; /* of gapless */
};

/* -ENOMEM. `ret_profiles`: how many profiles the request has. */
int otlp_form__encode(const struct sampled *sampled, struct sampled_range range, uint64_t time_ns,
		      const struct otlp_form_context *context, struct proto *ret,
		      size_t *ret_profiles);
