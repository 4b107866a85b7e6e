/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent as users run it, in a folder of its own, and what it serves. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "live.h"

/* For a group of tests: makes the folder, and removes it. */
int served__set_up(void **state);
int served__tear_down(void **state);
const char *served__folder(void);

void served__sleep_ms(long ms);

/* Writes a configuration with a step a second and these lines. */
void served__configure(const char *more);
pid_t served__start(void);
pid_t served__start_as(live_prepare_fn prepare);
/*
 * For agents that are started later: a time of day at which a minute lasts `every_s` seconds,
 * because the clock steps by `step_s` then. Minutes only last that long if step_s + every_s is a
 * multiple of 60. 0: the right time again.
 */
void served__step_clock(int step_s, int every_s);
/* Fails the test if the agent fails. */
void served__stop(pid_t pid);
/* The process without privileges that serves. */
pid_t served__worker(pid_t agent);

/* What the agent has logged. */
char *served__log(void);
void served__wait_for_log(const char *words);
/* How often the words are in a text. */
unsigned int served__count(const char *text, const char *words);
/* The value of a series, up to its point; 0 if it is not on the page. */
uint64_t served__number(const char *page, const char *series);

/* The answer with its head; NULL: nobody listens. */
char *served__try_get(const char *path);
/* Waits until an answer contains the words. */
char *served__wait_for(const char *path, const char *words);
