/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells the service manager that the agent works (sd_notify(3)). Without one, does nothing. */
#pragma once

/* The agent is ready, or runs again after it has read its configuration. */
void notify__ready(void);
void notify__reloading(void);
void notify__stopping(void);
/* For the watchdog. */
void notify__alive(void);
