/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless fleet symbolize. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/fleet.h"
#include "fleet/symbolizer.h"

#define MOST_PARTS 1000

/* "2/3": the second of three. */
static int parse_share(const char *text, struct symbolizer_options *ret)
{
	const char *slash = text ? strchr(text, '/') : NULL;
	char first[16];
	uint64_t part;

	ret->parts = 1;
	if (!text)
		return 0;
	snprintf(first, sizeof(first), "%.*s", slash ? (int)(slash - text) : 0, text);
	if (!slash || parse__number(slash + 1, 1, MOST_PARTS, &ret->parts) ||
	    parse__number(first, 1, ret->parts, &part)) {
		log_error("--share takes I/N, like 1/3, not '%s'", text);
		return -EINVAL;
	}
	ret->part = part - 1;
	return 0;
}

static void say_absent(const char *path, const char *build_id)
{
	log_info("no file for '%s', build-id %s", words__clean(path, 80).text,
		 *build_id ? words__clean(build_id, 40).text : "none");
}

int fleet__symbolize(struct connection *connection, const struct fleet_options *options)
{
	struct symbolizer_options how = { .directories = options->directories,
					  .now_s = (uint64_t)time(NULL) };
	struct symbolizer_result result = {};
	int err = parse_share(options->share, &how);

	if (err)
		return CLI_EXIT_USAGE;
	err = symbolizer__run(connection, &how, say_absent, &result);
	if (err) {
		log_error("%s", *connection__problem(connection) ? connection__problem(connection)
								 : strerror(-err));
		return EXIT_FAILURE;
	}
	printf("named %s of %s in %s", words__number((int64_t)result.named).text,
	       words__count((int64_t)result.places, "places").text,
	       words__count((int64_t)result.modules, "modules").text);
	if (result.absent)
		printf("; no file for %s, tried again in a day",
		       words__count((int64_t)result.absent, "modules").text);
	if (result.failed)
		printf("; whether there is a file for %s is not known, because a server or a disk "
		       "did not answer: tried again in half an hour",
		       words__count((int64_t)result.failed, "modules").text);
	if (result.kernel_modules)
		printf("; no names for the code of %s",
		       words__count((int64_t)result.kernel_modules, "kernel modules").text);
	if (result.refused)
		printf("; %s could not be read",
		       words__count((int64_t)result.refused, "files").text);
	if (result.downloads_ended)
		printf("; %s ended early",
		       words__count((int64_t)result.downloads_ended, "downloads").text);
	puts(result.is_cut ? "; there are more: run it again" : "");
	return 0;
}
