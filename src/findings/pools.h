/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queues between groups of threads: who waits for whom, and who sets the pace. Only if the
 * recording has a signal of ROLE_LOCKS, which is about waits like these.
 */
#pragma once

#include "findings/analysis.h"
#include "findings/findings.h"

/* Returns 1 if it made a sentence, otherwise 0. */
size_t pools__put(struct finding *finding, struct analysis *analysis);
