/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* Gives up all capabilities of this thread, for good. 0 or -errno. */
int caps__drop(void);
