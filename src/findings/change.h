/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stretch of a recording that differs most from what came before it. */
#pragma once

#include <stdbool.h>

#include "model/model.h"

struct change {
	const struct model_group *group; /* the one that changed first */
	const struct model_state *state;
	/* Offsets from the start of the recording: the base, then the stretch that differs. */
	int64_t base_ns, from_ns, to_ns;
	bool lasts;           /* to the end of the recording, or of the cut */
	double before, after; /* shares of the group's time */
	char text[1024];      /* "From 14:20:35 (30.0 s) on, threads worker-* …" */
	char command[512];    /* "gapless diff run.gapless --base 0s-30s --new 30s-40s" */
};

/*
 * False if nothing changed clearly, or if the model has no history (model_options.history, and a
 * recording of at least 10 s).
 */
bool change__find(const struct model *model, struct change *ret);
