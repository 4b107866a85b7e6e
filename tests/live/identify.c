/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * identify [-r ROOT] [-k URL] PID…: prints the workloads of processes, one line each, for
 * tests/containers. ROOT is the mount point of a hierarchy of cgroups, URL that of a kubelet. This
 * program takes the id of a cgroup from its folder, as the kernel half takes it from the kernel.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/sys.h"
#include "identity/identity.h"

static bool is_v2(const char *root)
{
	char file[PATH_MAX];

	return (size_t)snprintf(file, sizeof(file), "%s/cgroup.controllers", root) < sizeof(file) &&
	       sys__exists(file);
}

/* The path of the process's cgroup in the hierarchy, from /proc/PID/cgroup. */
static bool read_path(const char *pid, const char *root, char ret[PATH_MAX])
{
	char name[64], line[PATH_MAX];
	cleanup(fclose_p) FILE *file = NULL;

	snprintf(name, sizeof(name), "/proc/%s/cgroup", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		const char *path = strstr(line, is_v2(root) ? "0::" : ":memory:");

		line[strcspn(line, "\n")] = '\0';
		if (!path || (is_v2(root) && path != line))
			continue;
		snprintf(ret, PATH_MAX, "%s", strchr(path + 2, '/'));
		return true;
	}
	return false;
}

static int find(struct identity *identity, const char *pid, const char *root, struct workload **ret)
{
	char comm[64], name[64], path[PATH_MAX], folder[2 * PATH_MAX];
	struct identity_process process = { .pid = atoi(pid), .name = comm };
	struct stat info;

	snprintf(name, sizeof(name), "/proc/%s/comm", pid);
	if (sys__read_line(name, comm, sizeof(comm)) || !read_path(pid, root, path))
		return -1;
	snprintf(folder, sizeof(folder), "%s%s", root, path);
	if (stat(folder, &info))
		return -1;
	process.cgroup_id = info.st_ino;
	if (identity__find(identity, &process, clock__now_ns(), ret))
		return -1;
	/* What identity says must be what the kernel says. */
	if (strcmp((*ret)->cgroup, path) != 0)
		fprintf(stderr, "identify: '%s' instead of '%s'\n", (*ret)->cgroup, path);
	return 0;
}

static void await_names(struct identity *identity)
{
	struct identity_quality quality;

	for (int i = 0; i < 100; i++) {
		usleep(100000);
		identity__update(identity, clock__now_ns());
		identity__quality(identity, &quality);
		if (!quality.without_names)
			return;
	}
	fprintf(stderr, "identify: no names: %s\n", quality.kubelet_error);
}

static int identify(struct identity *identity, const char *root, char **pids, bool has_kubelet)
{
	struct workload *workload = NULL;

	for (char **pid = pids; *pid; pid++)
		if (find(identity, *pid, root, &workload)) {
			fprintf(stderr, "identify: no process '%s'\n", *pid);
			return 1;
		}
	if (has_kubelet)
		await_names(identity);
	for (char **pid = pids; *pid; pid++) {
		if (find(identity, *pid, root, &workload))
			return 1;
		printf("service=%s version=%s namespace=%s pod=%s container=%s container_id=%s "
		       "unit=%s\n",
		       workload->service, workload->version, workload->namespace_name,
		       workload->pod, workload->container, workload->container_id, workload->unit);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct kubelet_settings kubelet = { .every_ns = 200000000 };
	struct identity_settings settings = { .tenant = "test" };
	struct identity *identity = NULL;
	char root[PATH_MAX];
	int option, status;

	if (cgroup_names__root(root))
		return 1;
	while ((option = getopt(argc, argv, "r:k:")) != -1) {
		if (option == 'r')
			snprintf(root, sizeof(root), "%s", optarg);
		else if (option == 'k')
			kubelet.url = optarg;
		else
			return 2;
	}
	settings.cgroup_root = root;
	settings.kubelet = kubelet.url ? &kubelet : NULL;
	if (identity__new(&settings, &identity))
		return 1;
	status = identify(identity, root, argv + optind, kubelet.url);
	identity__free(identity);
	return status;
}
