/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/who.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"

DEFINE_CLEANUP(struct service_rules *, service_rules__free)

static int make_rules(const struct config *config, struct service_rules **ret)
{
	cleanup(service_rules__free_p) struct service_rules *rules = NULL;
	const struct config_lines *lines = &config->identity.rules;
	char why[SERVICE_ERROR_BYTES];
	int err = service_rules__new(&rules);

	for (size_t i = 0; i < lines->count && !err; i++) {
		err = service_rules__add(rules, lines->text[i], why);
		if (err == -EINVAL)
			log_error("configuration, line %u: %s", lines->line[i], why);
	}
	if (!err)
		*ret = TAKE(rules);
	return err;
}

/* All nodes of a cluster have the same configuration, so the name may refer to the environment. */
static int expand_host(const struct config *config, char ret[KUBELET_URL_BYTES])
{
	int err = kubelet__expand(config->host, ret);

	if (err)
		log_error("the host name '%s' cannot be expanded: %s", config->host,
			  err == -ENOENT ? "a variable is not set" : strerror(-err));
	return err;
}

static int make_identity(const struct config *config, const char *host,
			 const struct service_rules *rules, struct identity **ret)
{
	const struct kubelet_settings kubelet = { .url = config->identity.kubelet,
						  .ca_file = config->identity.kubelet_ca,
						  .token_file =
							  config->identity.kubelet_token_file };
	const struct identity_settings settings = {
		.tenant = config->tenant,
		.host = *host ? host : NULL,
		.most = config->identity.most,
		.most_cgroups = config->identity.most,
		.rules = rules,
		.kubelet = *config->identity.kubelet ? &kubelet : NULL,
	};
	int err = identity__new(&settings, ret);

	if (err)
		log_error("processes cannot be told apart: %s [see 'gapless doctor']",
			  err == -EPERM ? "the kubelet's token must not leave the machine "
					  "unencrypted"
					: strerror(-err));
	return err;
}

int who__open(const struct config *config, char ret_host[KUBELET_URL_BYTES],
	      struct service_rules **ret_rules, struct identity **ret)
{
	cleanup(service_rules__free_p) struct service_rules *rules = NULL;
	int err = make_rules(config, &rules);

	if (!err)
		err = expand_host(config, ret_host);
	if (!err)
		err = make_identity(config, ret_host, rules, ret);
	if (!err)
		*ret_rules = TAKE(rules);
	return err;
}
