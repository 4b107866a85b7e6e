/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that compiles one module after the other and puts the rows into the tables. */
#pragma once

#include <stdint.h>

#include "stacks/modules.h"
#include "stacks/quality.h"

struct compiler;

int compiler__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		  struct compiler **ret);
/* Ends the thread, after its current module. */
void compiler__stop(struct compiler *compiler);
void compiler__free(struct compiler *compiler);

/* The queue is empty, and no module is being compiled. */
bool compiler__is_done(struct compiler *compiler);
/* Requests the rows of a module. Does not wait. May be called from any thread. */
void compiler__ask(struct compiler *compiler, struct module *module);
/* Removes a module's rows asynchronously. Keep the module until its is_leaving is false. */
void compiler__leave(struct compiler *compiler, struct module *module);
