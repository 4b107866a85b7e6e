/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a minute, for the store: stacks and modules go there once a day. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/sink.h"

/* What was sent on a day. All zeroes: nothing. */
struct outlet_profile {
	uint64_t day;  /* since 1970 */
	uint64_t lost; /* batches that did not reach the store, of any table, until then */
	struct map stacks, modules;
};

/* Forgets what was sent. */
void outlet_profile__release(struct outlet_profile *sent);
/* Before a minute: forgets what was sent if the day is another one, or if a batch was lost. */
void outlet_profile__begin(struct outlet_profile *sent, uint64_t day, uint64_t lost);

/* As sink__push(). The profile may be NULL. */
int outlet_profile__push(struct outlet_profile *sent, struct sink *sink,
			 const struct fact_context *context, const struct fact_profile *profile);
