/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples as pprof, and profiles in pprof's format as a request to Pyroscope: push.v1.PushRequest.
 *
 * Frames have no names: a location is a module and an offset in it, and a mapping has the file and
 * the build-id, by which a server can find names. The outermost frame of each sample is the state
 * and the cause, such as "wait.lock". It is a frame and not a label, because Pyroscope makes a
 * series of each set of labels.
 *
 * Pure. Any thread.
 */
#pragma once

#include "base/proto.h"
#include "otlp/sampled.h"

#define PPROF_FORM_PATH "/push.v1.PusherService/Push"
#define PPROF_FORM_TYPE "application/proto"

/* Rows of one series as a profile that has the time `time_ns`. -ENOMEM. */
int pprof_form__encode(const struct sampled *sampled, struct sampled_range range, uint64_t time_ns,
		       const char *version, struct proto *ret);

struct pprof_form_series {
	const char *service, *namespace_name, *state;
	uint64_t host_id, time_ns; /* make the id of the profile */
	const struct proto *profile;
};

/* Adds a series with a profile, compressed, to a request. -ENOMEM, -EIO. */
int pprof_form__add(const struct pprof_form_series *series, struct proto *request);
