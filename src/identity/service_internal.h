/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What applies if no rule of the configuration does. */
#pragma once

#include "identity/service.h"

#define SERVICE_LABEL_NAME    "app.kubernetes.io/name"
#define SERVICE_LABEL_VERSION "app.kubernetes.io/version"
#define SERVICE_LABEL_HASH    "pod-template-hash"

void service_default__name(const struct service_facts *facts, char ret[SERVICE_TEXT_BYTES]);
void service_default__version(const struct service_facts *facts, char ret[SERVICE_TEXT_BYTES]);
