/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long to wait before a process is started again. Every worker is a fork of the same process
 * and has the same addresses, so an attacker who guesses them must not have many tries.
 */
#pragma once

#include <stdint.h>

struct backoff {
	unsigned last_s; /* 0: there was no wait yet */
};

/*
 * After a process that lived for `life_ns`: 1 s, then twice as long each time, at most 60 s; from
 * the beginning again after a life of ten minutes.
 */
unsigned backoff__next_s(struct backoff *backoff, uint64_t life_ns);
