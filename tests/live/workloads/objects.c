/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects FOLDER: waits for objects that are easily taken for each other.
 *
 *   event-a, event-b, timer, signal, watch   each reads a descriptor of its own kind, READS times
 *   client, server                           CONNECTIONS connections to one port, one by one
 *   locker                                   waits for locks on two files that have one inode, one
 *                                            after the other; the log says whether they have
 */
#include "workload.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>

#define READS       10
#define CONNECTIONS 5
#define TRIES       200 /* files, */
#define ROUNDS      3   /* times */

static const char *folder;

/* --- descriptors ------------------------------------------------------------------------------ */

struct reader {
	const char *name;
	int fd;
};

static int done; /* readers */

static void *read_all(void *arg)
{
	const struct reader *reader = arg;
	char buffer[512];

	set_name(reader->name);
	for (int i = 0; i < READS; i++)
		if (read(reader->fd, buffer, sizeof(buffer)) <= 0)
			die("read");
	__atomic_fetch_add(&done, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static int make_timer(void)
{
	struct itimerspec every = { { 0, 20 * MS }, { 0, 20 * MS } };
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);

	if (fd < 0 || timerfd_settime(fd, 0, &every, NULL))
		die("timerfd");
	return fd;
}

static int make_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, 0);
}

static int make_watch(void)
{
	int fd = inotify_init();

	if (fd < 0 || inotify_add_watch(fd, folder, IN_CREATE) < 0)
		die("inotify");
	return fd;
}

static void make_file(const char *name, char *path, size_t size, int *ret)
{
	snprintf(path, size, "%s/%s", folder, name);
	*ret = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	if (*ret < 0)
		die(path);
}

static void touch_all(const struct reader *readers)
{
	uint64_t one = 1;
	char path[256];
	int fd;

	sleep_ns(20 * MS);
	if (write(readers[0].fd, &one, sizeof(one)) != sizeof(one) ||
	    write(readers[1].fd, &one, sizeof(one)) != sizeof(one))
		die("write");
	kill(getpid(), SIGUSR1);
	make_file("seen", path, sizeof(path), &fd);
	close(fd);
	unlink(path);
}

static void descriptors(void)
{
	struct reader readers[] = {
		{ "event-a", eventfd(0, 0) }, { "event-b", eventfd(0, 0) },
		{ "timer", make_timer() },    { "signal", make_signal() },
		{ "watch", make_watch() },
	};
	const int count = sizeof(readers) / sizeof(*readers);
	pthread_t threads[sizeof(readers) / sizeof(*readers)];

	for (int i = 0; i < count; i++)
		threads[i] = start_thread(read_all, &readers[i]);
	/* One read takes all events that have come since the last one. */
	while (__atomic_load_n(&done, __ATOMIC_SEQ_CST) < count)
		touch_all(readers);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* --- connections ------------------------------------------------------------------------------ */

static void *serve(void *arg)
{
	int listener = (int)(intptr_t)arg;

	set_name("server");
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = accept(listener, NULL, NULL);

		if (fd < 0)
			die("accept");
		await_token(fd);
		sleep_ns(20 * MS);
		send_token(fd);
		await_token(fd);
		close(fd);
	}
	return NULL;
}

static void *connect_all(void *arg)
{
	const struct sockaddr_in *address = arg;

	set_name("client");
	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		if (fd < 0 || connect(fd, (const void *)address, sizeof(*address)))
			die("connect");
		send_token(fd);
		await_token(fd);
		sleep_ns(20 * MS);
		send_token(fd);
		close(fd);
	}
	return NULL;
}

static void connections(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t server, client;

	if (listener < 0 || bind(listener, (void *)&address, size) || listen(listener, 8) ||
	    getsockname(listener, (void *)&address, &size))
		die("listen");
	log_line("{\"port\": %d}\n", ntohs(address.sin_port));
	server = start_thread(serve, (void *)(intptr_t)listener);
	client = start_thread(connect_all, &address);
	pthread_join(client, NULL);
	pthread_join(server, NULL);
}

/* --- files ------------------------------------------------------------------------------------ */

static void *lock_file(void *arg)
{
	int fd = open(arg, O_RDWR | O_CLOEXEC);

	set_name("locker");
	if (fd < 0 || flock(fd, LOCK_EX))
		die("flock");
	close(fd);
	return NULL;
}

/* Somebody waits for a lock on it, long enough to be named. */
static void wait_for(const char *path, int fd)
{
	pthread_t thread;

	if (flock(fd, LOCK_EX))
		die("flock");
	thread = start_thread(lock_file, (void *)path);
	sleep_ns(400 * MS);
	flock(fd, LOCK_UN);
	pthread_join(thread, NULL);
}

static uint64_t inode_of(int fd)
{
	struct stat about;

	if (fstat(fd, &about))
		die("fstat");
	return about.st_ino;
}

/* A file with this inode, which was free a moment ago; those that are tried before are in its way.
 */
static bool make_again(uint64_t inode, char *path, size_t size, int *ret)
{
	int others[TRIES], count = 0;
	bool found = false;

	while (!found && count < TRIES) {
		make_file("second", path, size, ret);
		found = inode_of(*ret) == inode;
		if (!found) {
			unlink(path);
			others[count++] = *ret;
		}
	}
	while (count)
		close(others[--count]);
	return found;
}

/* Whether a file gets the inode of another one is up to the file system, and to who else is at it.
 */
static void files(void)
{
	char path[256];
	bool found;
	int fd;

	make_file("first", path, sizeof(path), &fd);
	wait_for(path, fd);
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t inode = inode_of(fd);

		unlink(path);
		close(fd);
		found = make_again(inode, path, sizeof(path), &fd);
		if (found)
			break;
		make_file("first", path, sizeof(path), &fd);
		wait_for(path, fd);
	}
	if (found)
		wait_for(path, fd);
	unlink(path);
	close(fd);
	log_line("{\"reused\": %d}\n", found);
}

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : "/tmp";
	descriptors();
	connections();
	files();
	return 0;
}
