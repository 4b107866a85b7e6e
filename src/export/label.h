/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of states and threads, the same in all formats. */
#pragma once

#include "model/profile.h"

#define LABEL_SIZE  (3 * TEXTS_MOST)
#define LABEL_SHORT 40

/* "wait.lock" */
const char *label__state(const struct profile_state *state, char ret[LABEL_SIZE]);
/* "wait.lock (unclear)": one cause can belong to several kinds. */
const char *label__kind(const struct profile_state *state, char ret[LABEL_SIZE]);
/* "logger (thread 1004)" */
const char *label__thread(const struct profile_thread *thread, char ret[LABEL_SIZE]);
/*
 * The role of profile_sample.by in a wait: "held by", "held last by" or "woken by"; or "timed out".
 */
const char *label__evidence(const struct profile_sample *sample);
#define LABEL_FIRST "held first by" /* the role of profile_sample.first */
#define LABEL_ENDED "ended"         /* key for how a wait without a waker ended: "timed out" */
/* "web.py:12", where a function of a runtime begins; "" of others and if it is unknown. */
const char *label__place(const struct profile *profile, uint32_t function, char ret[LABEL_SIZE]);
/* What a sample's window is called; NULL: it has none. */
const struct profile_class *label__class(const struct profile *profile,
					 const struct profile_sample *sample);
/* "fast", "middle" or "slow" */
const char *label__band(const struct profile_window *window);
/* The same for a sample with a window; or "after", see profile_sample.is_after. */
const char *label__latency(const struct profile *profile, const struct profile_sample *sample);
/* "GET /orders/17", or what its class is called; "request" if that is unknown. */
const char *label__window(const struct profile *profile, const struct profile_window *window);
/* "request", "request to another server" or "call" */
const char *label__kind_of(const struct profile *profile, const struct profile_window *window);
/* "own: running 40 µs, queued: its thread was asleep 3 µs"; the longest first */
const char *label__parts(const struct profile *profile, const struct profile_window *window,
			 char ret[LABEL_SIZE]);
/* "1.23 s": three significant digits. */
const char *label__time(int64_t ns, char ret[LABEL_SHORT]);
/* "without 1.23 s idle [--idle shows it]"; "" if nothing was left out. */
const char *label__left_out(const struct profile *profile, char ret[LABEL_SIZE]);
