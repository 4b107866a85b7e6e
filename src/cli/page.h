/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page of `gapless report --html` and `gapless diff --html`. */
#pragma once

#include "cli/output.h"
#include "report/report.h"

/* Writes the page of the recording `path`. Logs errors and the result. Returns the exit status. */
int page__write(const char *path, const struct model_options *options, json_t *diff,
		const struct output *output);
