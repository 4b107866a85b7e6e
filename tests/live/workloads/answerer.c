/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Two programs of which one is recorded: 'ask' waits for what 'serve' does.
 *
 *   answerer serve|ask tcp|unix|threads|pipe|flock|fcntl|storm PATH COUNT
 *
 * For each of COUNT requests the server sleeps in think() and burns CPU time in work(). PATH is a
 * socket, or a FIFO, or a locked file; for TCP, the file has the port's number. With a lock the
 * server holds it for as long as COUNT answers take, and 'ask' wants it. With 'threads' each
 * request has its own connection, and a new thread answers it. In a storm COUNT threads answer in
 * turn.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "workload.h"

#define THINK_NS (200 * MS)
#define WORK_NS  (50 * MS)

static const char *path;
static int count;

/* The two places that a report has to name. */
static __attribute__((noinline)) void think(void)
{
	sleep_ns(THINK_NS);
	__asm__ volatile("");
}

static __attribute__((noinline)) void work(void)
{
	uint64_t end_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;

	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void answer(void)
{
	think();
	work();
}

static void ready(void)
{
	log_line("{\"ready\": %d}\n", getpid());
}

/* --- sockets --------------------------------------------------------------------------------- */

static struct sockaddr_un unix_address(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

static void write_port(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);
	FILE *file = fopen(path, "we");

	if (!file || getsockname(fd, (void *)&address, &size))
		die(path);
	fprintf(file, "%d\n", ntohs(address.sin_port));
	fclose(file);
}

static int listen_at(int family)
{
	struct sockaddr_in inet = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = unix_address();
	int fd = socket(family, SOCK_STREAM, 0);

	if (fd < 0 || bind(fd, family == AF_UNIX ? (void *)&local : (void *)&inet,
			   family == AF_UNIX ? sizeof(local) : sizeof(inet)))
		die("bind");
	if (listen(fd, 1))
		die("listen");
	if (family == AF_INET)
		write_port(fd);
	return fd;
}

static int connect_to(int family)
{
	struct sockaddr_in inet = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un local = unix_address();
	int fd = socket(family, SOCK_STREAM, 0), port = 0;
	FILE *file = family == AF_INET ? fopen(path, "re") : NULL;

	if (file && fscanf(file, "%d", &port) != 1)
		die(path);
	if (file)
		fclose(file);
	inet.sin_port = htons((uint16_t)port);
	if (fd < 0 || connect(fd, family == AF_UNIX ? (void *)&local : (void *)&inet,
			      family == AF_UNIX ? sizeof(local) : sizeof(inet)))
		die("connect");
	return fd;
}

static void serve_socket(int family)
{
	int fd = listen_at(family);

	ready();
	fd = accept(fd, NULL, NULL);
	if (fd < 0)
		die("accept");
	for (int i = 0; i < count; i++) {
		await_token(fd);
		answer();
		send_token(fd);
	}
}

static void ask_socket(int family)
{
	int fd = connect_to(family);

	for (int i = 0; i < count; i++) {
		send_token(fd);
		await_token(fd);
	}
}

/* --- a thread for each request ---------------------------------------------------------------- */

static void *handle(void *context)
{
	int fd = (int)(intptr_t)context;

	set_name("handler");
	await_token(fd);
	answer();
	send_token(fd);
	close(fd);
	return NULL;
}

static void serve_by_threads(void)
{
	int fd = listen_at(AF_INET);

	ready();
	for (int i = 0; i < count; i++) {
		int connection = accept(fd, NULL, NULL);

		if (connection < 0)
			die("accept");
		start_thread(handle, (void *)(intptr_t)connection);
	}
}

static void ask_threads(void)
{
	for (int i = 0; i < count; i++) {
		int fd = connect_to(AF_INET);

		send_token(fd);
		await_token(fd);
		close(fd);
	}
}

/* --- whether the asker waits already ---------------------------------------------------------- */

#define PAUSE_NS (2 * MS)

static int asker;

/* The asker leaves its pid here. */
static void name_pid_file(char *ret, size_t size)
{
	snprintf(ret, size, "%s.pid", path);
}

static void await_asker(void)
{
	char name[128];
	FILE *file;

	name_pid_file(name, sizeof(name));
	while (!(file = fopen(name, "re")) || fscanf(file, "%d", &asker) != 1) {
		if (file)
			fclose(file);
		sleep_ns(10 * MS);
	}
	fclose(file);
	unlink(name);
}

static bool asker_sleeps(void)
{
	char name[64], state = 0;
	FILE *file;

	snprintf(name, sizeof(name), "/proc/%d/stat", asker);
	file = fopen(name, "re");
	if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		die(name);
	fclose(file);
	return state == 'S';
}

/* It sleeps for nothing else but what it asks for. */
static void await_its_sleep(void)
{
	while (!asker_sleeps())
		sleep_ns(PAUSE_NS);
}

static void tell_pid(void)
{
	char name[128];
	FILE *file;

	name_pid_file(name, sizeof(name));
	file = fopen(name, "we");
	if (!file)
		die(name);
	fprintf(file, "%d\n", getpid());
	fclose(file);
}

/* --- pipes and locks ------------------------------------------------------------------------- */

static int open_fifo(int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		die(path);
	return fd;
}

/* Without a request: only the end of the wait shows who writes. */
static void serve_pipe(void)
{
	int fd;

	if (mkfifo(path, 0600))
		die(path);
	ready();
	fd = open_fifo(O_WRONLY);
	for (int i = 0; i < count; i++) {
		answer();
		send_token(fd);
	}
}

static void ask_pipe(void)
{
	int fd = open_fifo(O_RDONLY);

	for (int i = 0; i < count; i++)
		await_token(fd);
}

static int take_lock(bool record)
{
	struct flock whole = { .l_type = F_WRLCK };
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || (record ? fcntl(fd, F_SETLKW, &whole) : flock(fd, LOCK_EX)))
		die(path);
	return fd;
}

static void serve_lock(bool record)
{
	int fd = take_lock(record);

	ready();
	await_asker();
	await_its_sleep();
	for (int i = 0; i < count; i++)
		answer();
	close(fd);
}

static void ask_lock(bool record)
{
	tell_pid();
	take_lock(record);
}

/* --- a storm --------------------------------------------------------------------------------- */

#define STORM_TOKENS 2

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t all_had_theirs;
static int storm_fd;

static void *storm(void *unused)
{
	pthread_mutex_lock(&turn);
	/* Twice: an interrupt can prevent a note of the first waking, before 6.12. */
	for (int i = 0; i < STORM_TOKENS; i++) {
		await_its_sleep();
		sleep_ns(PAUSE_NS);
		send_token(storm_fd);
	}
	pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&all_had_theirs);
	/* They live until the recording has ended. */
	pause();
	return unused;
}

static void serve_storm(void)
{
	if (mkfifo(path, 0600))
		die(path);
	pthread_barrier_init(&all_had_theirs, NULL, (unsigned)count);
	/* For both ways, so that the client need not wait for this thread. */
	storm_fd = open_fifo(O_RDWR);
	pthread_mutex_lock(&turn);
	for (int i = 0; i < count; i++)
		start_thread(storm, NULL);
	ready();
	await_asker();
	pthread_mutex_unlock(&turn);
}

static void ask_storm(void)
{
	int fd = open_fifo(O_RDONLY);

	tell_pid();
	for (int i = 0; i < count * STORM_TOKENS; i++)
		await_token(fd);
	/* Time for one more snapshot. */
	sleep_ns(1000 * MS);
}

/* --- */

static void serve(const char *what)
{
	struct phase phase = phase_begin(what, "answerer");

	if (!strcmp(what, "tcp") || !strcmp(what, "unix"))
		serve_socket(!strcmp(what, "tcp") ? AF_INET : AF_UNIX);
	else if (!strcmp(what, "threads"))
		serve_by_threads();
	else if (!strcmp(what, "pipe"))
		serve_pipe();
	else if (!strcmp(what, "storm"))
		serve_storm();
	else
		serve_lock(!strcmp(what, "fcntl"));
	/* The recording ends first, so that the end of this thread is not in it. */
	await_token(STDIN_FILENO);
	phase_end(&phase);
}

static void ask(const char *what)
{
	struct phase phase = phase_begin(what, "asker");

	if (!strcmp(what, "tcp") || !strcmp(what, "unix"))
		ask_socket(!strcmp(what, "tcp") ? AF_INET : AF_UNIX);
	else if (!strcmp(what, "threads"))
		ask_threads();
	else if (!strcmp(what, "pipe"))
		ask_pipe();
	else if (!strcmp(what, "storm"))
		ask_storm();
	else
		ask_lock(!strcmp(what, "fcntl"));
	phase_end(&phase);
}

int main(int argc, char **argv)
{
	if (argc != 5)
		return 2;
	path = argv[3];
	count = atoi(argv[4]);
	if (!strcmp(argv[1], "serve"))
		serve(argv[2]);
	else
		ask(argv[2]);
	return 0;
}
