/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One row for each layout. The rows of Go 1.19 and 1.21 to 1.27 were compared with the DWARF of
 * programs of these versions. That of 1.17, 1.18 and 1.20 is the one of 1.19; go.c also looks
 * whether goroutine 1 has begun in runtime.main, which it has only if the row is right.
 */
#include "runtimes/go.h"

/* clang-format off */
static const struct go_layout layouts[] = {
	{ .first_minor = 17, .last_minor = 20, .g_bytes = 320, .sched_bp = 104, .status = 144, .id = 152,
	  .reason = 176, .created_at = 296, .start = 312, .curg = 192, .sudog_bytes = 88, .waitlink = 64 },
	{ .first_minor = 21, .last_minor = 22, .g_bytes = 304, .sched_bp = 104, .status = 144, .id = 152,
	  .reason = 176, .created_at = 280, .start = 296, .curg = 192, .sudog_bytes = 88, .waitlink = 64 },
	{ .first_minor = 23, .last_minor = 24, .g_bytes = 312, .sched_bp = 104, .status = 152, .id = 160,
	  .reason = 184, .created_at = 288, .start = 304, .curg = 192, .sudog_bytes = 88, .waitlink = 64 },
	{ .first_minor = 25, .last_minor = 25, .g_bytes = 304, .sched_bp = 96, .status = 144, .id = 152,
	  .reason = 176, .created_at = 280, .start = 296, .curg = 184, .sudog_bytes = 88, .waitlink = 64 },
	{ .first_minor = 26, .last_minor = 27, .g_bytes = 312, .sched_bp = 96, .status = 144, .id = 152,
	  .reason = 176, .created_at = 288, .start = 304, .curg = 184, .sudog_bytes = 104, .waitlink = 72 },
};
/* clang-format on */

const struct go_layout *go_layout__find(unsigned minor)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (minor >= layouts[i].first_minor && minor <= layouts[i].last_minor)
			return &layouts[i];
	return NULL;
}
