/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as one self-contained HTML file, which any browser opens without a network. */
#pragma once

#include <stdio.h>

#include "model/model.h"

/* Whether this program was built with the page (-Dui). */
bool html__is_built(void);
/*
 * Writes the page. `diff` is the result of a comparison; it may be NULL and stays the caller's.
 * Returns an error of model__load(); -EIO: writing to `out` failed; -ENOTSUP: built without the
 * page.
 */
int html__write(const char *path, const struct model_options *options, json_t *diff, FILE *out);
/* Writes only the page's data, a JSON document. For tests. */
int html__write_data(const char *path, const struct model_options *options, json_t *diff,
		     FILE *out);
