/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store as an outlet: gives it the rows of each minute. */
#pragma once

#include "agent/outlets.h"
#include "metrics/totals.h"
#include "store/http.h"

struct outlet_store;

/* How the store is reached; the strings are the configuration's. */
struct http_options outlet_store__http(const struct config *config);

/* *ret is NULL if the configuration names no store. Logs. */
int outlet_store__new(const struct config *config, const struct outlets_host *host,
		      struct outlet_store **ret);
/* What was not sent stays in the spool. */
void outlet_store__free(struct outlet_store *store);
int outlet_store__minute(struct outlet_store *store, const struct outlets_view *view,
			 const struct bucket *minute);
/* Tells of a minute in which no account was read until its end. */
int outlet_store__unseen(struct outlet_store *store, const struct outlets_view *view,
			 const struct minutes_gap *gap);

#define OUTLET_STORE_PUSHES 16

struct outlet_store_status {
	uint64_t spool_bytes, spool_oldest_ns;
	uint64_t dropped; /* batches */
	struct totals_push pushes[OUTLET_STORE_PUSHES];
	size_t push_count;
	char problem[384]; /* "": none; one per line */
};
void outlet_store__status(struct outlet_store *store, struct outlet_store_status *ret);
