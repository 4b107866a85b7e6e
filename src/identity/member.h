/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A workload with what its names depend on. For this room alone. */
#pragma once

#include <stdbool.h>

#include "fold/workload.h"
#include "identity/cgroup_path.h"
#include "identity/service.h"

struct pods;

struct member {
	struct workload workload; /* must be the first */
	uint64_t used_ns;
	bool has_path, is_session;
	bool is_kernel; /* of threads of the kernel */
	bool is_named;  /* a kubelet knew its container */
	char pod_uid[CGROUP_PATH_UID_BYTES];
	char *image_id;
	/* The main process: the first one that was seen, unless it was the engine that starts it.
	 */
	char *process, *build_id;
	int32_t main_pid;
	/* When to ask the kubelet again for a container that it did not know. */
	uint64_t ask_at_ns, ask_pause_ns;
};

/* NULL: out of memory. */
struct member *member__new(uint64_t id, uint64_t cgroup_id);
void member__free(struct member *member);

/* Sets what the path of the cgroup says. -ENOMEM. */
int member__set_path(struct member *member, const char *path);

/* Whether no main process is known yet: none was seen, or only the engine that starts it. */
bool member__is_provisional(const struct member *member);

/*
 * Notes a process of it. Returns 1 if it is now the main process, or if its name or build-id
 * changed; otherwise 0, or -ENOMEM.
 */
int member__see(struct member *member, int32_t pid, const char *name, const char *build_id);

/*
 * Sets all names. `pods` is the last answer of a kubelet; NULL: none yet. `has_kubelet`: there is
 * one to ask. Returns 1 if a name changed, otherwise 0, or -ENOMEM.
 */
int member__name(struct member *member, const struct service_rules *rules, const struct pods *pods,
		 bool has_kubelet);
