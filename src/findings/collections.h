/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program that spends much of its time on garbage collection. */
#pragma once

#include "findings/say.h"

/*
 * Says how much of the time of the process with most of it garbage collection took, by its pauses;
 * how many there were, who asked for them, and where. False: less than `percent` and at most
 * `below` percent, or not known.
 */
bool collections__put(struct finding *finding, struct analysis *analysis, int percent, int below);
