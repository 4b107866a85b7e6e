/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/outlet_otlp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "otlp/pusher.h"

struct outlet_otlp {
	struct pusher *pusher;
	struct outlet_otlp_resource resource;
	bool said; /* the problem was logged */
};

DEFINE_CLEANUP(struct outlet_otlp *, outlet_otlp__free)

/* The names are those of OpenTelemetry's semantic conventions. */
void outlet_otlp__describe(struct outlet_otlp_resource *resource, const struct config *config,
			   const char *host, uint64_t host_id)
{
	struct encoding_attribute *attributes = resource->attributes;
	char name[256] = "";
	bool is_node = *config->identity.kubelet;

	if (gethostname(name, sizeof(name) - 1))
		name[0] = '\0';
	exposition__clean(*host ? host : name, resource->host);
	exposition__clean(config->cluster, resource->cluster);
	snprintf(resource->id, sizeof(resource->id), "%016" PRIx64, host_id);
	attributes[0] = (struct encoding_attribute) { "service.name", "gapless" };
	attributes[1] = (struct encoding_attribute) { "host.name", resource->host };
	attributes[2] = (struct encoding_attribute) { "host.id", resource->id };
	attributes[3] =
		(struct encoding_attribute) { "k8s.node.name", is_node ? resource->host : "" };
	attributes[4] = (struct encoding_attribute) { "k8s.cluster.name", resource->cluster };
}

struct http_options outlet_otlp__http(const struct config *config)
{
	return (struct http_options) { .url = config->otlp.url,
				       .token_file = config__or_null(config->otlp.token_file),
				       .ca_file = config__or_null(config->otlp.ca),
				       .certificate_file =
					       config__or_null(config->otlp.certificate),
				       .key_file = config__or_null(config->otlp.key) };
}

const char *outlet_otlp__reason(int err)
{
	return err == -EINVAL  ? "the URL is not valid"
	       : err == -EPERM ? "the token must not leave the machine unencrypted [use https]"
			       : strerror(-err);
}

static int open_pusher(struct outlet_otlp *otlp, const struct config *config, uint64_t host_id)
{
	const struct pusher_options options = {
		.http = outlet_otlp__http(config),
		.courier = { .path = METRICS_LOAD_PATH,
			     .type = METRICS_LOAD_TYPE,
			     .is_gzip = true,
			     .is_total = true,
			     .interval_ns = config->otlp.interval_ns,
			     .spread = host_id },
	};
	int err = pusher__new(&options, &otlp->pusher);

	if (err)
		log_error("metrics cannot be pushed to '%s': %s", config->otlp.url,
			  outlet_otlp__reason(err));
	return err;
}

int outlet_otlp__new(const struct config *config, const char *host, uint64_t host_id,
		     struct outlet_otlp **ret)
{
	cleanup(outlet_otlp__free_p) struct outlet_otlp *otlp = NULL;
	int err;

	if (!*config->otlp.url)
		return 0;
	otlp = calloc(1, sizeof(*otlp));
	if (!otlp)
		return -ENOMEM;
	outlet_otlp__describe(&otlp->resource, config, host, host_id);
	err = open_pusher(otlp, config, host_id);
	if (!err)
		*ret = TAKE(otlp);
	return err;
}

void outlet_otlp__free(struct outlet_otlp *otlp)
{
	if (!otlp)
		return;
	pusher__free(otlp->pusher);
	free(otlp);
}

int outlet_otlp__step(struct outlet_otlp *otlp, struct pages *pages, uint64_t start_ns)
{
	const struct encoding_context context = { .resource = otlp->resource.attributes,
						  .resource_count = OUTLET_OTLP_ATTRIBUTES,
						  .version = GAPLESS_VERSION,
						  .start_ns = start_ns,
						  .time_ns = clock__read_ns(CLOCK_REALTIME) };
	struct courier_status status;
	struct courier_load *load;
	int err = metrics_load__new(pages, &context, &load);

	if (err)
		return err;
	pusher__offer(otlp->pusher, load);
	pusher__status(otlp->pusher, &status);
	if (status.problem[0] && !otlp->said)
		log_warning("metrics are not pushed: %s; they are pushed again with the next step",
			    status.problem);
	else if (!status.problem[0] && otlp->said)
		log_info("metrics are pushed again");
	otlp->said = status.problem[0] != '\0';
	return 0;
}

void outlet_otlp__status(struct outlet_otlp *otlp, struct outlet_otlp_status *ret)
{
	struct courier_status status;

	pusher__status(otlp->pusher, &status);
	ret->rejected = status.rejected;
	for (unsigned int i = 0; i < OUTLET_OTLP_PUSHES; i++)
		ret->pushes[i] =
			(struct totals_push) { "otlp", courier__word(i), status.results[i] };
	ret->problem[0] = '\0';
	if (status.problem[0])
		snprintf(ret->problem, sizeof(ret->problem), "OTLP: %.248s", status.problem);
}
