/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/config_file.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"

int config_file__read(const char *path, struct config *ret)
{
	struct config_error error = {};
	int err = path ? config__read(path, ret, &error) : config__defaults(ret);

	if (err == -EINVAL && error.line)
		log_error("%s:%u: %s", path, error.line, error.message);
	else if (err == -EINVAL)
		log_error("%s: %s", path, error.message);
	else if (err)
		log_error("the configuration '%s' cannot be read: %s", path ? path : "",
			  strerror(-err));
	return err;
}
