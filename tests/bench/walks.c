/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walks GAPLESS DEPTH SECONDS [COMMAND…]: the cost in ns of one sample of a stack with DEPTH
 * frames, by gapless's walk and by the kernel's bpf_get_stackid(), for the same program at the same
 * time: this one, or COMMAND, which is to have that stack after WARM_UP_SECONDS. The kernel
 * measures the run time of the BPF programs. An empty BPF program shows the overhead of this
 * measurement.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stackid.skel.h"

#define RATE            2999
#define WARM_UP_SECONDS 2
#define FILE_NAME       "/dev/shm/walks.gapless"

static volatile long sink;

__attribute__((noinline)) static long descend(int depth)
{
	long sum = 0;

	if (!depth) {
		for (sink = 1; sink; sink |= 1)
			sum += sum * 7 + 1;
		return sum;
	}
	sum = descend(depth - 1);
	sink += sum;
	return sum;
}

/* To the target only. */
static void attach(struct bpf_program *program, pid_t target)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000 / RATE,
		.exclude_idle = 1,
	};

	int fd = (int)syscall(SYS_perf_event_open, &attr, target, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0 || !bpf_program__attach_perf_event(program, fd)) {
		perror("perf_event_open");
		exit(2);
	}
}

struct cost {
	double ns, runs;
};

/*
 * The cost of the program with this name. If there are several, because another gapless runs, the
 * one with the longest run time.
 */
static struct cost cost_of(const char *name)
{
	struct cost cost = {};
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		struct bpf_prog_info info = {};
		__u32 size = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size) &&
		    !strcmp(info.name, name) && (double)info.run_time_ns > cost.ns)
			cost = (struct cost) { (double)info.run_time_ns, (double)info.run_cnt };
		close(fd);
	}
	return cost;
}

/* Ticks at which gapless took a stack. Its program also runs at other ticks, without effect. */
static double ticks_recorded(const char *gapless)
{
	char command[512];
	double ticks = 0;
	FILE *pipe;

	snprintf(command, sizeof(command),
		 "%s query " FILE_NAME
		 " 'select count(*) from sample where flags & 2' --json | tr -dc 0-9",
		 gapless);
	pipe = popen(command, "r");
	if (!pipe || fscanf(pipe, "%lf", &ticks) != 1)
		fprintf(stderr, "no ticks were recorded\n");
	if (pipe)
		pclose(pipe);
	return ticks;
}

/* Returns when it records; loading can take seconds on a busy machine. */
static pid_t record(const char *gapless, pid_t target)
{
	int words[2], err = pipe(words);
	pid_t child = err ? -1 : fork();
	char pid[16], rate[16], line[256];
	FILE *said;

	if (child < 0) {
		perror("walks");
		exit(2);
	}
	if (!child) {
		dup2(words[1], STDERR_FILENO);
		snprintf(pid, sizeof(pid), "%d", target);
		snprintf(rate, sizeof(rate), "%d", RATE);
		execl(gapless, gapless, "record", "-p", pid, "-F", rate, "-o", FILE_NAME, "--force",
		      "--no-report", "--budget", "none", (char *)NULL);
		_exit(127);
	}
	close(words[1]);
	said = fdopen(words[0], "r");
	while (said && fgets(line, sizeof(line), said) && !strstr(line, "recording"))
		fputs(line, stderr);
	/* It stays open, so that the recorder can write to it. */
	return child;
}

int main(int argc, char **argv)
{
	struct stackid_bpf *skeleton = stackid_bpf__open_and_load();
	struct cost nothing, tick, stackid;
	double ours, theirs, ticks;
	pid_t target, recorder;
	int stats;

	if (argc < 4 || !skeleton) {
		fprintf(stderr, "usage: walks GAPLESS DEPTH SECONDS [COMMAND...] (as root)\n");
		return 2;
	}
	target = fork();
	if (!target && argc > 4) {
		execvp(argv[4], argv + 4);
		_exit(127);
	}
	if (!target) {
		descend(atoi(argv[2]));
		_exit(0);
	}
	if (argc > 4)
		sleep(WARM_UP_SECONDS);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	recorder = record(argv[1], target);
	attach(skeleton->progs.on_stackid, target);
	attach(skeleton->progs.on_nothing, target);
	sleep((unsigned)atoi(argv[3]));
	nothing = cost_of("on_nothing");
	tick = cost_of("on_tick");
	stackid = cost_of("on_stackid");
	kill(recorder, SIGINT);
	waitpid(recorder, NULL, 0);
	ticks = ticks_recorded(argv[1]);
	/* They see the main thread only, which may sleep, as that of Java does. */
	nothing.ns = nothing.runs > 0 ? nothing.ns / nothing.runs : 0;
	ours = (tick.ns - nothing.ns * tick.runs) / ticks;
	theirs = stackid.runs > 0 ? stackid.ns / stackid.runs - nothing.ns : 0;
	printf("depth %s: gapless %.0f ns, bpf_get_stackid %.0f ns, ratio %.2f (%.0f ticks)\n",
	       argv[2], ours, theirs, ours / theirs, ticks);
	close(stats);
	kill(target, SIGKILL);
	waitpid(target, NULL, 0);
	unlink(FILE_NAME);
	stackid_bpf__destroy(skeleton);
	return 0;
}
