/* The page of `gapless report --html` and `gapless diff --html`. */
#pragma once

#include "cli/output.h"
#include "report/report.h"

/* Of the recording `path`. Logs what is wrong and what was done. Returns the exit status. */
int page__write(const char *path, const struct report_options *options,
		const struct output *output);
