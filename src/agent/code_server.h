/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The privileged half of stacks, in the supervisor: the mapper (stacks/mapper.h), the clocks, and
 * the answers to the worker's questions (code_wire.h).
 *
 * The mapper runs only while the worker samples. No worker is forked meanwhile, so that it has no
 * descriptors of other programs' files. One thread only.
 */
#pragma once

#include "agent/code_wire.h"
#include "ledger/reader/attach.h"

struct code_server;

/* The ledger must have been opened with stacks, paused, and must outlive the server. */
int code_server__new(struct ledger *ledger, struct code_server **ret);
void code_server__free(struct code_server *server);

/* Before the fork. *ret_fd belongs to the worker; the supervisor must close its copy. */
int code_server__connect(struct code_server *server, int *ret_fd);
/* In the worker: closes the supervisor's end. */
void code_server__disconnect(struct code_server *server);
/*
 * The worker has ended. Ends sampling, and forgets everything. -EBUSY: the mapper cannot be ended
 * now, because a process does not let its mappings be read.
 */
int code_server__end(struct code_server *server);

/* Readable if there is a question; -1: no worker is connected. */
int code_server__fd(const struct code_server *server);
/* Answers the questions that are there. After -EPIPE, the worker has closed its end. */
int code_server__serve(struct code_server *server);
