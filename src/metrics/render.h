/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes an exposition in the formats that Prometheus reads. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/proto.h"
#include "metrics/exposition.h"

/* The text format 0.0.4, or OpenMetrics 1.0. The caller checks the stream for errors. */
void render__text(const struct exposition *exposition, bool is_open_metrics, FILE *out);

/*
 * Messages io.prometheus.client.MetricFamily, each with its length before it. Histograms have
 * classic and native buckets. The caller asks proto__failed().
 */
void render__protobuf(const struct exposition *exposition, struct proto *out);
