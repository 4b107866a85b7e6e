/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of one window that was kept: itself, its parts and what it waited for. */
#pragma once

#include "ledger/windows/windows.h"
#include "record/collect.h"
#include "record/request_ids.h"

/* Where rows go, and who knows the names in them. */
struct kept_window_to {
	struct recording *recording;
	struct collect *collect;
};

struct kept_window {
	struct window_record record;
	struct request_ids ids;
};

/* `weight`: how many windows it stands for; 0: it is an example. */
int kept_window__put(const struct kept_window_to *to, enum window_protocol protocol,
		     const struct kept_window *kept, double weight);
/* A window without its details: a sample belongs to it. */
int kept_window__put_bare(struct recording *recording, const struct window *window, uint32_t class);
/* The key of a column of times: "own" for those of the states of threads. */
const char *kept_window__part(size_t column);
