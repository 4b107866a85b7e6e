/* The report on a recording: where the time went, who held it up, what that means in words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "model/model.h"

/* All zero: the whole recording as text, as wide as the terminal. */
struct report_options {
	struct model_options model;
	bool json;
	size_t top; /* rows per table; 0: what fits a screen */
	int width;  /* columns; 0: those of `out` */
};

/* Prints the report. Errors of model__load(); -EIO: `out` failed. */
int report__print(const char *path, const struct report_options *options, FILE *out);
