/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <stdbool.h>

/* `gapless list usdt PID|FILE`. Prints, logs, and returns the exit status. */
int usdt_list__print(const char *where, bool json);
