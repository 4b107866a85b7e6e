/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager that the agent works (sd_notify(3)). Without one, does nothing. */
#pragma once

/*
 * Connects to the service manager. Do this before privileges are given up: a process in a Landlock
 * domain that scopes abstract sockets (Linux 6.12) can send to one only if it was connected before.
 */
void notify__open(void);

/* The agent is ready, or runs again after it has read its configuration. */
void notify__ready(void);
void notify__reloading(void);
void notify__stopping(void);
/* For the watchdog. */
void notify__alive(void);
