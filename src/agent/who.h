/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is who on this machine, by the configuration. */
#pragma once

#include "agent/config.h"
#include "identity/identity.h"
#include "identity/kubelet.h"

/*
 * Makes an identity by the rules, which must outlive it. `ret_host` is the name of the machine, ""
 * if the configuration has none. On failure, logs the reason and returns -errno; ret_host may have
 * changed then.
 */
int who__open(const struct config *config, char ret_host[KUBELET_URL_BYTES],
	      struct service_rules **ret_rules, struct identity **ret);
