/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/hooks.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

struct kind {
	const char *section; /* how the program's section begins */
	const char *name;
	enum feature feature;
};

static const struct kind kinds[] = {
	[HOOK_TP_BTF] = { "tp_btf/", "tp_btf", FEATURE_TP_BTF },
	[HOOK_RAW_TP] = { "raw_tp/", "raw_tp", FEATURE_RAW_TP },
	[HOOK_TRACEPOINT] = { "tp/", "tracepoint", FEATURE_TRACEPOINT },
	[HOOK_FENTRY] = { "fentry/", "fentry", FEATURE_FENTRY },
	[HOOK_FEXIT] = { "fexit/", "fexit", FEATURE_FEXIT },
	[HOOK_KPROBE] = { "kprobe", "kprobe", FEATURE_KPROBE },
	[HOOK_ITERATOR] = { "iter/", "iterator", FEATURE_TASK_ITERATOR },
	[HOOK_SLEEPABLE_ITERATOR] = { "iter.s/", "sleepable iterator", FEATURE_SLEEPABLE_ITERATOR },
	[HOOK_PERF_EVENT] = { "perf_event", "perf_event", FEATURE_PERF_SAMPLING },
	[HOOK_UPROBE] = { "uprobe", "uprobe", FEATURE_UPROBE },
	[HOOK_URETPROBE] = { "uretprobe", "uretprobe", FEATURE_URETPROBE },
	[HOOK_USDT] = { "usdt", "usdt", FEATURE_USDT },
};

enum hook_kind hooks__kind(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	for (int i = 0; i < HOOK_UNKNOWN; i++)
		if (!strncmp(section, kinds[i].section, strlen(kinds[i].section)))
			return (enum hook_kind)i;
	return HOOK_UNKNOWN;
}

const char *hooks__kind_name(enum hook_kind kind)
{
	return kinds[kind].name;
}

enum feature hooks__feature(enum hook_kind kind)
{
	return kinds[kind].feature;
}

/* 0 means every process here. libbpf's value for that is -1, and its 0 is the calling process. */
static pid_t pid_of(const struct hook_target *target)
{
	return target->pid ? target->pid : -1;
}

static struct bpf_link *attach_uprobe(const struct bpf_program *program, bool at_return,
				      const struct hook_target *target)
{
	LIBBPF_OPTS(bpf_uprobe_opts, options, .retprobe = at_return, .func_name = target->symbol,
		    .ref_ctr_offset = target->semaphore, .bpf_cookie = target->cookie);

	return bpf_program__attach_uprobe_opts(program, pid_of(target), target->file,
					       target->offset, &options);
}

static struct bpf_link *attach_usdt(const struct bpf_program *program,
				    const struct hook_target *target)
{
	LIBBPF_OPTS(bpf_usdt_opts, options, .usdt_cookie = target->cookie);

	return bpf_program__attach_usdt(program, pid_of(target), target->file, target->provider,
					target->name, &options);
}

static struct bpf_link *attach_kprobe(const struct bpf_program *program, bool at_return,
				      const struct hook_target *target)
{
	LIBBPF_OPTS(bpf_kprobe_opts, options, .offset = target->offset, .retprobe = at_return,
		    .bpf_cookie = target->cookie);

	return bpf_program__attach_kprobe_opts(program, target->symbol, &options);
}

static struct bpf_link *attach_tracepoint(const struct bpf_program *program,
					  const struct hook_target *target)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, options, .bpf_cookie = target->cookie);

	return bpf_program__attach_tracepoint_opts(program, target->provider, target->name,
						   &options);
}

static struct bpf_link *attach_perf_event(const struct bpf_program *program,
					  const struct hook_target *target)
{
	LIBBPF_OPTS(bpf_perf_event_opts, options, .bpf_cookie = target->cookie);

	return bpf_program__attach_perf_event_opts(program, target->event_fd, &options);
}

static struct bpf_link *refuse(void)
{
	errno = EINVAL;
	return NULL;
}

static struct bpf_link *attach(const struct bpf_program *program, const struct hook_target *target)
{
	static const struct hook_target none = {};
	enum hook_kind kind = hooks__kind(program);

	if (!target)
		target = &none;
	switch (kind) {
	case HOOK_UPROBE:
	case HOOK_URETPROBE:
		if (target->file)
			return attach_uprobe(program, kind == HOOK_URETPROBE, target);
		/* Probes in the kernel and in programs take the same type of BPF program. */
		return target->symbol ? attach_kprobe(program, kind == HOOK_URETPROBE, target)
				      : refuse();
	case HOOK_USDT:
		return target->file && target->provider && target->name
			       ? attach_usdt(program, target)
			       : refuse();
	case HOOK_KPROBE:
		return target->symbol ? attach_kprobe(program, false, target)
				      : bpf_program__attach(program);
	case HOOK_TRACEPOINT:
		return target->provider && target->name ? attach_tracepoint(program, target)
							: bpf_program__attach(program);
	case HOOK_PERF_EVENT:
		return target->event_fd > 0 ? attach_perf_event(program, target) : refuse();
	default:
		return bpf_program__attach(program);
	}
}

int hooks__attach(const struct bpf_object *object, const char *program,
		  const struct hook_target *target, struct bpf_link **ret)
{
	const struct bpf_program *found = bpf_object__find_program_by_name(object, program);
	struct bpf_link *link;

	if (!found)
		return -ENOENT;
	link = attach(found, target);
	if (!link)
		return -errno;
	*ret = link;
	return 0;
}

void hooks__detach(struct bpf_link *link)
{
	(void)bpf_link__destroy(link);
}

int hooks__iterate(struct bpf_link *link)
{
	cleanup(close_p) int fd = -1;
	ssize_t bytes;
	char byte;

	if (!link)
		return 0;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	/* After a million objects without output, the kernel returns EAGAIN; read again. */
	do {
		bytes = read(fd, &byte, 1);
	} while (bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR)));
	return bytes < 0 ? -errno : 0;
}

void hooks__describe(const struct hook_target *target, char *ret, size_t size)
{
	char place[128] = "", process[32] = "";

	if (target->provider)
		snprintf(place, sizeof(place), "'%s:%s'", target->provider, target->name);
	else if (target->symbol && target->offset)
		snprintf(place, sizeof(place), "'%s'+%#lx", target->symbol, target->offset);
	else if (target->symbol)
		snprintf(place, sizeof(place), "'%s'", target->symbol);
	else
		snprintf(place, sizeof(place), "%#lx", target->offset);
	if (target->pid)
		snprintf(process, sizeof(process), ", process %d", target->pid);
	if (target->file)
		snprintf(ret, size, "%s in '%s'%s", place, target->file, process);
	else
		snprintf(ret, size, "%s", place);
}
