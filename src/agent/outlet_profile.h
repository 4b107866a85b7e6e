/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a minute, for the store: stacks and modules go there once a day. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "store/sink.h"

/* What was sent on a day. All zeroes: nothing. */
struct outlet_profile {
	uint64_t day; /* since 1970 */
	struct map stacks, modules;
};

void outlet_profile__release(struct outlet_profile *sent);

/* As sink__push(). The profile may be NULL. */
int outlet_profile__push(struct outlet_profile *sent, struct sink *sink,
			 const struct fact_context *context, const struct fact_profile *profile);
