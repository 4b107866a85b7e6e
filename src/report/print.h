/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two ways to print a model. Both return 0 or -EIO. */
#pragma once

#include "report/report.h"

int print__text(const struct model *model, const struct report_options *options, FILE *out);
int print__json(const struct model *model, const struct report_options *options, FILE *out);
