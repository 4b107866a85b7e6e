/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the path of a cgroup says: which container, pod and systemd unit it belongs to. */
#pragma once

#include <limits.h>

enum cgroup_path_kind {
	CGROUP_PATH_OTHER,     /* the root, a slice, or a cgroup that somebody made by hand */
	CGROUP_PATH_SESSION,   /* of a user who is logged in: each process is a thing of its own */
	CGROUP_PATH_UNIT,      /* a systemd service or scope */
	CGROUP_PATH_POD,       /* of a Kubernetes pod, but none of its containers */
	CGROUP_PATH_CONTAINER, /* inside a container */
};

#define CGROUP_PATH_UID_BYTES 37

struct cgroup_path {
	enum cgroup_path_kind kind;
	const char *runtime; /* "docker", "containerd", "cri-o", "podman", "lxc", "machine"; "":
				unknown, or no container */
	char container_id[NAME_MAX + 1];   /* 64 hexadecimal digits */
	char container_name[NAME_MAX + 1]; /* of a runtime that has names in paths: lxc, machine */
	char pod_uid[CGROUP_PATH_UID_BYTES]; /* with dashes, as in the API */
	char unit[NAME_MAX + 1];             /* the innermost: inside the container if kind is
						CGROUP_PATH_CONTAINER */
};

/*
 * `path` is the path below the mount point of the hierarchy, as after "::" in /proc/PID/cgroup. Any
 * text is accepted. If containers are nested, as in kind, the innermost one counts.
 */
void cgroup_path__parse(const char *path, struct cgroup_path *ret);
