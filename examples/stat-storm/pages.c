/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pages [--cured] [SECONDS]: a web server's page renderer and its clients in one: 500 pages a
 * second. A page has eight parts, which are built in. The operator may replace a part by a file in
 * any of 16 folders, so for each page the server calls stat() 127 times; only the last call finds
 * a file. With --cured, it looks for the files once, at the start.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FOLDERS      16
#define PARTS        8
#define FOUND        15 /* the folder, counted from 1, that has the last part */
#define PER_SECOND   500
#define SECOND_NS    1000000000L
#define REPORT_EVERY 2 /* seconds */

static char root[] = "/tmp/pages-XXXXXX";
static int folder_of[PARTS + 1]; /* 0: built in */
static bool cured;
static volatile sig_atomic_t done;
static unsigned long answered_ns, rendered_ns;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

static void part_path(int folder, int part, char *ret, size_t size)
{
	snprintf(ret, size, "%s/theme%02d/part%d.html", root, folder, part);
}

static void find_part(int part)
{
	struct stat about;
	char path[128];

	folder_of[part] = 0;
	for (int folder = 1; folder <= FOLDERS && !folder_of[part]; folder++) {
		part_path(folder, part, path, sizeof(path));
		if (!stat(path, &about))
			folder_of[part] = folder;
	}
}

static void find_parts(void)
{
	for (int part = 1; part <= PARTS; part++)
		find_part(part);
}

static void render(void)
{
	uint64_t start = now_ns();
	volatile unsigned letter = 0;

	for (unsigned i = 0; i < 100000; i++)
		letter = letter * 31 + i;
	rendered_ns += now_ns() - start;
}

static void report(void)
{
	double count = REPORT_EVERY * PER_SECOND;

	printf("pages: %.0f rendered after %.3f ms on average; the renderer took %.3f\n", count,
	       (double)answered_ns / count / 1e6, (double)rendered_ns / count / 1e6);
	fflush(stdout);
	answered_ns = rendered_ns = 0;
}

static void serve(unsigned long seconds)
{
	uint64_t came_ns = now_ns();
	unsigned long page = 0;

	find_parts();
	while (!done && page < seconds * PER_SECOND) {
		sleep_until(came_ns);
		if (!cured)
			find_parts();
		render();
		answered_ns += now_ns() - came_ns;
		came_ns += SECOND_NS / PER_SECOND;
		if (!(++page % (REPORT_EVERY * PER_SECOND)))
			report();
	}
}

static void make_folders(void)
{
	char path[128];

	if (!mkdtemp(root))
		die(root);
	for (int folder = 1; folder <= FOLDERS; folder++) {
		snprintf(path, sizeof(path), "%s/theme%02d", root, folder);
		if (mkdir(path, 0700))
			die(path);
	}
	part_path(FOUND, PARTS, path, sizeof(path));
	close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}

static void remove_folders(void)
{
	char path[128];

	part_path(FOUND, PARTS, path, sizeof(path));
	unlink(path);
	for (int folder = 1; folder <= FOLDERS; folder++) {
		snprintf(path, sizeof(path), "%s/theme%02d", root, folder);
		rmdir(path);
	}
	rmdir(root);
}

static void end(int signal)
{
	done = 1;
}

int main(int argc, char **argv)
{
	unsigned long seconds;

	cured = argc > 1 && !strcmp(argv[1], "--cured");
	seconds = argc > 1 + cured ? strtoul(argv[1 + cured], NULL, 10) : 60;
	if (!seconds) {
		fprintf(stderr, "usage: pages [--cured] [SECONDS]\n");
		return 2;
	}
	signal(SIGINT, end);
	signal(SIGTERM, end);
	make_folders();
	serve(seconds);
	remove_folders();
	return 0;
}
