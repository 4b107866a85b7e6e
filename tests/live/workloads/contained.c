/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * contained SOURCE… -- PROGRAM ARGUMENT…: runs a program as process 1 of a new pid namespace, in a
 * new mount namespace with a /proc and a /tmp of its own. /tmp has a copy of each file and a mount
 * of each folder of SOURCE. So /tmp/NAME exists inside only. Logs the pid that the program has
 * outside before it runs. The program ends with this one.
 */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "workload.h"

#define MOST 8

struct source {
	const char *name;
	int fd;
	struct stat stat;
};

static struct source sources[MOST];
static int count;

/* Before /tmp is covered, because the source may be there. */
static void open_source(const char *path)
{
	struct source *source = &sources[count++];
	const char *slash = strrchr(path, '/');

	source->name = slash ? slash + 1 : path;
	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0 || fstat(source->fd, &source->stat))
		die(path);
}

static void copy_file(const struct source *source, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	ssize_t size;

	if (fd < 0)
		die(path);
	do
		size = sendfile(fd, source->fd, NULL, 1 << 20);
	while (size > 0);
	if (size || close(fd))
		die(path);
}

static void mount_folder(const struct source *source, const char *path)
{
	char folder[32];

	snprintf(folder, sizeof(folder), "/proc/self/fd/%d", source->fd);
	if (mkdir(path, 0755) || mount(folder, path, NULL, MS_BIND, NULL))
		die(path);
}

static void place(const struct source *source)
{
	char path[256];

	snprintf(path, sizeof(path), "/tmp/%s", source->name);
	if (S_ISDIR(source->stat.st_mode))
		mount_folder(source, path);
	else
		copy_file(source, path);
}

static void run_inside(char **argv, int go)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) || chdir("/tmp"))
		die("/proc");
	await_token(go);
	execv(argv[0], argv);
	die(argv[0]);
}

int main(int argc, char **argv)
{
	int at = 1, status, go[2];
	pid_t child;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		die("unshare");
	while (at < argc && count < MOST && strcmp(argv[at], "--") != 0)
		open_source(argv[at++]);
	if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
		fprintf(stderr, "usage: contained SOURCE… -- PROGRAM ARGUMENT…\n");
		return 2;
	}
	if (mount("tmpfs", "/tmp", "tmpfs", 0, "mode=1777"))
		die("/tmp");
	for (int i = 0; i < count; i++)
		place(&sources[i]);
	make_pipe(go);
	child = fork();
	if (!child)
		run_inside(argv + at + 1, go[0]);
	log_line("{\"pid\": %d}\n", child);
	send_token(go[1]);
	if (waitpid(child, &status, 0) != child)
		die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
