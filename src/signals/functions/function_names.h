/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for the callers of functions, within a budget of time. Frees what it holds. */
#pragma once

void function_names__release(void);
