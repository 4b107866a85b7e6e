/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/caps.h"

#include <cap-ng.h>
#include <errno.h>
#include <sys/prctl.h>

/*
 * The bounding set can be reduced only with CAP_SETPCAP. Without it the set stays as it is, which
 * grants nothing: no_new_privs keeps execve() from adding capabilities.
 */
int caps__drop(void)
{
	capng_select_t sets = CAPNG_SELECT_CAPS;

	/* Linux before 4.3 has no ambient set: EINVAL. */
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) && errno != EINVAL)
		return -errno;
	if (capng_get_caps_process())
		return -EIO;
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP))
		sets = CAPNG_SELECT_BOTH;
	capng_clear(sets);
	if (capng_apply(sets))
		return -EPERM;
	if (capng_get_caps_process())
		return -EIO;
	return capng_have_capabilities(CAPNG_SELECT_CAPS) == CAPNG_NONE ? 0 : -EPERM;
}
