/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on a recording: where the time went, who held it up, and the conclusions in words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

/* All zero: the whole recording as text, as wide as the terminal. */
struct report_options {
	struct model_options model;
	bool json;
	bool full;  /* text: everything instead of one screen */
	size_t top; /* rows per table; 0: as many as fit a screen */
	int width;  /* columns; 0: the width of `out` */
};

/* Prints the report. Returns an error of model__load(); -EIO: writing to `out` failed. */
int report__print(const char *path, const struct report_options *options, FILE *out);
