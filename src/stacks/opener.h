/*
 * Opens files that processes have mapped, in a helper: even to open a file takes for ever if its
 * file system does not answer.
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
/* What is being opened is given up. From any thread. */
void opener__stop(struct opener *opener);
void opener__free(struct opener *opener);

/* A descriptor, which is the caller's; -ENOEXEC: no program or library; -ETIMEDOUT: the file system
 * does not answer, or it took too much CPU time; -EMFILE: no room for one more; or another error.
 */
int opener__open(struct opener *opener, const struct module_place *place, struct opened *ret);
