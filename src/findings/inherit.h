/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits for a lock are judged by what its holder waits for. */
#pragma once

#include "findings/analysis.h"

/*
 * Whoever waits for a lock whose holder waits for work waits for work as well (an accept mutex,
 * leader and followers): such causes become VERDICT_HOME. -ENOMEM.
 */
int inherit__home(struct analysis *analysis);
