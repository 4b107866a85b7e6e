/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/roles.h"

#include <stddef.h>
#include <string.h>

static const struct {
	const char *name;
	const char *old_signal; /* the signal of 0.1.0 that has this role */
} roles[ROLE_COUNT] = {
	[ROLE_NONE] = { "", "" },
	[ROLE_CALLS] = { "calls", "syscalls" },
	[ROLE_FILES] = { "files", "files" },
	[ROLE_DISKS] = { "disks", "block" },
	[ROLE_CONNECTIONS] = { "connections", "tcp" },
	[ROLE_PROGRAMS] = { "programs", "exec" },
	[ROLE_INTERRUPTS] = { "interrupts", "irq" },
	[ROLE_MEMORY] = { "memory", "memory" },
	[ROLE_LOCKS] = { "locks", "locks" },
	[ROLE_CPUS] = { "cpus", "cpu" },
	[ROLE_HEAP] = { "heap", "heap" },
	[ROLE_COUNTERS] = { "counters", "" },
	[ROLE_RUNTIMES] = { "runtimes", "" },
	[ROLE_REQUESTED] = { "requested", "" },
};

const char *roles__name(enum role role)
{
	return roles[role].name;
}

enum role roles__find(const char *word, const char *signal)
{
	for (int i = 1; i < ROLE_COUNT; i++)
		if (!strcmp(word ? word : signal, word ? roles[i].name : roles[i].old_signal))
			return (enum role)i;
	return ROLE_NONE;
}
