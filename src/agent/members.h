/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is who, as the configuration says. Both log what is wrong, and return 0 or -errno. */
#pragma once

#include "agent/config.h"
#include "identity/identity.h"

int members__rules(const struct config *config, struct service_rules **ret);
/* `host`: "" is that of the machine. The rules must outlive *ret. */
int members__identity(const struct config *config, const char *host,
		      const struct service_rules *rules, struct identity **ret);
