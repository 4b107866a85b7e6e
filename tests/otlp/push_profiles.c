/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * push_profiles pprof|otlp URL: pushes the minute of otlp_minute.h, as the agent does. Prints the
 * result; fails unless it is "ok".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "otlp/profile_load.h"
#include "otlp/pusher.h"
#include "otlp_minute.h"

#define TRIES 1000
#define WAIT  10000 /* microseconds */

static int offer(struct pusher *pusher, enum profile_load_format format)
{
	static const struct encoding_attribute host[] = { { "host.name", "h1" } };
	const struct profile_load_options options = {
		.format = format,
		.context = { .host = host, .host_count = 1, .version = GAPLESS_VERSION },
	};
	const struct fact_context context = minute_context();
	struct courier_load *load;
	int err = profile_load__new(&options, &minute_profile, &context, &load);

	if (!err)
		pusher__offer(pusher, load);
	return err;
}

/* The first result that was counted. */
static const char *wait_for_result(struct pusher *pusher)
{
	for (int i = 0; i < TRIES; i++) {
		struct courier_status status;

		pusher__status(pusher, &status);
		for (unsigned int k = 0; k < COURIER_RESULTS; k++)
			if (status.results[k]) {
				if (*status.problem)
					fprintf(stderr, "%s\n", status.problem);
				return courier__word(k);
			}
		usleep(WAIT);
	}
	return "nothing";
}

int main(int argc, char **argv)
{
	struct pusher_options options = { .courier = { .interval_ns = UINT64_C(50000000000) } };
	enum profile_load_format format;
	struct pusher *pusher = NULL;
	const char *result;
	int err;

	if (argc != 3 || (strcmp(argv[1], "pprof") && strcmp(argv[1], "otlp"))) {
		fprintf(stderr, "usage: %s pprof|otlp URL\n", argv[0]);
		return 2;
	}
	format = strcmp(argv[1], "pprof") ? PROFILE_LOAD_OTLP : PROFILE_LOAD_PPROF;
	profile_load__route(format, &options.courier);
	options.http.url = argv[2];
	err = pusher__new(&options, &pusher);
	if (!err)
		err = offer(pusher, format);
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], strerror(-err));
		return 1;
	}
	result = wait_for_result(pusher);
	pusher__free(pusher);
	printf("%s\n", result);
	return strcmp(result, "ok") ? 1 : 0;
}
