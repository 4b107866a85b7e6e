/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two processes: this one loads and attaches, keeps its privileges, and touches no foreign files
 * and no network; at level stacks it also reads the mappings of processes (code_server.h), while
 * helpers without privileges parse their files. The worker, a child without privileges, reads the
 * accounts and serves and sends them. If the worker dies, the hooks and accounts go on, and a new
 * worker takes over; the time in between is unseen.
 */
#pragma once

#include "agent/config.h"
#include "core/signal.h"

/*
 * Runs until SIGTERM or SIGINT, which it passes on to the worker, as well as SIGHUP. `path`: the
 * configuration, to be read again after SIGHUP; NULL: none. `known`: the signals of level signals;
 * the list ends with NULL. Logs. 0 or -errno.
 */
int supervisor__run(struct config *config, const char *path, const struct signal *const *known);

/* Reads the configuration, or the defaults if `path` is NULL; logs what is wrong. */
int supervisor__read_config(const char *path, struct config *ret);
