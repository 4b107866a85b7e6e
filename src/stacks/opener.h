/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens files that processes have mapped, in a helper process: open() blocks forever if the file
 * system does not respond.
 */
#pragma once

#include <sys/stat.h>

#include "stacks/headers.h"

struct opener;
struct module_place;

struct opened {
	struct stat stat;
	struct headers headers;
};

int opener__new(struct opener **ret);
/* Aborts the opening of a file. May be called from any thread. */
void opener__stop(struct opener *opener);
void opener__free(struct opener *opener);

/*
 * Returns a descriptor, which belongs to the caller. -ENOEXEC: not a program or library;
 * -ETIMEDOUT: the file system does not respond, or it took too much CPU time; -EMFILE: too many
 * open files; or another error.
 */
int opener__open(struct opener *opener, const struct module_place *place, struct opened *ret);
