/* The thread that compiles modules and puts their rows into the tables, one after the other. */
#pragma once

#include <stdint.h>

#include "stacks/modules.h"
#include "stacks/quality.h"

struct compiler;

int compiler__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		  struct compiler **ret);
/* Ends the thread, after the module that it is at. */
void compiler__stop(struct compiler *compiler);
void compiler__free(struct compiler *compiler);

/* The module's rows are wanted. Does not wait. From any thread. */
/* Nothing is asked for that is not there. */
bool compiler__is_done(struct compiler *compiler);
void compiler__ask(struct compiler *compiler, struct module *module);
/* Takes the rows of a module out, some time later. It stays until its is_leaving is false. */
void compiler__leave(struct compiler *compiler, struct module *module);
