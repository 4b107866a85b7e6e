/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syscalls in known numbers.
 *
 *   callers count    2 processes of 2 threads, c1 to c4: thread number k makes 1,000 k calls of
 *                    getppid, 100 k of newfstatat (ENOENT), 10 k of openat (ENOTDIR), 5 k of openat
 *                    (EISDIR)
 *   callers slow DIR threads that wait for known things behind a descriptor or path in DIR, and
 *                    one that waits idly
 *   callers many     300 threads that each make 80 different calls that do not exist
 *   callers spin     calls of getppid until it is killed
 */
#include "workload.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define HOLD_NS (150 * MS)

/* --- count --- */

static void call_often(long k)
{
	char name[8] = { 'c', (char)('0' + k), '\0' };
	struct stat info;

	set_name(name);
	for (long i = 0; i < 1000 * k; i++)
		syscall(SYS_getppid);
	for (long i = 0; i < 100 * k; i++)
		syscall(SYS_newfstatat, AT_FDCWD, "/nothing/here", &info, 0);
	for (long i = 0; i < 10 * k; i++)
		syscall(SYS_openat, AT_FDCWD, "/dev/null/x", O_RDONLY, 0);
	for (long i = 0; i < 5 * k; i++)
		syscall(SYS_openat, AT_FDCWD, "/", O_WRONLY, 0);
}

static void *call_often_thread(void *k)
{
	call_often((long)k);
	return NULL;
}

static void run_count(void)
{
	pid_t children[2];

	for (long i = 0; i < 2; i++) {
		children[i] = fork();
		if (!children[i]) {
			pthread_t thread = start_thread(call_often_thread, (void *)(2 * i + 2));

			call_often(2 * i + 1);
			pthread_join(thread, NULL);
			_exit(0);
		}
	}
	for (int i = 0; i < 2; i++)
		waitpid(children[i], NULL, 0);
}

/* --- slow --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct waiter {
	const char *comm;
	void (*body)(struct waiter *waiter);
	int about; /* tells that it is about to wait */
	int fd;
	char path[128];
};

static void *wait_as_told(void *arg)
{
	struct waiter *waiter = arg;
	struct phase phase = phase_begin("slow", waiter->comm);

	send_token(waiter->about);
	call_begins(&phase);
	waiter->body(waiter);
	call_ends(&phase);
	phase_end(&phase);
	return NULL;
}

/* Starts it and lets it wait for a while. */
static pthread_t let_wait(struct waiter *waiter)
{
	int ends[2];
	pthread_t thread;

	make_pipe(ends);
	waiter->about = ends[1];
	thread = start_thread(wait_as_told, waiter);
	await_token(ends[0]);
	sleep_ns(HOLD_NS);
	close(ends[0]);
	close(ends[1]);
	return thread;
}

static void read_one(struct waiter *waiter)
{
	await_token(waiter->fd);
}

static void open_it(struct waiter *waiter)
{
	if (open(waiter->path, O_RDONLY) < 0)
		die(waiter->path);
}

static void lock_file(struct waiter *waiter)
{
	if (flock(waiter->fd, LOCK_EX))
		die("flock");
}

static void lock_mutex(struct waiter *waiter)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void do_nothing(struct waiter *waiter)
{
	struct pollfd nothing = { .fd = waiter->fd, .events = POLLIN };

	sleep_ns(HOLD_NS);
	poll(&nothing, 1, (int)(HOLD_NS / MS));
}

static void wait_for_pipe(void)
{
	int ends[2];
	struct waiter waiter = { .comm = "slow-pipe", .body = read_one };
	pthread_t thread;

	make_pipe(ends);
	waiter.fd = ends[0];
	thread = let_wait(&waiter);
	send_token(ends[1]);
	pthread_join(thread, NULL);
}

static void wait_for_fifo(const char *folder)
{
	struct waiter waiter = { .comm = "slow-fifo", .body = open_it };
	pthread_t thread;

	snprintf(waiter.path, sizeof(waiter.path), "%s/fifo", folder);
	if (mkfifo(waiter.path, 0600))
		die(waiter.path);
	thread = let_wait(&waiter);
	if (open(waiter.path, O_WRONLY) < 0)
		die(waiter.path);
	pthread_join(thread, NULL);
	unlink(waiter.path);
}

static void wait_for_file_lock(const char *folder)
{
	struct waiter waiter = { .comm = "slow-flock", .body = lock_file };
	pthread_t thread;
	int holder;

	snprintf(waiter.path, sizeof(waiter.path), "%s/lock", folder);
	holder = open(waiter.path, O_CREAT | O_RDWR, 0600);
	waiter.fd = open(waiter.path, O_RDWR);
	if (holder < 0 || waiter.fd < 0 || flock(holder, LOCK_EX))
		die(waiter.path);
	thread = let_wait(&waiter);
	flock(holder, LOCK_UN);
	pthread_join(thread, NULL);
	unlink(waiter.path);
}

static void wait_for_mutex(void)
{
	struct waiter waiter = { .comm = "slow-mutex", .body = lock_mutex };
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	thread = let_wait(&waiter);
	pthread_mutex_unlock(&mutex);
	pthread_join(thread, NULL);
}

static void wait_for_peer(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	struct waiter waiter = { .comm = "slow-net", .body = read_one };
	int listener = socket(AF_INET, SOCK_STREAM, 0), peer;
	pthread_t thread;

	waiter.fd = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (struct sockaddr *)&address, size) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&address, &size) ||
	    connect(waiter.fd, (struct sockaddr *)&address, size))
		die("socket");
	peer = accept(listener, NULL, NULL);
	thread = let_wait(&waiter);
	send_token(peer);
	pthread_join(thread, NULL);
}

static void wait_by_choice(void)
{
	int ends[2];
	struct waiter waiter = { .comm = "slow-idle", .body = do_nothing };

	make_pipe(ends);
	waiter.fd = ends[0];
	pthread_join(let_wait(&waiter), NULL);
}

/* --- many --- */

#define MANY_THREADS 300
/* A hole in the table of x86-64, for ever. */
#define HOLE_FIRST 340
#define HOLE_LAST  419

static pthread_barrier_t barrier;

static void *call_what_is_not_there(void *unused)
{
	pthread_barrier_wait(&barrier);
	for (long i = HOLE_FIRST; i <= HOLE_LAST; i++)
		if (syscall(i) != -1 || errno != ENOSYS)
			die("there is such a call");
	return NULL;
}

static void run_many(void)
{
	pthread_t threads[MANY_THREADS];

	pthread_barrier_init(&barrier, NULL, MANY_THREADS);
	for (int i = 0; i < MANY_THREADS; i++)
		threads[i] = start_thread(call_what_is_not_there, NULL);
	for (int i = 0; i < MANY_THREADS; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "count")) {
		run_count();
	} else if (!strcmp(what, "slow") && argc > 2) {
		wait_for_pipe();
		wait_for_fifo(argv[2]);
		wait_for_file_lock(argv[2]);
		wait_for_mutex();
		wait_for_peer();
		wait_by_choice();
	} else if (!strcmp(what, "many")) {
		run_many();
	} else if (!strcmp(what, "spin")) {
		log_line("{\"ready\": %d}\n", getpid());
		for (;;)
			syscall(SYS_getppid);
	} else {
		return 2;
	}
	return 0;
}
