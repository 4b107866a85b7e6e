/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time of a service by version or by host. */
#pragma once

#include "fleet/period.h"
#include "vocabulary/states.h"

enum groups_by { GROUPS_NONE, GROUPS_VERSION, GROUPS_HOST };

struct groups_row {
	char *name;
	uint64_t id; /* of a host */
	uint64_t ns;
	uint64_t kind_ns[KIND_COUNT];
	char *cause; /* the largest that held it up: "wait.disk"; "": none */
	uint64_t cause_ns;
};

#define GROUPS_MOST 1000

struct groups {
	enum groups_by by;
	struct groups_row *rows; /* those that were held up most come first */
	size_t count;
	uint64_t since_s; /* sums by host are kept for 35 days: there are none before; 0: all */
};

void groups__release(struct groups *groups);
int groups__load(struct connection *connection, const struct period *period, enum groups_by by,
		 uint64_t now_s, struct groups *ret);
