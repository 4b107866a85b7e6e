/* gapless report --html: the page, into a file. */
#pragma once

#include "report/report.h"

/* Whether `--html run.gapless` would be the end of the recording; logs it. */
bool page__is_recording(const char *path, const char *output);
/* Logs what is wrong and what was done. Returns the exit status. */
int page__write(const char *path, const struct report_options *options, const char *output);
