/* How much memory there is for this process. */
#pragma once

#include <stdint.h>

/* What the machine has, or what the tightest cgroup around us leaves of it. In bytes. */
uint64_t memory__limit(void);

/* One part in `share` of it, within bounds. */
uint64_t memory__share(uint64_t share, uint64_t least, uint64_t most);

/* What cgroups leave, UINT64_MAX: no limit; with the files where they are looked for: for tests.
 * `self` is as /proc/self/cgroup. */
uint64_t memory__cgroup_limit(const char *self, const char *mounts);
