/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a service over a period as a profile, and how far they are from the account. */
#pragma once

#include "fleet/period.h"
#include "model/profile.h"

#define FLEET_FLAME_MOST_ROWS 20000

struct fleet_flame {
	struct profile *profile;
	/* All samples of the period, idle ones included. */
	uint64_t total_ns, samples;
	double error_ns;   /* standard error of total_ns: see fleet/flame_error.h */
	double drawing_ns; /* the part of it that is due to drawing in the chosen minutes */
	bool has_error;    /* false: `error_ns` is not known, only `drawing_ns` */
	bool is_cut;       /* because there are too many minutes; else they have expired */
	uint64_t minutes;  /* of hosts, with samples; what is left of them */
	/* Of hosts with the service, that were reported; 0: not known. */
	uint64_t minutes_seen;
	uint64_t idle_ns;     /* part of total_ns: waits for work */
	uint64_t left_out_ns; /* in rows beyond FLEET_FLAME_MOST_ROWS */
	uint64_t expired_s;   /* see struct period; of samples or of the account, the longer one */
	uint64_t ledger_ns;   /* exact, of all hosts in the whole period */
	uint64_t unnamed_ns;  /* of stacks with a frame without a name */
};

void fleet_flame__release(struct fleet_flame *flame);
/* -ENODATA: there are no samples. The period is divided by this. */
int fleet_flame__load(struct connection *connection, struct period *period, bool with_idle,
		      uint64_t now_s, struct fleet_flame *ret);
