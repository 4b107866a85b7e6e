/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/caps.h"

#include <cap-ng.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

/*
 * map_files needs CAP_CHECKPOINT_RESTORE (CAP_SYS_ADMIN if the process is in another user
 * namespace), kallsyms CAP_SYSLOG.
 */
static const unsigned reading[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_SYS_ADMIN,
				    CAP_CHECKPOINT_RESTORE, CAP_SYSLOG };

static int clear_ambient(void)
{
	/* Linux before 4.3 has no ambient set: EINVAL. */
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL ? -errno
											   : 0;
}

int caps__keep_reading(void)
{
	bool had[sizeof(reading) / sizeof(*reading)];
	int err = clear_ambient();

	if (err || capng_get_caps_process())
		return err ? err : -EIO;
	for (size_t i = 0; i < sizeof(reading) / sizeof(*reading); i++)
		had[i] = capng_have_capability(CAPNG_EFFECTIVE, reading[i]);
	capng_clear(CAPNG_SELECT_CAPS);
	for (size_t i = 0; i < sizeof(reading) / sizeof(*reading); i++)
		if (had[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, reading[i]);
	return capng_apply(CAPNG_SELECT_CAPS) ? -EPERM : 0;
}

/*
 * The bounding set can be reduced only with CAP_SETPCAP. Without it the set stays as it is, which
 * grants nothing: no_new_privs keeps execve() from adding capabilities.
 */
int caps__drop(void)
{
	capng_select_t sets = CAPNG_SELECT_CAPS;

	int err = clear_ambient();

	if (err || capng_get_caps_process())
		return err ? err : -EIO;
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		sets = CAPNG_SELECT_BOTH;
	capng_clear(sets);
	if (capng_apply(sets))
		return -EPERM;
	if (capng_get_caps_process())
		return -EIO;
	return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE ? 0 : -EPERM;
}
