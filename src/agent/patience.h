/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small part of the time for waiting: 0.5 %, saved up for at most 50 ms. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct patience {
	uint64_t left_ns;
	uint64_t saved_ns; /* when that was computed */
};

struct patience patience__full(void);
/* Waits until there is something to read. false: there was no patience left to wait. */
bool patience__wait(struct patience *patience, int fd);
