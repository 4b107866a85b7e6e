/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stormer [--fixed] REQUESTS RATE: a server that looks for its plugins anew at every request: 127
 * stat() calls over 16 search directories, of which the last alone finds something. --fixed
 * remembers where they are.
 */
#include <sys/stat.h>

#include "workload.h"

#define DIRS    16
#define PLUGINS 8
#define FOUND   15 /* the directory, counted from 1, that has the last plugin */
#define STATS   ((PLUGINS - 1) * DIRS + FOUND)
#define WORK_NS 200000

_Static_assert(STATS == 127, "what the tests count on");

static char root[64] = "/tmp/stormer-XXXXXX";

static void plugin_path(int dir, int plugin, char *ret, size_t size)
{
	snprintf(ret, size, "%s/lib%02d/plugin%d.so", root, dir, plugin);
}

static void make_directories(void)
{
	char path[128];

	if (!mkdtemp(root))
		die(root);
	for (int dir = 1; dir <= DIRS; dir++) {
		snprintf(path, sizeof(path), "%s/lib%02d", root, dir);
		if (mkdir(path, 0700))
			die(path);
	}
	plugin_path(FOUND, PLUGINS, path, sizeof(path));
	close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void remove_directories(void)
{
	char path[128];

	plugin_path(FOUND, PLUGINS, path, sizeof(path));
	unlink(path);
	for (int dir = 1; dir <= DIRS; dir++) {
		snprintf(path, sizeof(path), "%s/lib%02d", root, dir);
		rmdir(path);
	}
	rmdir(root);
}

/* Returns how many calls it took. */
static unsigned long find_plugins(void)
{
	unsigned long calls = 0;

	for (int plugin = 1; plugin <= PLUGINS; plugin++) {
		for (int dir = 1; dir <= DIRS; dir++) {
			struct stat found;
			char path[128];

			plugin_path(dir, plugin, path, sizeof(path));
			calls++;
			if (!stat(path, &found))
				break;
		}
	}
	return calls;
}

static void serve(unsigned long requests, unsigned long rate, int fixed)
{
	struct phase phase = phase_begin("requests", "stormer");
	unsigned long stats = 0;

	while (phase.count < requests) {
		call_begins(&phase);
		if (!fixed)
			stats += find_plugins();
		call_ends(&phase);
		spin_until(now_ns() + WORK_NS);
		sleep_until(phase.begin_ns + phase.count * (1000 * MS / rate));
	}
	phase_end(&phase);
	log_line("{\"stats\": %lu}\n", stats);
}

int main(int argc, char **argv)
{
	int fixed = argc > 1 && !strcmp(argv[1], "--fixed");

	if (argc != 3 + fixed) {
		fprintf(stderr, "usage: stormer [--fixed] REQUESTS RATE\n");
		return 2;
	}
	make_directories();
	set_name("stormer");
	await_go();
	serve(strtoul(argv[1 + fixed], NULL, 10), strtoul(argv[2 + fixed], NULL, 10), fixed);
	remove_directories();
	return 0;
}
