/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/report.h"

#include <errno.h>

#include "base/cleanup.h"
#include "report/print.h"

int report__print(const char *path, const struct report_options *options, FILE *out)
{
	cleanup(model__release) struct model model = {};
	struct model_options load = options->model;
	int err;

	load.history = true;
	err = model__load(path, &load, &model);
	if (err)
		return err;
	err = options->json ? print__json(&model, options, out) : print__text(&model, options, out);
	return err || fflush(out) || ferror(out) ? -EIO : 0;
}
