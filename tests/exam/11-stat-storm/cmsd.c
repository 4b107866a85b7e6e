/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cmsd FOLDER PORT: a web server that looks at all of its templates at each request. */
#include "exam.h"
#include <sys/stat.h>

enum { TEMPLATES = 127 };

static const char *theme;
static _Atomic long calls;
static _Thread_local int connection;

NAMED int templates_changed(void)
{
	static _Thread_local time_t seen[TEMPLATES + 1];
	struct stat now;
	int changed = 0;
	char path[512];

	for (int i = 1; i <= TEMPLATES; i++) {
		snprintf(path, sizeof(path), "%s/%d/page.html", theme, i);
		if (stat(path, &now) == 0 && now.st_mtime != seen[i]) {
			seen[i] = now.st_mtime;
			changed++;
		}
	}
	calls += TEMPLATES;
	return changed;
}

NAMED void answer(int changed)
{
	dprintf(connection, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n%02d\n", changed % 100);
}

static void *serve(void *argument)
{
	char request[4096];

	connection = (int)(long)argument;
	while (read(connection, request, sizeof(request)) > 0)
		answer(templates_changed());
	close(connection);
	return NULL;
}

static void *print_calls(void *unused)
{
	for (;;) {
		long before = calls;

		sleep(1);
		printf("%ld stat calls in a second\n", calls - before);
		fflush(stdout);
	}
	return unused;
}

int main(int argc, char **argv)
{
	struct sockaddr_in address = loopback(argc == 3 ? atoi(argv[2]) : 0);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	int yes = 1;

	theme = argv[1];
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
	    listen(listener, 64) != 0)
		return 1;
	start_thread_named("counter", -1, print_calls);
	for (;;) {
		long accepted = accept(listener, NULL, NULL);
		pthread_t thread;

		if (accepted >= 0 && pthread_create(&thread, NULL, serve, (void *)accepted) == 0)
			pthread_detach(thread);
	}
}
