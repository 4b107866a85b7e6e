/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_profiles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/outlet_otlp.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "otlp/profile_load.h"
#include "otlp/pusher.h"

/* A little less than a minute: what was not sent by then makes room for the next profile. */
#define INTERVAL_NS UINT64_C(50000000000)

struct sink {
	const char *name; /* in the label of a metric */
	enum profile_load_format format;
	struct pusher *pusher;
	bool said; /* the problem was logged */
};

struct outlet_profiles {
	struct sink sinks[OUTLET_PROFILES_SINKS];
	size_t count;
	uint64_t host_id;
	uint64_t lost; /* minutes without memory */
	struct outlet_otlp_resource resource;
};

DEFINE_CLEANUP(struct outlet_profiles *, outlet_profiles__free)

static int add_sink(struct outlet_profiles *profiles, const char *name,
		    enum profile_load_format format, const struct http_options *http)
{
	struct sink *sink = &profiles->sinks[profiles->count];
	struct pusher_options options = {
		.http = *http,
		.courier = { .interval_ns = INTERVAL_NS, .spread = profiles->host_id },
	};
	int err;

	profile_load__route(format, &options.courier);
	sink->name = name;
	sink->format = format;
	err = pusher__new(&options, &sink->pusher);
	if (err)
		log_error("profiles cannot be pushed to '%s': %s", http->url,
			  outlet_otlp__reason(err));
	else
		profiles->count++;
	return err;
}

static int add_sinks(struct outlet_profiles *profiles, const struct config *config)
{
	const struct http_options otlp = outlet_otlp__http(config);
	const struct http_options pprof = {
		.url = config->profiles.url,
		.token_file = config__or_null(config->profiles.token_file),
		.ca_file = config__or_null(config->profiles.ca),
		.certificate_file = config__or_null(config->profiles.certificate),
		.key_file = config__or_null(config->profiles.key),
	};
	int err = 0;

	if (*pprof.url)
		err = add_sink(profiles, "pprof", PROFILE_LOAD_PPROF, &pprof);
	if (!err && *otlp.url && config->otlp.profiles)
		err = add_sink(profiles, "otlp_profiles", PROFILE_LOAD_OTLP, &otlp);
	return err;
}

int outlet_profiles__new(const struct config *config, const struct outlets_host *host,
			 struct outlet_profiles **ret)
{
	cleanup(outlet_profiles__free_p) struct outlet_profiles *profiles = NULL;
	int err;

	if (!*config->profiles.url && !(*config->otlp.url && config->otlp.profiles))
		return 0;
	profiles = calloc(1, sizeof(*profiles));
	if (!profiles)
		return -ENOMEM;
	profiles->host_id = host->id;
	outlet_otlp__describe(&profiles->resource, config, host->name, host->id);
	err = add_sinks(profiles, config);
	if (!err)
		*ret = TAKE(profiles);
	return err;
}

void outlet_profiles__free(struct outlet_profiles *profiles)
{
	if (!profiles)
		return;
	for (size_t i = 0; i < profiles->count; i++)
		pusher__free(profiles->sinks[i].pusher);
	free(profiles);
}

static int push(struct outlet_profiles *profiles, const struct sink *sink,
		const struct outlets_view *view)
{
	const struct profile_load_options options = {
		.format = sink->format,
		.context = { .host = profiles->resource.attributes + 1,
			     .host_count = OUTLET_OTLP_ATTRIBUTES - 1,
			     .version = GAPLESS_VERSION },
	};
	const struct fact_host host = { .host_id = profiles->host_id };
	const struct fact_context context = { .host = &host,
					      .bucket_s = view->minutes->begin_s,
					      .find = outlets__workload,
					      .find_context = view->identity };
	struct courier_load *load;
	int err = profile_load__new(&options, view->profile, &context, &load);

	if (err)
		profiles->lost++;
	else
		pusher__offer(sink->pusher, load);
	return err;
}

static void say_problem(struct sink *sink)
{
	struct courier_status status;

	pusher__status(sink->pusher, &status);
	if (status.problem[0] && !sink->said)
		log_warning("profiles are not pushed as %s: %s; profiles that are not taken are "
			    "lost",
			    sink->format == PROFILE_LOAD_PPROF ? "pprof" : "OTLP", status.problem);
	else if (!status.problem[0] && sink->said)
		log_info("profiles are pushed again");
	sink->said = status.problem[0] != '\0';
}

int outlet_profiles__minute(struct outlet_profiles *profiles, const struct outlets_view *view)
{
	int first = 0;

	for (size_t i = 0; i < profiles->count; i++) {
		int err = 0;

		if (view->profile && view->profile->sample_count)
			err = push(profiles, &profiles->sinks[i], view);
		say_problem(&profiles->sinks[i]);
		first = first ? first : err;
	}
	return first;
}

void outlet_profiles__status(struct outlet_profiles *profiles, struct outlet_profiles_status *ret)
{
	*ret = (struct outlet_profiles_status) { .lost = profiles->lost };
	for (size_t i = 0; i < profiles->count; i++) {
		const struct sink *sink = &profiles->sinks[i];
		struct courier_status status;

		pusher__status(sink->pusher, &status);
		ret->lost += status.rejected;
		for (unsigned int k = 0; k < COURIER_RESULTS; k++)
			ret->pushes[ret->push_count++] =
				(struct totals_push) { sink->name, courier__word(k),
						       status.results[k] };
		if (status.problem[0] && !ret->problem[0])
			snprintf(ret->problem, sizeof(ret->problem), "profiles as %s: %.220s",
				 sink->name, status.problem);
	}
}
