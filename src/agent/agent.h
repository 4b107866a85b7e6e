/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent: all threads of the machine, all the time. Every few seconds it reads the accounts and
 * folds them into a step; a minute is the sum of its steps. Outlets take both.
 *
 * It logs. One thread, besides those of the outlets.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>

#include "agent/config.h"
#include "core/features.h"
#include "core/signal.h"

struct agent;

/* Set by signal handlers. */
struct agent_signals {
	volatile sig_atomic_t stop;
	volatile sig_atomic_t reload; /* read the configuration again */
};

/*
 * The privileged part: loads, attaches and opens the accounts. The configuration stays the
 * caller's. `signals` are those of level signals; the list ends with NULL.
 */
int agent__attach(const struct config *config, const struct signal *const *signals,
		  struct features *features, struct agent **ret);
/* The ledger whose stacks code_server.h serves; NULL: the agent has no stacks. */
struct ledger *agent__stacks(const struct agent *agent);
/* In the worker, before agent__begin(), if it has stacks: where to ask. `fd` becomes the agent's.
 */
int agent__connect(struct agent *agent, int fd);
void agent__free(struct agent *agent);

/*
 * The rest, which needs no privileges: opens the outlets. `is_again`: an earlier process has read
 * the accounts already, so time counts from now on.
 */
int agent__begin(struct agent *agent, bool is_again);

/*
 * In the supervisor, while a worker runs: times the hooks now and then. Returns the milliseconds
 * until it has to be called again; -1: never. Pause it before another worker is forked.
 */
int agent__tend(struct agent *agent);
void agent__pause(struct agent *agent);

/*
 * Runs until signals->stop, or signals->reload, is set, and hands over the minute so far. -errno:
 * cannot go on.
 */
int agent__run(struct agent *agent, const struct agent_signals *signals);
/* Uses another configuration from now on. On failure, the agent cannot go on. */
int agent__use(struct agent *agent, const struct config *config);
