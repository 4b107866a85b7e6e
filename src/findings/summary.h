/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is left to say after the findings. */
#pragma once

#include "findings/answers.h"
#include "findings/findings.h"

/* Adds up waiting time by verdict, and counts threads that waited for work. */
void summary__count(struct analysis *analysis, struct findings *ret);
/* "231 threads of 9 programs waited for work; 1.10 s of waiting could not be told …" */
void summary__put_last(const struct findings *findings, char *text, size_t size);
/* "Nothing was held up …", or why that cannot be said. */
void summary__put_nothing(const struct analysis *analysis, const struct findings *findings,
			  char *text, size_t size);
