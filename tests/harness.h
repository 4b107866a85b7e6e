/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmocka wants these four headers before its own. */
#pragma once

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>
