/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pressure (PSI) of the cgroups that recorded processes are in: for how long threads lacked a
 * CPU, memory or I/O. Only the hierarchy of version 2 has it.
 */
#pragma once

#include "recording/recording.h"

struct pressures;

int pressures__new(struct recording *recording, struct pressures **ret);
void pressures__free(struct pressures *pressures);

/* A recorded process is in the cgroup at `path` of version 2. -ENOMEM. */
int pressures__add(struct pressures *pressures, const char *path);
/* At the end: writes by how much the figures of each cgroup have grown since it was added. */
int pressures__finish(struct pressures *pressures);
