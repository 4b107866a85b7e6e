/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gives up privileges before untrusted bytes are parsed (law 11): all capabilities, all system
 * calls that the role does not need, and, where the kernel has Landlock, all files. The user id
 * stays.
 *
 * A system call outside the role ends the process with SIGSYS. Opening or changing files by path
 * fails with EACCES instead, because libraries try that and continue without: descriptors come from
 * a process that keeps its privileges (split.h, base/helper.h). With a network, the C library loads
 * plug-ins to look up names, and nobody knows what those call. There, an unexpected call fails with
 * ENOSYS; only calls that no plug-in has a use for (execve(), ptrace(), mount()) end the process.
 *
 * Nothing here logs.
 */
#pragma once

#include <stdbool.h>

enum guard_role {
	/* Parses recordings: writes to descriptors that it has. */
	GUARD_READER,
	/* Parses ELF files, DWARF and perf maps: like READER, and no terminal. */
	GUARD_PARSER,
	/* Runs on after BPF programs were attached: maps, rings, iterators, files, threads. */
	GUARD_WORKER,
	/*
	 * Downloads files, and parses none of them: connections by IP, threads, a directory to
	 * write to. It cannot connect to services of this machine that have UNIX sockets.
	 */
	GUARD_FETCHER,
	/*
	 * Opens files for one of the others, and parses nothing. Keeps the capabilities to read
	 * files and /proc of all users; without Landlock, which would hide other processes.
	 */
	GUARD_OPENER,
};

struct guard_options {
	bool network;  /* WORKER only: sockets */
	bool children; /* WORKER only: may start helpers (base/helper.h), which may call this again
			*/
	/* The only directory to write below, if the kernel has Landlock; NULL: none. */
	const char *writable;
	/* FETCHER: files and directories to read with Landlock; ends with NULL. */
	const char *const *readable;
};

/*
 * `options` may be NULL. Capabilities and Landlock apply only to the calling thread, and to threads
 * and processes that it creates later; call it before there are other threads. The filter applies
 * to all threads. 0 or -errno; after an error, some privileges may be gone.
 */
int guard__drop(enum guard_role role, const struct guard_options *options);
