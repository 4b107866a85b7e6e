/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Layers kernel and mounts: what exists before any program is loaded. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <zlib.h>

#include "core/sys.h"
#include "doctor/doctor.h"

#define TRACEFS_MAGIC_NUMBER 0x74726163
#define BPFFS_MAGIC_NUMBER   0xcafe4a11

struct option {
	const char *name;
	const char *cost; /* what its absence costs */
	bool found;
};

static gzFile open_config(const char *release, char *path, size_t size)
{
	static const char *const places[] = { "/proc/config.gz", "/boot/config-%s",
					      "/lib/modules/%s/config",
					      "/usr/lib/modules/%s/config" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		gzFile file;
		const char *rest = strstr(places[i], "%s");

		if (rest)
			snprintf(path, size, "%.*s%s%s", (int)(rest - places[i]), places[i],
				 release, rest + 2);
		else
			snprintf(path, size, "%s", places[i]);
		file = gzopen(path, "r");
		if (file)
			return file;
	}
	return NULL;
}

static void read_config(gzFile file, struct option *options, size_t count)
{
	char line[512];

	while (gzgets(file, line, sizeof(line)))
		for (size_t i = 0; i < count; i++) {
			size_t length = strlen(options[i].name);

			if (!strncmp(line, options[i].name, length) &&
			    !strncmp(line + length, "=y", 2))
				options[i].found = true;
		}
}

/* For information only: the other layers test what works. */
static void check_config(struct doctor *doctor, const char *release)
{
	struct option options[] = {
		{ "CONFIG_BPF_SYSCALL", "nothing works", false },
		{ "CONFIG_DEBUG_INFO_BTF", "nothing works", false },
		{ "CONFIG_BPF_EVENTS", "no hooks", false },
		{ "CONFIG_FTRACE_SYSCALLS", "no exact kernel time, no syscall counts", false },
		{ "CONFIG_UPROBE_EVENTS", "no user functions, no USDT", false },
		{ "CONFIG_KPROBE_EVENTS", "no kernel functions by kprobe", false },
		{ "CONFIG_FUNCTION_TRACER", "no kernel functions by fentry", false },
		{ "CONFIG_CGROUP_BPF", "no split by container", false },
	};
	const size_t count = sizeof(options) / sizeof(*options);
	char path[256], missing[256] = "";
	gzFile file = open_config(release, path, sizeof(path));
	size_t used = 0;

	if (!file) {
		doctor__add(doctor, &(struct finding) { .layer = "kernel", .name = "config" },
			    "not readable on this machine; the layers below try each part instead");
		return;
	}
	read_config(file, options, count);
	gzclose(file);
	for (size_t i = 0; i < count; i++)
		if (!options[i].found && used < sizeof(missing))
			used += (size_t)snprintf(missing + used, sizeof(missing) - used,
						 "%s%s (%s)", used ? ", " : "", options[i].name,
						 options[i].cost);
	if (used)
		doctor__add(doctor,
			    &(struct finding) { .layer = "kernel",
						.name = "config",
						.status = DOCTOR_DEGRADED,
						.weight = DOCTOR_ADVICE,
						.cost = "see the hooks below",
						.remedy = "boot a kernel that has them" },
			    "%s has no %s", path, missing);
	else
		doctor__add(doctor, &(struct finding) { .layer = "kernel", .name = "config" },
			    "%s has all that gapless asks for", path);
}

static void check_btf(struct doctor *doctor)
{
	struct stat info;

	if (stat("/sys/kernel/btf/vmlinux", &info))
		doctor__add(doctor,
			    &(struct finding) {
				    .layer = "kernel",
				    .name = "BTF file",
				    .status = DOCTOR_MISSING,
				    .weight = DOCTOR_ESSENTIAL,
				    .cost = "gapless cannot fit its programs to this kernel",
				    .remedy = "boot a kernel built with CONFIG_DEBUG_INFO_BTF=y" },
			    "/sys/kernel/btf/vmlinux is not there");
	else
		doctor__add(doctor, &(struct finding) { .layer = "kernel", .name = "BTF file" },
			    "/sys/kernel/btf/vmlinux, %.1f MB", (double)info.st_size / 1e6);
}

void doctor__check_kernel(struct doctor *doctor)
{
	struct utsname name;

	uname(&name);
	doctor__add(doctor, &(struct finding) { .layer = "kernel", .name = "release" },
		    "%s %s %s, %ld CPUs", name.sysname, name.release, name.machine,
		    sysconf(_SC_NPROCESSORS_ONLN));
	check_config(doctor, name.release);
	check_btf(doctor);
}

static bool is_mounted(const char *path, unsigned long magic)
{
	struct statfs info;

	return !statfs(path, &info) && (unsigned long)info.f_type == magic;
}

static void check_tracefs(struct doctor *doctor)
{
	const struct finding bad = {
		.layer = "mounts",
		.name = "tracefs",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_GAP,
		.cost = "classic tracepoints and older uprobe interfaces cannot be attached",
		.remedy = "mount -t tracefs nodev /sys/kernel/tracing",
	};
	const char *path = sys__tracefs();
	struct finding unreadable = bad;

	unreadable.remedy = "run as root or with cap_dac_read_search [gapless doctor --caps]";
	if (path)
		doctor__add(doctor, &(struct finding) { .layer = "mounts", .name = "tracefs" },
			    "mounted at %s", path);
	else if (is_mounted("/sys/kernel/tracing", TRACEFS_MAGIC_NUMBER))
		doctor__add(doctor, &unreadable, "mounted at /sys/kernel/tracing, not readable");
	else
		doctor__add(doctor, &bad, "not mounted");
}

void doctor__check_mounts(struct doctor *doctor)
{
	const struct finding no_bpffs = {
		.layer = "mounts",
		.name = "bpffs",
		.status = DOCTOR_DEGRADED,
		.weight = DOCTOR_ADVICE,
		.cost = "nothing today: gapless pins nothing",
		.remedy = "mount -t bpf bpf /sys/fs/bpf",
	};

	check_tracefs(doctor);
	if (is_mounted("/sys/fs/bpf", BPFFS_MAGIC_NUMBER))
		doctor__add(doctor, &(struct finding) { .layer = "mounts", .name = "bpffs" },
			    "mounted at /sys/fs/bpf");
	else
		doctor__add(doctor, &no_bpffs, "not mounted at /sys/fs/bpf");
}
