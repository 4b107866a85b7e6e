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
#define TRIES       20

static const char *folder;

/* --- descriptors -------------------------------------------------------------------------------
 */

struct reader {
	const char *name;
	int fd;
};

static void *read_all(void *arg)
{
	const struct reader *reader = arg;
	char buffer[512];

	set_name(reader->name);
	for (int i = 0; i < READS; i++)
		if (read(reader->fd, buffer, sizeof(buffer)) <= 0)
			die("read");
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
	pthread_t threads[sizeof(readers) / sizeof(*readers)];

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		threads[i] = start_thread(read_all, &readers[i]);
	for (int i = 0; i < READS; i++)
		touch_all(readers);
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++)
		pthread_join(threads[i], NULL);
}

/* --- connections -------------------------------------------------------------------------------
 */

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

/* --- files -------------------------------------------------------------------------------------
 */

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
static uint64_t lock_and_remove(const char *name)
{
	pthread_t thread;
	struct stat about;
	char path[256];
	int fd;

	make_file(name, path, sizeof(path), &fd);
	if (fstat(fd, &about) || flock(fd, LOCK_EX))
		die("flock");
	thread = start_thread(lock_file, path);
	sleep_ns(400 * MS);
	flock(fd, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(path);
	close(fd);
	return about.st_ino;
}

/* Whether a new file gets the inode of the last one is up to the file system. */
static bool is_next_inode(uint64_t inode)
{
	struct stat about;
	char path[256];
	int fd;

	make_file("probe", path, sizeof(path), &fd);
	if (fstat(fd, &about))
		die("fstat");
	unlink(path);
	close(fd);
	return about.st_ino == inode;
}

static void files(void)
{
	uint64_t first = lock_and_remove("first"), second;
	int tries = 0;

	while (!is_next_inode(first) && tries++ < TRIES)
		sleep_ns(10 * MS);
	second = lock_and_remove("second");
	log_line("{\"reused\": %d}\n", first == second);
}

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : "/tmp";
	descriptors();
	connections();
	files();
	return 0;
}
