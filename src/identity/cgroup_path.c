/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path is read from the root to the leaf, one component at a time, and each component can say
 * something: a pod, a container, a unit. A container inside a container starts anew, because what
 * surrounds it is only the place where a node of a cluster runs. Kubelets name pods
 *
 *   kubepods-burstable-podUID.slice   driver systemd; '-' in the UID is '_'
 *   kubepods/burstable/podUID         driver cgroupfs
 *   kubelet-kubepods-podUID.slice     kind
 *
 * and if the drivers of kubelet and containerd differ, a single component has everything:
 * "kubepods-burstable-podUID.slice:cri-containerd:ID".
 *
 * Rejected: one regular expression for each engine, as others do. They fail for nested paths, and
 * each new engine needs one more.
 */
#include "identity/cgroup_path.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/cgroups.h"

#define UID_DIGITS    36
#define STATIC_DIGITS 32 /* a static pod's uid is a hash of its file */

struct walk {
	struct cgroup_path *path;
	bool in_kubepods, in_user_slice;
	const char *before; /* the name of the component before; "" at the root */
	char last[NAME_MAX + 1];
};

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static const char *runtime_of(const char *engine, size_t length)
{
	static const char *const names[][2] = { { "docker", "docker" },
						{ "cri-containerd", "containerd" },
						{ "containerd", "containerd" },
						{ "nerdctl", "containerd" },
						{ "crio", "cri-o" },
						{ "libpod", "podman" },
						{ "libpod_parent", "podman" },
						{ "lxc.payload", "lxc" },
						{ "lxc", "lxc" },
						{ "machine", "machine" },
						{ "systemd-nspawn", "machine" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i][0]) == length && !strncmp(names[i][0], engine, length))
			return names[i][1];
	return "";
}

/* "\x2d" is how systemd writes '-' in a part of a unit's name. */
static void unescape(char *text)
{
	char *to = text;
	unsigned int byte;
	int used;

	while (*text) {
		used = 0;
		if (starts_with(text, "\\x") && isxdigit((unsigned char)text[2]) &&
		    sscanf(text + 2, "%2x%n", &byte, &used) == 1 && used == 2 && byte) {
			*to++ = (char)byte;
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

static void enter_container(struct walk *walk, const char *runtime)
{
	struct cgroup_path *path = walk->path;

	path->kind = CGROUP_PATH_CONTAINER;
	path->runtime = runtime;
	path->container_id[0] = path->container_name[0] = path->unit[0] = '\0';
	walk->in_user_slice = false;
}

static bool take_id(struct walk *walk, const char *name)
{
	struct cgroups_container found;
	const char *engine;

	if (!cgroups__container(name, &found))
		return false;
	engine = found.engine_length ? found.engine : walk->before;
	enter_container(walk, runtime_of(engine, found.engine_length ? found.engine_length
								     : strlen(engine)));
	if (found.has_id) {
		memcpy(walk->path->container_id, found.id, found.id_length);
		walk->path->container_id[found.id_length] = '\0';
	} else {
		memcpy(walk->path->container_name, found.id, found.id_length);
		walk->path->container_name[found.id_length] = '\0';
		unescape(walk->path->container_name);
	}
	return true;
}

/* /lxc/NAME, /lxc.payload/NAME */
static bool take_lxc(struct walk *walk, const char *name)
{
	if (strcmp(walk->before, "lxc") && strcmp(walk->before, "lxc.payload"))
		return false;
	enter_container(walk, "lxc");
	snprintf(walk->path->container_name, sizeof(walk->path->container_name), "%s", name);
	return true;
}

/* The length of the uid at `text`; 0 if there is none. */
static size_t uid_length(const char *text)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	size_t length = 0;

	if (strspn(text, "0123456789abcdef") == STATIC_DIGITS)
		return STATIC_DIGITS;
	for (; length < UID_DIGITS; length++) {
		unsigned char c = (unsigned char)text[length];

		if (form[length] == 'x' ? !isxdigit(c) : c != '-' && c != '_')
			return 0;
	}
	return length;
}

static bool take_pod(struct walk *walk, const char *name)
{
	for (const char *at = strstr(name, "pod"); at; at = strstr(at + 3, "pod")) {
		size_t length = uid_length(at + 3);
		const char *end = at + 3 + length;
		struct cgroup_path *path = walk->path;

		if (!length || (at != name && at[-1] != '-') || !strchr(".:", *end))
			continue;
		enter_container(walk, "");
		path->kind = CGROUP_PATH_POD;
		memcpy(path->pod_uid, at + 3, length);
		path->pod_uid[length] = '\0';
		for (char *c = path->pod_uid; *c; c++)
			if (*c == '_')
				*c = '-';
		return true;
	}
	return false;
}

/* Components that are no container: a unit, or a slice. */
static void take_unit(struct walk *walk, const char *name)
{
	struct cgroup_path *path = walk->path;
	bool is_scope = cgroups__is_unit_of("scope", name), is_session;

	if (!strcmp(name, "user.slice"))
		walk->in_user_slice = true;
	if (!is_scope && !cgroups__is_unit_of("service", name))
		return;
	/* systemd prefixes '_' to names that could be mistaken for control files of the kernel. */
	snprintf(path->unit, sizeof(path->unit), "%s", name + (*name == '_'));
	is_session = walk->in_user_slice && (is_scope || starts_with(name, "user@"));
	if (path->kind < CGROUP_PATH_POD)
		path->kind = is_session ? CGROUP_PATH_SESSION : CGROUP_PATH_UNIT;
}

static void take_component(struct walk *walk, const char *name)
{
	const char *colon;

	if (strstr(name, "kubepods"))
		walk->in_kubepods = true;
	if (walk->in_kubepods && take_pod(walk, name)) {
		colon = strrchr(name, ':');
		if (colon)
			take_id(walk, colon + 1);
		/* "…:cri-containerd:ID": the engine stands before the id. */
		if (colon && strstr(name, ":cri-containerd:"))
			walk->path->runtime = "containerd";
		return;
	}
	if (!take_lxc(walk, name) && !take_id(walk, name))
		take_unit(walk, name);
}

void cgroup_path__parse(const char *path, struct cgroup_path *ret)
{
	struct walk walk = { .path = ret, .before = "" };

	*ret = (struct cgroup_path) { .runtime = "" };
	while (*path) {
		char name[NAME_MAX + 1];
		size_t length = strcspn(path, "/");

		/* No folder can have a longer name. */
		if (length && length < sizeof(name)) {
			memcpy(name, path, length);
			name[length] = '\0';
			take_component(&walk, name);
			memcpy(walk.last, name, length + 1);
			walk.before = walk.last;
		}
		path += length + (path[length] == '/');
	}
}
