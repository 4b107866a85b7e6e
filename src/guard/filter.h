/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "guard/guard.h"

/* Installs the seccomp filter of a role, for all threads. 0 or -errno. Needs no_new_privs. */
int filter__install(enum guard_role role, const struct guard_options *options);
