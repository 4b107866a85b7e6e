/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/members.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "identity/kubelet.h"

DEFINE_CLEANUP(struct service_rules *, service_rules__free)

int members__rules(const struct config *config, struct service_rules **ret)
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

int members__identity(const struct config *config, const char *host,
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
