/*
 * What a signal's events are about. A signal says it, the recording keeps it, and report, page,
 * findings and top go by it: none of them knows a signal by its name.
 */
#pragma once

enum role {
	ROLE_NONE,        /* nothing that is presented in a special way */
	ROLE_CALLS,       /* all syscalls: a summary of other signals' events */
	ROLE_FILES,       /* operations on files, by path */
	ROLE_DISKS,       /* requests to block devices */
	ROLE_CONNECTIONS, /* connections of several kinds, grouped by service */
	ROLE_PROGRAMS,    /* programs that started and ended */
	ROLE_COUNT,
};

/* "disks"; "" for ROLE_NONE. */
const char *roles__name(enum role role);

/* The role of a signal in a recording. `word` is NULL in recordings of 0.1.0, which had no roles:
 * there the signal's name tells. */
enum role roles__find(const char *word, const char *signal);
