/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A step of metrics, as a courier brings it. */
#pragma once

#include "metrics/pages.h"
#include "otlp/courier.h"
#include "otlp/encoding.h"

#define METRICS_LOAD_PATH "/v1/metrics"
#define METRICS_LOAD_TYPE "application/x-protobuf"

/* Takes a reference to the pages. The texts of the context must outlive the load. -ENOMEM. */
int metrics_load__new(struct pages *pages, const struct encoding_context *context,
		      struct courier_load **ret);
