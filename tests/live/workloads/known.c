/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Servers that know how long each part of their requests took, by their own clock. Each has a
 * client of its own, in another process. `known WHAT`; see main(). Most are an event loop with two
 * connections at least: whoever serves one alone may poll for something else.
 */
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "peers.h"

#define LINKS 4

/* What the processes tell each other. */
static struct shared {
	volatile uint64_t sent_ns[LINKS]; /* by the client, before the call that sends */
	volatile uint64_t begin_ns;       /* when the server begins to wait */
	volatile uint64_t ns;             /* the sum that is known */
	volatile uint64_t count;
	volatile uint64_t bytes;
} *shared;

static union address address;
static int listener, loop;

static void log_known(const char *phase, const char *comm, uint64_t ns, uint64_t count)
{
	log_line("{\"phase\": \"%s\", \"comm\": \"%s\", \"ns\": %lu, \"count\": %lu}\n", phase,
		 comm, ns, count);
}

static void expect(int fd, const char *words)
{
	char text[MESSAGE_BYTES];

	do {
		if (!hear(fd, text))
			die("the server closed");
	} while (!strstr(text, words));
}

/* A connection that the loop watches; the first byte of the request is its number. */
static int add_link(int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	if (epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event))
		die("epoll_ctl");
	return fd;
}

static int next_ready(void)
{
	struct epoll_event event;

	shared->begin_ns = now_ns();
	while (epoll_wait(loop, &event, 1, -1) < 0)
		if (errno != EINTR)
			die("epoll_wait");
	return event.data.fd;
}

/* Connects `count` times, and asks once on each, so that the server knows that it has several. */
static void connect_links(int fds[LINKS], int count)
{
	for (int i = 0; i < count; i++) {
		fds[i] = connect_to(&address);
		ask(fds[i], "/first");
		expect(fds[i], "\nok\n");
	}
}

static void accept_links(int fds[LINKS], int count)
{
	char text[MESSAGE_BYTES];

	loop = epoll_create1(0);
	for (int i = 0; i < count; i++) {
		fds[i] = add_link(accept_from(listener));
		hear(next_ready(), text);
		say(fds[i], ANSWER);
	}
}

/* --- 1 of 50 requests sleeps 10 ms ------------------------------------------------------------ */

/* Makes so many calls that few of them are timed. */
static void keep_busy(void)
{
	for (int i = 0; i < 300; i++)
		getppid();
	sleep_ns(MS / 2);
}

static void ask_plainly(void)
{
	int fd = connect_to(&address);

	for (int i = 0; i < 200; i++) {
		keep_busy();
		say(fd, "GET /sleeps HTTP/1.1\r\nHost: here\r\nX-Request-Id: order-17\r\n"
			"TraceParent:  00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
			"\r\n");
		expect(fd, "\nok\n");
	}
}

static void serve_sleeping(void)
{
	int fd = accept_from(listener);
	char text[MESSAGE_BYTES];
	uint64_t ns = 0, begin_ns;

	for (int i = 0; hear(fd, text); i++) {
		if (i % 50 == 0) {
			begin_ns = now_ns();
			sleep_ns(10 * MS);
			ns += now_ns() - begin_ns;
		}
		say(fd, ANSWER);
	}
	log_known("sleeps", "known", ns, 200);
}

/* --- four threads want one lock -------------------------------------------------------------- */

static pthread_mutex_t convoy = PTHREAD_MUTEX_INITIALIZER;
static uint64_t convoy_ns;

static void *ask_in_convoy(void *arg)
{
	int fd = connect_to(&address);

	for (int i = 0; i < 25; i++) {
		ask(fd, "/convoy");
		expect(fd, "\nok\n");
	}
	close(fd);
	return arg;
}

static void *serve_in_convoy(void *arg)
{
	int fd = accept_from(listener);
	char text[MESSAGE_BYTES];
	uint64_t ns = 0;

	while (hear(fd, text)) {
		ns -= now_ns();
		pthread_mutex_lock(&convoy);
		ns += now_ns();
		sleep_ns(2 * MS);
		pthread_mutex_unlock(&convoy);
		say(fd, ANSWER);
	}
	__sync_fetch_and_add(&convoy_ns, ns);
	return arg;
}

static void run_convoy(void *(*body)(void *))
{
	pthread_t threads[LINKS];

	for (int i = 0; i < LINKS; i++)
		threads[i] = start_thread(body, NULL);
	for (int i = 0; i < LINKS; i++)
		pthread_join(threads[i], NULL);
}

static void ask_convoy(void)
{
	run_convoy(ask_in_convoy);
}

static void serve_convoy(void)
{
	run_convoy(serve_in_convoy);
	log_known("convoy", "known", convoy_ns, LINKS * 25UL);
}

/* --- another server delays 1 of 20 answers by 5 ms ---------------------------------------------
 */

static void ask_delayed(void)
{
	int fds[LINKS];

	connect_links(fds, 2);
	for (int i = 0; i < 100; i++) {
		ask(fds[i & 1], "/delayed");
		expect(fds[i & 1], "\nok\n");
	}
}

/* Sums up how long the other server waited, from when it polled until it is answered. */
static void delay_answers(int fd)
{
	char text[MESSAGE_BYTES];

	set_name("behind");
	for (int i = 0; hear(fd, text); i++) {
		if (i % 20 == 0)
			sleep_ns(5 * MS);
		shared->ns += now_ns() - shared->begin_ns;
		say(fd, ANSWER);
	}
	_exit(0);
}

static void serve_delayed(void)
{
	union address behind;
	int fds[LINKS], other = listen_at(false, &behind), ready, asked = -1;
	char text[MESSAGE_BYTES];
	pid_t pid = fork();

	if (!pid) {
		close(listener);
		delay_answers(accept_from(other));
	}
	other = connect_to(&behind);
	accept_links(fds, 2);
	add_link(other);
	while (hear(ready = next_ready(), text)) {
		if (ready == other) {
			say(asked, ANSWER);
			continue;
		}
		asked = ready;
		ask(other, "/behind");
	}
	close(other);
	await_child(pid);
	log_known("delayed", "known", shared->ns, 100);
}

/* --- requests of several go to another server on one connection, and are answered together -----
 */

#define ROUNDS  40
#define SHARERS 3
#define COMMAND "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n"

static void ask_together(void)
{
	int fds[LINKS];

	connect_links(fds, SHARERS);
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < SHARERS; j++)
			ask(fds[j], i ? "/shared" : "/before");
		for (int j = 0; j < SHARERS; j++)
			expect(fds[j], "\nok\n");
	}
}

static void answer_together(int fd)
{
	char text[MESSAGE_BYTES];
	unsigned int count;

	set_name("behind");
	while (hear(fd, text)) {
		sleep_ns(4 * MS);
		count = count_in(text, "GET");
		for (*text = '\0'; count > 0; count--)
			strcat(text, "+OK\r\n");
		say(fd, text);
	}
	_exit(0);
}

/* Serves one round. ns: how long the requests waited for the other server, and were worked for. */
static bool serve_round(int other, uint64_t ns[2])
{
	uint64_t read_ns[SHARERS], heard_ns, begin_ns;
	char text[MESSAGE_BYTES], commands[SHARERS * sizeof(COMMAND)] = "";
	int fds[SHARERS];

	for (int i = 0; i < SHARERS; i++) {
		fds[i] = next_ready();
		if (!hear(fds[i], text))
			return false;
		read_ns[i] = now_ns();
		strcat(commands, COMMAND);
	}
	say(other, commands);
	if (next_ready() != other || !hear(other, text))
		die("the other server");
	heard_ns = now_ns();
	for (int i = 0; i < SHARERS; i++) {
		ns[0] += heard_ns - read_ns[i];
		begin_ns = now_ns();
		spin_until(begin_ns + MS / 2);
		say(fds[i], ANSWER);
		ns[1] += now_ns() - begin_ns;
	}
	return true;
}

static void serve_together(void)
{
	union address behind;
	int fds[LINKS], other = listen_at(false, &behind);
	uint64_t ns[2] = {};
	pid_t pid = fork();

	if (!pid) {
		close(listener);
		answer_together(accept_from(other));
	}
	other = connect_to(&behind);
	accept_links(fds, SHARERS);
	add_link(other);
	serve_round(other, ns);
	memset(ns, 0, sizeof(ns));
	while (serve_round(other, ns))
		;
	close(other);
	await_child(pid);
	log_known("shared", "known", ns[0], (ROUNDS - 1) * SHARERS);
	log_known("worked", "known", ns[1], (ROUNDS - 1) * SHARERS);
}

/* --- one request burns 30 ms while others wait --------------------------------------------------
 */

#define BURNS 10

static void ask_burning(void)
{
	int fds[LINKS];

	connect_links(fds, LINKS);
	for (int i = 0; i < BURNS; i++) {
		ask(fds[0], "/burns");
		sleep_ns(5 * MS);
		for (int j = 1; j < LINKS; j++) {
			shared->sent_ns[j] = now_ns();
			ask(fds[j], "/short");
		}
		for (int j = 0; j < LINKS; j++)
			expect(fds[j], "\nok\n");
	}
}

static void serve_burning(void)
{
	uint64_t ns = 0, end_ns = 0;
	char text[MESSAGE_BYTES];
	int fds[LINKS], ready;

	accept_links(fds, LINKS);
	while (hear(ready = next_ready(), text)) {
		if (ready == fds[0]) {
			spin_until(now_ns() + 30 * MS);
			end_ns = now_ns();
		} else {
			for (int j = 1; j < LINKS; j++)
				if (ready == fds[j] && end_ns > shared->sent_ns[j])
					ns += end_ns - shared->sent_ns[j];
		}
		say(ready, ANSWER);
	}
	log_known("burns", "known", ns, BURNS * (LINKS - 1UL));
}

/* --- a request opens a stream ------------------------------------------------------------------
 */

#define MESSAGES 10

static void ask_for_stream(void)
{
	int fd = connect_to(&address);

	say(fd, "GET /stream HTTP/1.1\r\nUpgrade: websocket\r\n\r\n");
	expect(fd, "101");
	for (int i = 0; i < MESSAGES; i++) {
		say(fd, "ping");
		expect(fd, "pong");
	}
}

static void serve_stream(void)
{
	int fd = accept_from(listener);
	char text[MESSAGE_BYTES];

	hear(fd, text);
	say(fd, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
	while (hear(fd, text)) {
		sleep_ns(5 * MS);
		say(fd, "pong");
	}
	log_known("stream", "known", MESSAGES * 5 * MS, MESSAGES);
}

/* --- a client that reads slowly ----------------------------------------------------------------
 */

#define LARGE (8 << 20)

static void read_slowly(void)
{
	static char chunk[256 << 10];
	int fds[LINKS];
	ssize_t size;

	connect_links(fds, 2);
	ask(fds[1], "/large");
	/* Until what the kernel takes is full, even on a slow machine. */
	sleep_ns(100 * MS);
	for (size_t all = 0; all < LARGE; all += (size_t)size) {
		sleep_ns(2 * MS);
		size = recv(fds[1], chunk, sizeof(chunk), 0);
		if (size <= 0)
			die("recv");
	}
}

/* Sends until the kernel takes no more; then waits until it does. */
static void serve_large(void)
{
	static char large[LARGE];
	struct epoll_event event = { .events = EPOLLIN | EPOLLOUT };
	uint64_t ns = 0, begin_ns;
	char text[MESSAGE_BYTES];
	int fds[LINKS], ready;
	size_t all = 0;
	ssize_t size;

	accept_links(fds, 2);
	ready = next_ready();
	hear(ready, text);
	event.data.fd = ready;
	epoll_ctl(loop, EPOLL_CTL_MOD, ready, &event);
	while (all < LARGE) {
		size = send(ready, large + all, LARGE - all, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (size < 0 && errno != EAGAIN)
			die("send");
		all += size > 0 ? (size_t)size : 0;
		if (all == LARGE)
			break;
		begin_ns = now_ns();
		next_ready();
		ns += now_ns() - begin_ns;
	}
	log_known("large", "known", ns, 1);
}

/* --- a client that sends its body in three parts ------------------------------------------------
 */

#define POSTS 5

static void send_in_parts(void)
{
	int fds[LINKS];

	connect_links(fds, 2);
	for (int i = 0; i < POSTS; i++) {
		say(fds[1], "POST /parts HTTP/1.1\r\nContent-Length: 8\r\n\r\n");
		for (int j = 0; j < 2; j++) {
			sleep_ns(20 * MS);
			shared->ns += now_ns() - shared->begin_ns;
			say(fds[1], "part");
		}
		expect(fds[1], "\nok\n");
	}
}

static void serve_parts(void)
{
	char text[MESSAGE_BYTES];
	int fds[LINKS], parts = 0;

	accept_links(fds, 2);
	while (hear(next_ready(), text)) {
		parts += (int)count_in(text, "part") - (int)count_in(text, "/parts");
		if (parts < 2)
			continue;
		say(fds[1], ANSWER);
		parts = 0;
	}
	log_known("parts", "known", shared->ns, POSTS);
}

/* --- what a handler does not measure -----------------------------------------------------------
 */

#define STATS 127

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static int holds[2];

static void *hold(void *arg)
{
	set_name("holder");
	for (;;) {
		await_token(holds[0]);
		pthread_mutex_lock(&held);
		shared->bytes = 1;
		sleep_ns(21 * MS);
		pthread_mutex_unlock(&held);
	}
	return arg;
}

static void pin_here(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void *spin(void *arg)
{
	set_name("spinner");
	pin_here();
	setpriority(PRIO_PROCESS, (id_t)gettid(), 6);
	while (!*(volatile bool *)arg)
		spin_until(now_ns() + MS);
	return arg;
}

static uint64_t ready_ns(void)
{
	unsigned long ns = 0;
	char text[64] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0 || sscanf(text, "%*u %lu", &ns) != 1)
		die("schedstat");
	close(fd);
	return ns;
}

static void work(uint64_t ns[3])
{
	static char path[4001];
	struct stat status;
	uint64_t end_ns;

	/* A long way to the same folder, so that each call takes time. */
	for (int i = 0; i < 4000; i++)
		path[i] = i % 2 ? '.' : '/';

	send_token(holds[1]);
	while (!shared->bytes)
		sleep_ns(MS / 10);
	shared->bytes = 0;
	ns[0] -= now_ns();
	pthread_mutex_lock(&held);
	ns[0] += now_ns();
	pthread_mutex_unlock(&held);
	ns[1] -= now_ns();
	for (int i = 0; i < STATS; i++)
		stat(path, &status);
	ns[1] += now_ns();
	end_ns = read_clock(CLOCK_THREAD_CPUTIME_ID) + 47 * MS;
	while (read_clock(CLOCK_THREAD_CPUTIME_ID) < end_ns)
		for (volatile int i = 0; i < 5000; i++)
			;
}

static void ask_promise(void)
{
	int fd = connect_to(&address);

	for (int i = 0; i < 5; i++) {
		ask(fd, "/promise");
		expect(fd, "\nok\n");
	}
}

static void serve_promise(void)
{
	uint64_t ns[3] = {}, before_ns, all_ns = 0;
	static bool is_over;
	char text[MESSAGE_BYTES];
	pthread_t spinner;
	int fd;

	make_pipe(holds);
	start_thread(hold, NULL);
	spinner = start_thread(spin, &is_over);
	fd = accept_from(listener);
	pin_here();
	while (hear(fd, text)) {
		before_ns = ready_ns();
		all_ns -= now_ns();
		work(ns);
		all_ns += now_ns();
		ns[2] += ready_ns() - before_ns;
		say(fd, ANSWER);
	}
	is_over = true;
	pthread_join(spinner, NULL);
	log_known("lock", "known", ns[0], 5);
	log_known("stat", "known", ns[1], 5UL * STATS);
	log_known("ready", "known", ns[2], 5);
	log_known("handler", "known", all_ns, 5);
}

/* --------------------------------------------------------------------------------------------- */

static const struct scene {
	const char *name;
	void (*serve)(void);
	void (*ask)(void);
} scenes[] = {
	{ "sleeps", serve_sleeping, ask_plainly },  { "convoy", serve_convoy, ask_convoy },
	{ "delayed", serve_delayed, ask_delayed },  { "burns", serve_burning, ask_burning },
	{ "stream", serve_stream, ask_for_stream }, { "large", serve_large, read_slowly },
	{ "parts", serve_parts, send_in_parts },    { "promise", serve_promise, ask_promise },
	{ "shared", serve_together, ask_together },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(scenes) / sizeof(*scenes); i++) {
		pid_t client;

		if (strcmp(argv[1], scenes[i].name))
			continue;
		shared = share(sizeof(*shared));
		listener = listen_at(false, &address);
		client = fork();
		if (!client) {
			set_name("asker");
			close(listener);
			scenes[i].ask();
			_exit(0);
		}
		scenes[i].serve();
		await_child(client);
		return 0;
	}
	return 2;
}
