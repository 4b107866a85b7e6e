/* The page of `gapless report --html` and `gapless diff --html`. */
#pragma once

#include "cli/output.h"
#include "report/report.h"

/* Of the recording `path`. Logs what is wrong and what was done. Returns the exit status. */
int page__write(const char *path, const struct model_options *options, json_t *diff,
		const struct output *output);
