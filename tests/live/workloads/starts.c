/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * starts RATE SECONDS EACH FOLDER: starts RATE processes a second, each a program of its own. After
 * EACH of them the program's file is deleted and a copy of it under another name, in FOLDER, takes
 * its place: so files with code come and go as well. Says how many were started.
 */
#include "workload.h"

#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define SECOND  (1000 * MS)
#define AT_ONCE 32 /* that are not waited for yet */

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	struct stat about;

	if (in < 0 || out < 0 || fstat(in, &about) ||
	    sendfile(out, in, NULL, (size_t)about.st_size) != about.st_size)
		die(to);
	close(in);
	close(out);
}

/* Beside this program. */
static void find_tiny(char *path, size_t size)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (length <= 0)
		die("readlink");
	self[length] = '\0';
	*strrchr(self, '/') = '\0';
	snprintf(path, size, "%s/tiny", self);
}

static void start(char *path)
{
	char *const args[] = { path, NULL };
	char *const environment[] = { NULL };
	pid_t pid;

	/* By vfork(). */
	errno = posix_spawn(&pid, path, NULL, NULL, args, environment);
	if (errno)
		die(path);
}

int main(int argc, char **argv)
{
	unsigned long rate, each, started = 0, running = 0;
	char tiny[PATH_MAX + 8], path[PATH_MAX] = "";
	uint64_t begin_ns = now_ns(), length_ns;

	if (argc != 5)
		die("usage: starts RATE SECONDS EACH FOLDER");
	rate = strtoul(argv[1], NULL, 10);
	length_ns = strtoul(argv[2], NULL, 10) * SECOND;
	each = strtoul(argv[3], NULL, 10);
	find_tiny(tiny, sizeof(tiny));
	for (; now_ns() - begin_ns < length_ns; started++) {
		uint64_t due_ns = begin_ns + started * SECOND / rate;

		if (started % each == 0) {
			if (*path)
				unlink(path);
			snprintf(path, sizeof(path), "%s/tiny-%lu", argv[4], started / each);
			copy_file(tiny, path);
		}
		start(path);
		for (running++; running && waitpid(-1, NULL, running < AT_ONCE ? WNOHANG : 0) > 0;)
			running--;
		if (due_ns > now_ns())
			sleep_ns(due_ns - now_ns());
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	unlink(path);
	printf("%lu started in %.1f s\n", started, (double)(now_ns() - begin_ns) / SECOND);
	return 0;
}
