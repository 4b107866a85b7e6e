/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What /proc says of a process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "stacks/tracker_internal.h"

void tracker__free_process(struct process *process)
{
	ranges__release(&process->ranges);
	free(process);
}

int tracker__read_stat(uint32_t pid, struct maps_stat *ret)
{
	cleanup(close_p) int fd = -1;
	char path[64], text[1024];
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	got = read(fd, text, sizeof(text) - 1);
	if (got <= 0)
		return -ESRCH;
	text[got] = '\0';
	if (maps__parse_stat(text, ret))
		return -EBADMSG;
	/* A main thread that ended before other threads is a 'Z' too. */
	return (ret->state == 'Z' || ret->state == 'X') && ret->threads <= 1 ? -ESRCH : 0;
}

void tracker__add_range(struct tracker *tracker, struct ranges *ranges,
			const struct module_place *at, uint64_t offset)
{
	struct module *module = modules__at(tracker->options.modules, at);
	struct range range = { .begin = at->begin, .end = at->end };

	if (module &&
	    !headers__address(&module->headers, module->fd < 0 ? 0 : offset, &range.address)) {
		range.module = module->id;
		tracker->options.take_module(tracker->options.context, module);
	}
	(void)ranges__put(ranges, &range);
}

/* A process has no mappings during an exec and at its end. */
static int read_maps(struct tracker *tracker, uint32_t pid, struct ranges *ranges)
{
	cleanup(fclose_p) FILE *file = NULL;
	cleanup(free_p) char *line = NULL;
	struct maps_line mapping;
	size_t room = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	file = fopen(path, "re");
	if (!file)
		return errno == ENOENT || errno == ESRCH ? 0 : -errno;
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (maps__parse(line, &mapping) || !mapping.executable)
			continue;
		tracker__add_range(tracker, ranges,
				   &(struct module_place) {
					   .pid = pid,
					   .begin = mapping.begin,
					   .end = mapping.end,
					   .device = mapping.device,
					   .inode = mapping.inode,
					   .path = mapping.path,
				   },
				   mapping.offset);
	}
	return 0;
}

int tracker__read_process(struct tracker *tracker, uint32_t pid, struct process **ret)
{
	cleanup(tracker__free_process_p) struct process *process = calloc(1, sizeof(*process));
	struct maps_stat stat;
	int err;

	if (!process)
		return -ENOMEM;
	process->pid = pid;
	process->known_ns = clock__now_ns();
	err = read_maps(tracker, pid, &process->ranges);
	if (err)
		return err;
	/* Read after the maps: if the process exists now, it existed when its maps were read. */
	err = tracker__read_stat(pid, &stat);
	if (err)
		return err;
	if (stat.flags & MAPS_KERNEL_THREAD)
		return -ENODATA;
	process->start_ticks = stat.start_ticks;
	*ret = TAKE(process);
	return 0;
}
