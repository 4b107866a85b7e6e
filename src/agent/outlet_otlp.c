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

#define ATTRIBUTES 5

struct outlet_otlp {
	struct pusher *pusher;
	/* A receiver refuses all points if one text is not UTF-8. */
	char host[EXPOSITION_LABEL_BYTES], cluster[EXPOSITION_LABEL_BYTES], id[32];
	struct encoding_attribute resource[ATTRIBUTES];
	bool said; /* the problem was logged */
};

DEFINE_CLEANUP(struct outlet_otlp *, outlet_otlp__free)

/* The names are those of OpenTelemetry's semantic conventions. */
static void describe_host(struct outlet_otlp *otlp, const struct config *config, const char *host,
			  uint64_t host_id)
{
	char name[256] = "";
	bool is_node = *config->identity.kubelet;

	if (gethostname(name, sizeof(name) - 1))
		name[0] = '\0';
	exposition__clean(*host ? host : name, otlp->host);
	exposition__clean(config->cluster, otlp->cluster);
	snprintf(otlp->id, sizeof(otlp->id), "%016" PRIx64, host_id);
	otlp->resource[0] = (struct encoding_attribute) { "service.name", "gapless" };
	otlp->resource[1] = (struct encoding_attribute) { "host.name", otlp->host };
	otlp->resource[2] = (struct encoding_attribute) { "host.id", otlp->id };
	otlp->resource[3] =
		(struct encoding_attribute) { "k8s.node.name", is_node ? otlp->host : "" };
	otlp->resource[4] = (struct encoding_attribute) { "k8s.cluster.name", otlp->cluster };
}

static int open_pusher(struct outlet_otlp *otlp, const struct config *config, uint64_t host_id)
{
	const struct pusher_options options = {
		.http = { .url = config->otlp.url,
			  .token_file = config__or_null(config->otlp.token_file),
			  .ca_file = config__or_null(config->otlp.ca),
			  .certificate_file = config__or_null(config->otlp.certificate),
			  .key_file = config__or_null(config->otlp.key) },
		.courier = { .interval_ns = config->otlp.interval_ns,
			     .spread = host_id,
			     .encoding = { .resource = otlp->resource,
					   .resource_count = ATTRIBUTES,
					   .version = GAPLESS_VERSION } },
	};
	int err = pusher__new(&options, &otlp->pusher);

	if (err)
		log_error("metrics cannot be pushed to '%s': %s", config->otlp.url,
			  err == -EINVAL  ? "the URL is not valid"
			  : err == -EPERM ? "the token must not leave the machine unencrypted "
					    "[use https]"
					  : strerror(-err));
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
	describe_host(otlp, config, host, host_id);
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

void outlet_otlp__step(struct outlet_otlp *otlp, struct pages *pages, uint64_t start_ns)
{
	struct courier_status status;

	pusher__offer(otlp->pusher, pages, start_ns, clock__read_ns(CLOCK_REALTIME));
	pusher__status(otlp->pusher, &status);
	if (status.problem[0] && !otlp->said)
		log_warning("metrics are not pushed: %s; they are pushed again with the next step",
			    status.problem);
	else if (!status.problem[0] && otlp->said)
		log_info("metrics are pushed again");
	otlp->said = status.problem[0] != '\0';
}

void outlet_otlp__status(struct outlet_otlp *otlp, struct outlet_otlp_status *ret)
{
	struct courier_status status;

	pusher__status(otlp->pusher, &status);
	ret->rejected = status.rejected;
	for (unsigned int i = 0; i < COURIER_RESULTS; i++)
		ret->pushes[i] =
			(struct totals_push) { "otlp", courier__word(i), status.results[i] };
	ret->problem[0] = '\0';
	if (status.problem[0])
		snprintf(ret->problem, sizeof(ret->problem), "OTLP: %.248s", status.problem);
}
