/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which minutes of this host have stacks. The store's table `budget` says how often, by service;
 * the decision is made here, by hash, so that no host depends on another one or on the store.
 *
 *   standing row  the minute is chosen if the hash of (host, minute) as a fraction is below the
 *                 largest probability among the services of this host. Without a row, and if the
 *                 table could not be read for an hour, the probability is the configured one.
 *   burst         the host is chosen for the whole burst, if the hash of (host, begin of the burst)
 *                 is below its probability. Of several bursts, that with the largest counts.
 *
 * Rows come from a server that may be broken or hostile. Pure. One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BUDGETING_MOST_BURST_S 300  /* a burst ends then, whatever its row says */
#define BUDGETING_KEEP_S       3600 /* without an answer, rows are forgotten */
#define BUDGETING_MOST_ROWS    200  /* of an answer; those with the largest probabilities */

struct budgeting_row {
	char *service;
	double probability;        /* 0 to 1 */
	uint64_t since_s, until_s; /* Unix time; until_s 0: no end */
	bool is_burst;
};

struct budgeting {
	uint64_t host_id;
	double fallback; /* the probability without a row */
	struct budgeting_row *rows;
	size_t count;
	uint64_t read_ns; /* when they were read, monotonic */
};

/* Services of this host: sorted by strcmp(), each once. */
struct budgeting_services {
	const char *const *names;
	size_t count;
};

void budgeting__release(struct budgeting *budgeting);

/*
 * The question for the rows of these services. `user` counts as a tenant too if `tenant` is "",
 * because a server can use it as the default; "": none. The caller frees *ret. -ENOMEM.
 */
int budgeting__ask(const char *database, const char *tenant, const char *user,
		   const struct budgeting_services *services, char **ret);
/*
 * Takes the answer, which replaces all rows. -EBADMSG: it is not one, or a value is out of range;
 * -ENOMEM. The rows stay as they were then.
 */
int budgeting__take(struct budgeting *budgeting, const void *bytes, size_t size, uint64_t now_ns);

/*
 * Whether the minute that begins at minute_s (Unix time) has stacks; the same for the same rows and
 * services, however often it is asked. *ret_probability is the chance that it was chosen: weights
 * of samples are divided by it.
 */
bool budgeting__choose(const struct budgeting *budgeting, const struct budgeting_services *services,
		       uint64_t minute_s, uint64_t now_ns, double *ret_probability);
