/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rejected: another user id. A recording belongs to its owner and is readable only for him, and an
 * unprivileged caller has no other id. Rejected: a mount and a network namespace of its own.
 * Creating them needs privileges or user namespaces, which many systems forbid; Landlock and the
 * filter need neither.
 */
#include "guard/guard.h"

#include <errno.h>
#include <sys/prctl.h>

#include "guard/caps.h"
#include "guard/filter.h"
#include "guard/landlock.h"
#include "guard/sanitized.h"

int guard__drop(enum guard_role role, const struct guard_options *options)
{
	struct guard_options none = {};
	struct landlock_wish wish;
	int err;

	options = options ? options : &none;
	wish = (struct landlock_wish) { .read = SANITIZED || role == GUARD_WORKER,
					.readable = options->readable,
					.writable = options->writable,
					.network = options->network || role == GUARD_FETCHER };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	err = role == GUARD_OPENER ? caps__keep_reading() : caps__drop();
	/* Landlock also forbids access to other processes, and so /proc/PID/root and map_files. */
	if (!err && role != GUARD_OPENER)
		err = landlock__restrict(&wish);
	return err ? err : filter__install(role, options);
}
