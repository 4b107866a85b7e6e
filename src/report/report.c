/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/report.h"

#include <errno.h>

#include "base/cleanup.h"
#include "report/print.h"

int report__print(const char *path, const struct report_options *options, FILE *out)
{
	cleanup(model__release) struct model model = {};
	int err = model__load(path, &options->model, &model);

	if (err)
		return err;
	err = options->json ? print__json(&model, options, out) : print__text(&model, options, out);
	return err || fflush(out) || ferror(out) ? -EIO : 0;
}
