/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's clock of another process's CPU time lacks what its threads have run since the last
 * tick, up to 4 ms each. The clock of a thread does not: the kernel brings the thread's sum up to
 * date when it is asked, and the clock of the process is the sum of these. So all clocks of threads
 * are read first. The clock is gone with the process; its last value comes from the hook at its
 * exit.
 */
#include "signals/heap/heap_processes.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "core/hooks.h"

static int read_clock(clockid_t clock, uint64_t *ret)
{
	struct timespec time;

	if (clock_gettime(clock, &time))
		return -errno;
	*ret = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return 0;
}

/* As pthread_getcpuclockid() makes it, for a thread of any process. */
static clockid_t clock_of_thread(pid_t tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6);
}

static void update_threads(pid_t pid)
{
	cleanup(closedir_p) DIR *threads = NULL;
	struct dirent *entry;
	uint64_t unused;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && (entry = readdir(threads)))
		if (*entry->d_name != '.')
			(void)read_clock(clock_of_thread((pid_t)strtol(entry->d_name, NULL, 10)),
					 &unused);
}

int heap_processes__open(struct heap_processes *processes, const struct bpf_object *object)
{
	const struct bpf_map *ended = bpf_object__find_map_by_name(object, "heap_ended");

	*processes = (struct heap_processes) { .ended_fd = ended ? bpf_map__fd(ended) : -1 };
	return hooks__attach(object, "heap_on_task", NULL, &processes->iterator);
}

void heap_processes__close(struct heap_processes *processes)
{
	hooks__detach(processes->iterator);
	free(processes->list);
	*processes = (struct heap_processes) {};
}

static struct heap_process *find(struct heap_processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->count; i++)
		if (processes->list[i].pid == pid && !processes->list[i].is_gone)
			return &processes->list[i];
	return NULL;
}

struct heap_process *heap_processes__add(struct heap_processes *processes, pid_t pid)
{
	struct heap_process *process = find(processes, pid);
	uint64_t now_ns = 0;
	clockid_t clock;

	if (process)
		return process;
	if (clock_getcpuclockid(pid, &clock) || read_clock(clock, &now_ns))
		return NULL;
	process = APPEND(&processes->list, &processes->count);
	if (process)
		*process = (struct heap_process) { .pid = pid, .clock = clock, .cpu_ns = now_ns };
	return process;
}

static void add_cpu(struct heap_process *process, uint64_t cpu_ns, struct heap_cpu *cpu)
{
	uint64_t new_ns = cpu_ns > process->cpu_ns ? cpu_ns - process->cpu_ns : 0;

	process->cpu_ns += new_ns;
	cpu->all_ns += new_ns;
	if (process->is_probed)
		cpu->probed_ns += new_ns;
}

void heap_processes__advance(struct heap_processes *processes, struct heap_cpu *cpu)
{
	for (size_t i = 0; i < processes->count; i++) {
		struct heap_process *process = &processes->list[i];
		__u32 pid = (__u32)process->pid;
		uint64_t now_ns = 0;
		__u64 last_ns;

		if (process->is_gone)
			continue;
		update_threads(process->pid);
		if (!read_clock(process->clock, &now_ns)) {
			add_cpu(process, now_ns, cpu);
			continue;
		}
		process->is_gone = true;
		if (bpf_map_lookup_elem(processes->ended_fd, &pid, &last_ns))
			continue;
		add_cpu(process, last_ns, cpu);
		bpf_map_delete_elem(processes->ended_fd, &pid);
	}
}

/* Processes that began and ended since the last list. */
static void take_ended(struct heap_processes *processes, struct heap_cpu *cpu)
{
	__u32 pid, next;
	__u64 cpu_ns;
	int err = bpf_map_get_next_key(processes->ended_fd, NULL, &next);

	while (!err) {
		pid = next;
		err = bpf_map_get_next_key(processes->ended_fd, &pid, &next);
		if (find(processes, (pid_t)pid) ||
		    bpf_map_lookup_elem(processes->ended_fd, &pid, &cpu_ns))
			continue;
		cpu->all_ns += cpu_ns;
		if (processes->all_probed)
			cpu->probed_ns += cpu_ns;
		bpf_map_delete_elem(processes->ended_fd, &pid);
	}
}

static void forget_gone(struct heap_processes *processes)
{
	size_t kept = 0;

	/* An array that vec.h has grown may shrink: it only looks at the count. */
	for (size_t i = 0; i < processes->count; i++)
		if (!processes->list[i].is_gone)
			processes->list[kept++] = processes->list[i];
	processes->count = kept;
}

static bool executes_another(struct heap_process *process)
{
	uint64_t before = process->inode;
	struct stat program;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", process->pid);
	if (!stat(path, &program))
		process->inode = program.st_ino;
	return process->inode != before;
}

static void take_process(struct heap_processes *processes, pid_t pid)
{
	bool is_new = !find(processes, pid);
	struct heap_process *process = heap_processes__add(processes, pid);

	if (!process)
		return;
	if (executes_another(process))
		process->listings = 0;
	process->listings++;
	process->is_probed |= processes->all_probed;
	/* It began since the last list. */
	if (is_new && processes->has_begun)
		process->cpu_ns = 0;
}

int heap_processes__list(struct heap_processes *processes, struct heap_cpu *cpu)
{
	cleanup(close_p) int fd = bpf_iter_create(bpf_link__fd(processes->iterator));
	__u32 pids[256];
	ssize_t bytes;

	if (fd < 0)
		return fd;
	do {
		bytes = read(fd, pids, sizeof(pids));
		for (ssize_t i = 0; i < bytes / (ssize_t)sizeof(*pids); i++)
			take_process(processes, (pid_t)pids[i]);
	} while (bytes > 0 || (bytes < 0 && (errno == EAGAIN || errno == EINTR)));
	if (bytes < 0)
		return -errno;
	if (!processes->has_begun) {
		struct heap_cpu before = {};

		heap_processes__advance(processes, &before);
	}
	processes->has_begun = true;
	take_ended(processes, cpu);
	forget_gone(processes);
	return 0;
}
