/* The report as a page: one file with everything in it, that any browser opens without a network.
 */
#pragma once

#include "report/report.h"

/* Whether this program was built with the page (-Dui). */
bool html__is_built(void);
/* Writes it. Errors of report__print(); -ENOTSUP: built without. */
int html__write(const char *path, const struct report_options *options, FILE *out);
/* Only its data, a JSON document; for tests. */
int html__write_data(const char *path, const struct report_options *options, FILE *out);
