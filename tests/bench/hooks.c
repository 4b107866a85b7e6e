/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hooks PID SECONDS: the cost per event of each tracepoint program of a process (a running
 * gapless), next to that of an empty program at the same tracepoint and time. The kernel's own
 * timing reads the clock twice, which is included in both figures; `over` is the difference.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "empty.skel.h"

#define MOST 64

struct hook {
	char event[64];
	__u32 id;
	int fd;       /* of the measured program */
	int empty_fd; /* of the empty program */
	struct bpf_prog_info before, empty_before;
};

static struct hook hooks[MOST];
static size_t hook_count;
static struct btf *kernel;

static struct bpf_prog_info info_of(int fd)
{
	struct bpf_prog_info info = {};
	__u32 size = sizeof(info);

	bpf_obj_get_info_by_fd(fd, &info, &size);
	return info;
}

/* The tracepoint that a program is attached to; "" if it is not a tracepoint program. */
static void event_of(const struct bpf_prog_info *info, char *ret, size_t size)
{
	const struct btf_type *type = btf__type_by_id(kernel, info->attach_btf_id);
	const char *name = type ? btf__name_by_offset(kernel, type->name_off) : "";

	snprintf(ret, size, "%s", strncmp(name, "btf_trace_", 10) ? "" : name + 10);
}

static int attach_empty(const char *event)
{
	struct empty_bpf *skeleton = empty_bpf__open();

	if (!skeleton || bpf_program__set_attach_target(skeleton->progs.on_empty, 0, event) ||
	    empty_bpf__load(skeleton) || empty_bpf__attach(skeleton))
		return -1;
	return bpf_program__fd(skeleton->progs.on_empty);
}

static void add_program(__u32 id)
{
	struct hook *hook = &hooks[hook_count];
	struct bpf_prog_info info;

	for (size_t i = 0; i < hook_count; i++)
		if (hooks[i].id == id)
			return; /* its link has a descriptor too */
	if (hook_count == MOST)
		return;
	hook->id = id;
	hook->fd = bpf_prog_get_fd_by_id(id);
	if (hook->fd < 0)
		return;
	info = info_of(hook->fd);
	event_of(&info, hook->event, sizeof(hook->event));
	if (!*hook->event)
		return;
	hook->empty_fd = attach_empty(hook->event);
	if (hook->empty_fd >= 0)
		hook_count++;
}

/* Adds each program that the process has a descriptor for. */
static void find_programs(const char *pid)
{
	char path[512], line[256];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/fdinfo", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		FILE *file;
		__u32 id;

		snprintf(path, sizeof(path), "/proc/%s/fdinfo/%s", pid, entry->d_name);
		file = fopen(path, "r");
		while (file && fgets(line, sizeof(line), file))
			if (sscanf(line, "prog_id: %u", &id) == 1)
				add_program(id);
		if (file)
			fclose(file);
	}
	if (dir)
		closedir(dir);
}

static void print_hook(const struct hook *hook, double seconds)
{
	struct bpf_prog_info now = info_of(hook->fd), empty = info_of(hook->empty_fd);
	__u64 runs = now.run_cnt - hook->before.run_cnt;
	__u64 empty_runs = empty.run_cnt - hook->empty_before.run_cnt;
	double ns, empty_ns;

	if (!runs || !empty_runs)
		return;
	ns = (double)(now.run_time_ns - hook->before.run_time_ns) / (double)runs;
	empty_ns =
		(double)(empty.run_time_ns - hook->empty_before.run_time_ns) / (double)empty_runs;
	printf("%-24s %-28s %12.0f %8.0f %8.0f %8.0f %8.2f\n", hook->event, now.name,
	       (double)runs / seconds, ns, empty_ns, ns - empty_ns, ns / empty_ns);
}

int main(int argc, char **argv)
{
	int seconds = argc > 2 ? atoi(argv[2]) : 0, timing;

	if (seconds < 1) {
		fprintf(stderr, "usage: hooks PID SECONDS (as root)\n");
		return 2;
	}
	kernel = btf__load_vmlinux_btf();
	find_programs(argv[1]);
	if (!kernel || !hook_count) {
		fprintf(stderr, "no tracepoint programs of process %s\n", argv[1]);
		return 1;
	}
	timing = bpf_enable_stats(BPF_STATS_RUN_TIME);
	for (size_t i = 0; i < hook_count; i++) {
		hooks[i].before = info_of(hooks[i].fd);
		hooks[i].empty_before = info_of(hooks[i].empty_fd);
	}
	sleep((unsigned)seconds);
	printf("%-24s %-28s %12s %8s %8s %8s %8s\n", "tracepoint", "program", "events/s", "ns",
	       "empty", "over", "ratio");
	for (size_t i = 0; i < hook_count; i++)
		print_hook(&hooks[i], seconds);
	close(timing);
	return 0;
}
