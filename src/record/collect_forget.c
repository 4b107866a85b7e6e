/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/collect_internal.h"

int collect__forget(struct collect *collect, uint64_t before_ns, int objects_fd)
{
	int err = names__forget(collect->names, before_ns, objects_fd);

	return err ? err : path_calls__forget(collect->path_calls, before_ns);
}
