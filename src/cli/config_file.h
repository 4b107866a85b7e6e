/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the agent's configuration for a command. */
#pragma once

#include "agent/config.h"

/* All defaults if `path` is NULL. Logs what is wrong. See config__read(). */
int config_file__read(const char *path, struct config *ret);
