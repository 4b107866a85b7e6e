/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a signal's events are about. Each signal declares its role, and the recording stores it.
 * Report, page, findings and top use the role; none of them depends on a signal's name.
 */
#pragma once

enum role {
	ROLE_NONE,        /* no special presentation */
	ROLE_CALLS,       /* all syscalls: a summary of other signals' events */
	ROLE_FILES,       /* operations on files, by path */
	ROLE_DISKS,       /* requests to block devices */
	ROLE_CONNECTIONS, /* connections of several kinds, grouped by service */
	ROLE_PROGRAMS,    /* programs that started and ended */
	ROLE_INTERRUPTS,  /* interrupts, by CPU */
	ROLE_MEMORY,      /* page faults, and the search for free memory */
	ROLE_LOCKS,       /* waits for locks, which are objects of the ledger's waits too */
	ROLE_CPUS,        /* slices of CPU time */
	ROLE_HEAP,        /* allocations, estimated from windows of time */
	ROLE_COUNTERS,    /* counters of CPUs: cycles, instructions */
	ROLE_RUNTIMES,    /* pauses of language runtimes */
	ROLE_REQUESTED,   /* what options of the recording named */
	ROLE_COUNT,
};

/* "disks"; "" for ROLE_NONE. */
const char *roles__name(enum role role);

/*
 * The role of a signal in a recording. `word` is NULL in recordings of 0.1.0, which had no roles;
 * then the signal's name determines it.
 */
enum role roles__find(const char *word, const char *signal);
