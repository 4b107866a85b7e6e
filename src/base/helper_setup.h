/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a helper process (helper.h) does right after the fork: closes, unmaps and limits. */
#pragma once

#include "base/helper.h"

/* The descriptor of the socket to the parent. */
#define HELPER_SOCKET 3

/*
 * Makes `socket` the only descriptor besides 0 to 2, which lead to /dev/null, and sets the limits
 * of the work. -errno: the process must not go on.
 */
int helper_setup__run(const struct helper_work *work, int socket);
