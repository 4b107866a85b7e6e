/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that read recordings do so in a process without privileges (guard/split.h). The process
 * that was started keeps its privileges and opens the files for it: the recordings and their
 * journals, and the output. Requests name a file by its number, so no others can be asked for.
 */
#pragma once

#include "cli/output.h"

/*
 * Returns only in the new process, which may from then on read these recordings and write this
 * output (NULL: only standard output), and nothing else. The old process ends with its status. Call
 * it once, after the options were parsed. If it fails, it logs that and ends the program.
 */
void reader__begin(const char *const *paths, size_t count, const struct output *output);

/*
 * Calls `work` in a new process of that kind, which may read this recording, and waits for it. What
 * `work` prints appears; what it changes is lost. Returns what it returned, 0 or -errno; or -errno,
 * and the reason was logged; -EBADMSG: the new process died. Call it while there are no other
 * threads.
 */
int reader__call(const char *path, int (*work)(void *context), void *context);
