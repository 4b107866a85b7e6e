/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_links.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/vec.h"
#include "core/hooks.h"

#define PROGRAM "heap_on_call"
/* From <linux/bpf.h> of 6.6. */
#define TRACE_UPROBE_MULTI 48
/* malloc() and free() */
#define OFTEN 2

/* What BPF_LINK_CREATE takes for this type. */
struct link_create {
	__u32 program_fd;
	__u32 target_fd;
	__u32 attach_type;
	__u32 flags;
	__u64 path;
	__u64 offsets;
	__u64 semaphores;
	__u64 cookies;
	__u32 count;
	__u32 uprobe_flags;
	__u32 pid;
	__u32 pad;
};

static bool is_multi;

static int create_link(struct link_create *attr)
{
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));

	return fd < 0 ? -errno : (int)fd;
}

/* A kernel that knows the type refuses a folder with EBADF. */
static bool has_multi(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options,
		    .expected_attach_type = (enum bpf_attach_type)TRACE_UPROBE_MULTI);
	const __u64 offset = 0;
	struct link_create attr = { .attach_type = TRACE_UPROBE_MULTI,
				    .path = (uintptr_t)"/",
				    .offsets = (uintptr_t)&offset,
				    .count = 1 };
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, NULL, "GPL", code, 2, &options), fd;

	if (program < 0)
		return false;
	attr.program_fd = (__u32)program;
	fd = create_link(&attr);
	close(program);
	if (fd >= 0)
		close(fd);
	return fd == -EBADF;
}

void heap_links__prepare(struct bpf_object *object)
{
	struct bpf_program *program = bpf_object__find_program_by_name(object, PROGRAM);

	is_multi = program && has_multi();
	if (is_multi)
		bpf_program__set_expected_attach_type(program,
						      (enum bpf_attach_type)TRACE_UPROBE_MULTI);
}

static int attach_multi(struct heap_links *links, const struct bpf_object *object,
			const struct heap_file *file, pid_t pid, size_t from, size_t to)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(object, PROGRAM);
	struct link_create attr = { .program_fd = (__u32)bpf_program__fd(program),
				    .attach_type = TRACE_UPROBE_MULTI,
				    .path = (uintptr_t)file->path,
				    .offsets = (uintptr_t)&file->offsets[from],
				    .cookies = (uintptr_t)&file->cookies[from],
				    .count = (__u32)(to - from),
				    .pid = (__u32)pid };
	struct heap_link *link;

	if (from >= to)
		return 0;
	link = APPEND(&links->list, &links->count);
	if (!link)
		return -ENOMEM;
	link->fd = create_link(&attr);
	if (link->fd >= 0)
		return 0;
	links->count--;
	return links->list[links->count].fd;
}

/*
 * The kernel takes milliseconds for each place, and meanwhile probes that are attached already are
 * hit. So malloc() and free(), which come first in a file, are attached last and detached first.
 */
size_t heap_links__attach(struct heap_links *links, const struct bpf_object *object,
			  const struct heap_file *file, pid_t pid)
{
	size_t failed = 0;

	if (is_multi) {
		size_t often = file->count < OFTEN ? file->count : OFTEN;

		failed += attach_multi(links, object, file, pid, often, file->count) != 0;
		return failed + (attach_multi(links, object, file, pid, 0, often) != 0);
	}
	for (size_t i = file->count; i-- > 0;) {
		const struct hook_target target = { .pid = pid,
						    .file = file->path,
						    .offset = file->offsets[i],
						    .cookie = file->cookies[i] };
		struct heap_link *link = APPEND(&links->list, &links->count);

		if (!link)
			return failed + i + 1;
		link->fd = -1;
		if (hooks__attach(object, PROGRAM, &target, &link->link)) {
			links->count--;
			failed++;
		}
	}
	return failed;
}

static void *detach_one(void *context)
{
	struct heap_link *link = context;

	hooks__detach(link->link);
	if (link->fd >= 0)
		close(link->fd);
	return NULL;
}

void heap_links__detach(struct heap_links *links)
{
	pthread_t *threads = links->count > 1 ? calloc(links->count, sizeof(*threads)) : NULL;
	struct heap_link *last = links->list + links->count;
	size_t started = 0;

	while (threads && started < links->count &&
	       !pthread_create(&threads[started], NULL, detach_one, last - started - 1))
		started++;
	for (size_t i = started; i < links->count; i++)
		detach_one(last - i - 1);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	free(links->list);
	*links = (struct heap_links) {};
}
