/* The report as a page: one file with everything in it, that any browser opens without a network.
 */
#pragma once

#include <stdio.h>

#include "model/model.h"

/* Whether this program was built with the page (-Dui). */
bool html__is_built(void);
/* Writes it, with what a comparison says (`diff`, may be NULL; stays the caller's). Errors of
 * model__load(); -EIO: `out` failed; -ENOTSUP: built without. */
int html__write(const char *path, const struct model_options *options, json_t *diff, FILE *out);
/* Only its data, a JSON document; for tests. */
int html__write_data(const char *path, const struct model_options *options, json_t *diff,
		     FILE *out);
