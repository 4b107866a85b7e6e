/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A workload: what a fleet adds up by. One service in one cgroup of one host since its boot.
 * Identity fills it in; buckets refer to it by its id.
 */
#pragma once

#include <stdint.h>

/*
 * Strings are never NULL; "" is unknown. They belong to the workload. Names can become known later
 * than the id, so the id does not depend on them.
 */
struct workload {
	uint64_t id; /* never 0: hash of host, boot, cgroup and, outside containers and units, the
			name of the process */
	uint64_t cgroup_id;
	char *service, *version;
	char *namespace_name, *pod, *container, *container_id;
	char *cgroup, *unit, *image;
	uint64_t first_seen_s, last_seen_s; /* Unix time */
	uint32_t changes; /* incremented when a name changes, so that it is sent again */
};
