/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What every live test needs: running gapless as a user would, and reading what it says. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct output {
	int status; /* exit status, or 128 + signal */
	char *out;
	char *err;
};

/* In an emulated machine counts, sums, orders and culprits hold; times do not. */
bool is_emulated(void);
/*
 * A test of what is the same on every kernel, for a list of tests: skipped in an emulated machine,
 * where every recording takes seconds.
 */
#define HERE(f) { #f, live__here(f), NULL, NULL, NULL }
/* The same, with what is called after it, however it ended. */
#define HERE_THEN(f, after) { #f, live__here(f), NULL, after, NULL }
void (*live__here(void (*test)(void **state)))(void **state);

bool live__has(const char *const *args, const char *arg);
/*
 * Loading all signals takes an emulated machine seconds: a recording there has those that `options`
 * name, else none. Appends that to args and returns their new count.
 */
size_t live__add_signals(const char **args, size_t count, const char *const *options);

/* Called in the child before it executes the program; NULL for nothing. */
typedef void (*live_prepare_fn)(void);

/* Runs `gapless` with these arguments (the last is NULL) to its end; fails the test if it cannot.
 */
struct output live__run(live_prepare_fn prepare, const char *const *args);
void live__release(struct output *output);

#define live__gapless(...) live__run(NULL, (const char *const[]) { __VA_ARGS__, NULL })

/* The output as JSON; fails the test if it is none. The caller owns it. */
json_t *live__json(const struct output *output);

/* The path of the program under test. */
const char *live__program(void);
