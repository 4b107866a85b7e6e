/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rejected: a thread. Linux lets no process end while one of its threads waits for a file system
 * that does not answer. Rejected: a budget inside the code that reads: most memory is taken by
 * libelf and libdw, which have none.
 */
#include "base/helper.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper_setup.h"
#include "base/parcel.h"

#define LOOK_MS 50
#define LOOK_NS (LOOK_MS * UINT64_C(1000000))
/* CPU time that the kernel charges for an interrupted wait; not work. */
#define LEAST_WORK_NS 50000
/* Once the total stall time is used up, a helper that stalls again for this long is given up. */
#define LEAST_STALL_NS UINT64_C(200000000)
/* The most that counts as quiet time between two looks. Beyond that, gapless itself did not run. */
#define MOST_QUIET_NS (2 * LOOK_NS)
#define MOST_QUESTION (1U << 20)
#define MOST_ANSWER   (UINT64_C(1) << 32)
/* Of a helper for files, while it works on one question. */
#define MOST_REQUEST  8192 /* bytes */
#define MOST_REQUESTS 128
#define OWN_PIDS      256 /* number of pids that are remembered */
#define MOST_LEFT     32

struct helper {
	struct helper_work work;
	pid_t pid; /* 0: none */
	int socket;
	bool stalled;
	uint64_t stalled_ns;
	uint64_t process_cpu_ns; /* of the current process, as last read */
	_Atomic uint64_t cpu_ns; /* of all processes of this helper */
	pid_t left[MOST_LEFT];   /* processes left behind that have not ended yet; 0: free */
};

static _Atomic uint64_t all_cpu_ns;
static _Atomic pid_t own_pids[OWN_PIDS];
static _Atomic unsigned own_count;

static int send_parcel(int socket, int err, const struct helper_parcel *parcel)
{
	const struct parcel_head head = { .size = parcel->size, .err = err };

	return parcel__send(socket, &head, parcel->bytes, parcel->fd);
}

void helper__release(struct helper_parcel *parcel)
{
	free(parcel->bytes);
	if (parcel->fd >= 0)
		close(parcel->fd);
	*parcel = (struct helper_parcel) { .fd = -1 };
}

/* --- in the helper ---------------------------------------------------------------------------- */

int helper__request(const void *bytes, size_t size)
{
	const struct parcel_head request = { .size = size, .kind = PARCEL_REQUEST };
	struct parcel_head head;
	int fd = -1;

	if (parcel__send(HELPER_SOCKET, &request, bytes, -1) ||
	    parcel__receive_all(HELPER_SOCKET, &head, sizeof(head), &fd) || head.size)
		_exit(1);
	if (!head.err && fd < 0)
		head.err = -EMFILE; /* the kernel dropped the descriptor */
	if (!head.err)
		return fd;
	close_p(&fd);
	return head.err;
}

static bool answer_one(const struct helper_work *work)
{
	struct helper_parcel question = { .fd = -1 }, answer = { .fd = -1 };
	struct parcel_head head;
	int err;

	if (parcel__receive_all(HELPER_SOCKET, &head, sizeof(head), &question.fd) ||
	    head.size > MOST_QUESTION)
		return false;
	question.size = head.size;
	question.bytes = malloc(head.size + 1);
	if (!question.bytes ||
	    parcel__receive_all(HELPER_SOCKET, question.bytes, question.size, &question.fd))
		return false;
	err = work->serve(work->context, &question, &answer);
	free(question.bytes);
	if (send_parcel(HELPER_SOCKET, err, &answer))
		return false;
	helper__release(&answer);
	return true;
}

static void help(const struct helper_work *work, int socket, pid_t parent)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ };
	sigset_t none;

	/* Ctrl-C reaches every process of the terminal, but the parent decides what to do. */
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	pthread_setname_np(pthread_self(), work->name);
	if (helper_setup__run(work, socket))
		_exit(1);
	if (work->confine && work->confine(work->context))
		_exit(1);
	while (answer_one(work))
		;
	_exit(0);
}

/* --- its life --------------------------------------------------------------------------------- */

static void read_cpu(struct helper *helper)
{
	struct timespec used;
	clockid_t clock;
	uint64_t ns;

	if (!helper->pid || clock_getcpuclockid(helper->pid, &clock) || clock_gettime(clock, &used))
		return;
	ns = (uint64_t)used.tv_sec * 1000000000 + (uint64_t)used.tv_nsec;
	if (ns <= helper->process_cpu_ns)
		return;
	helper->cpu_ns += ns - helper->process_cpu_ns;
	all_cpu_ns += ns - helper->process_cpu_ns;
	helper->process_cpu_ns = ns;
}

static void reap(struct helper *helper)
{
	for (size_t i = 0; i < MOST_LEFT; i++)
		if (helper->left[i] && waitpid(helper->left[i], NULL, WNOHANG))
			helper->left[i] = 0;
}

static int start(struct helper *helper)
{
	int ends[2], err;
	pid_t pid, parent = getpid();

	reap(helper);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	pid = fork();
	if (!pid)
		help(&helper->work, ends[1], parent);
	err = pid < 0 ? -errno : 0;
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	helper->pid = pid;
	helper->socket = ends[0];
	helper->process_cpu_ns = 0;
	own_pids[own_count++ % OWN_PIDS] = pid;
	return 0;
}

/* A process that hangs in the kernel ends later, or never. It is left behind. */
void helper__restart(struct helper *helper)
{
	size_t place = 0;

	if (!helper->pid)
		return;
	read_cpu(helper);
	close(helper->socket);
	kill(helper->pid, SIGKILL);
	while (place < MOST_LEFT - 1 && helper->left[place])
		place++;
	helper->left[place] = helper->pid;
	reap(helper);
	for (int i = 0; i < 10 && helper->left[place]; i++) {
		(void)poll(NULL, 0, 1 + i);
		reap(helper);
	}
	helper->pid = 0;
	helper->socket = -1;
}

int helper__new(const struct helper_work *work, struct helper **ret)
{
	struct helper *helper = calloc(1, sizeof(*helper));

	if (!helper)
		return -ENOMEM;
	helper->work = *work;
	helper->socket = -1;
	*ret = helper;
	return 0;
}

void helper__free(struct helper *helper)
{
	if (!helper)
		return;
	helper__restart(helper);
	free(helper);
}

bool helper__stalled(const struct helper *helper)
{
	return helper->stalled;
}

bool helper__is_fresh(const struct helper *helper)
{
	return !helper->pid;
}

uint64_t helper__cpu_ns(const struct helper *helper)
{
	return helper->cpu_ns;
}

uint64_t helper__all_cpu_ns(void)
{
	return all_cpu_ns;
}

bool helper__is_own(pid_t pid)
{
	for (unsigned i = 0; i < own_count && i < OWN_PIDS; i++)
		if (own_pids[i] == pid)
			return true;
	return false;
}

/* --- asking ----------------------------------------------------------------------------------- */

struct waiting {
	struct helper *helper;
	const struct helper_patience *patience;
	uint64_t began_cpu_ns; /* CPU time when the question was asked */
	uint64_t seen_cpu_ns;  /* CPU time when work was last seen */
	uint64_t quiet_ns;     /* time without work and without bytes of the answer */
	uint64_t total_ns;     /* all time so far, without that in provide() */
	uint64_t looked_ns;    /* the time up to which both are counted */
	unsigned requests;
};

static uint64_t most_quiet_ns(const struct helper *helper, const struct helper_patience *patience)
{
	uint64_t left_ns = patience->stall_ns;

	if (!patience->in_full)
		left_ns -= helper->stalled_ns < left_ns ? helper->stalled_ns : left_ns;
	return left_ns > LEAST_STALL_NS ? left_ns : LEAST_STALL_NS;
}

/*
 * A helper that sends a byte from time to time, or that works a little, is never quiet and uses
 * little CPU time. This ends it all the same. Real work has the CPU for a quarter of the time.
 */
static uint64_t most_ns(const struct helper_patience *patience)
{
	return patience->stall_ns + 4 * patience->cpu_ns;
}

/* Checks whether the helper is working. */
static int judge(struct waiting *waiting)
{
	const struct helper_patience *patience = waiting->patience;
	struct helper *helper = waiting->helper;
	uint64_t now_ns = clock__now_ns(), since_ns = now_ns - waiting->looked_ns;
	int seen = patience->look ? patience->look(patience->context) : 0;

	if (seen < 0)
		return seen;
	waiting->looked_ns = now_ns;
	since_ns = since_ns < MOST_QUIET_NS ? since_ns : MOST_QUIET_NS;
	waiting->quiet_ns += since_ns;
	waiting->total_ns += since_ns;
	read_cpu(helper);
	helper->stalled = false;
	if (helper->process_cpu_ns - waiting->began_cpu_ns > patience->cpu_ns)
		return -ETIMEDOUT;
	if (waiting->total_ns > most_ns(patience)) {
		helper->stalled = true;
		return -ETIMEDOUT;
	}
	if (seen || helper->process_cpu_ns - waiting->seen_cpu_ns > LEAST_WORK_NS) {
		waiting->seen_cpu_ns = helper->process_cpu_ns;
		waiting->quiet_ns = 0;
		return 0;
	}
	if (waiting->quiet_ns < most_quiet_ns(helper, patience))
		return 0;
	helper->stalled_ns += waiting->quiet_ns;
	helper->stalled = true;
	return -ETIMEDOUT;
}

/* 1: the socket is ready; 0: not yet; or an error: the helper is given up. */
static int wait_for(struct waiting *waiting, short events)
{
	struct pollfd wish = { .fd = waiting->helper->socket, .events = events };
	bool is_ready = poll(&wish, 1, LOOK_MS) > 0;
	int err = 0;

	if (is_ready)
		waiting->quiet_ns = 0;
	/* Also if bytes arrive: the helper decides when. */
	if (!is_ready || clock__now_ns() - waiting->looked_ns > LOOK_NS)
		err = judge(waiting);
	return err ? err : is_ready;
}

static int wait_to_send(void *context)
{
	int ready = wait_for(context, POLLOUT);

	return ready < 0 ? ready : 0;
}

static int send_patiently(struct waiting *waiting, int err, const struct helper_parcel *parcel)
{
	const struct parcel_head head = { .size = parcel->size, .err = err };

	return parcel__send_patiently(waiting->helper->socket, &head, parcel->bytes, parcel->fd,
				      wait_to_send, waiting);
}

static int receive(struct waiting *waiting, void *to, size_t size, int *ret_fd)
{
	char *at = to;
	ssize_t got;
	int ready;

	while (size) {
		ready = wait_for(waiting, POLLIN);
		if (ready < 0)
			return ready;
		if (!ready)
			continue;
		got = parcel__receive_some(waiting->helper->socket, at, size, ret_fd);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPIPE;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

/* The helper needs a file. 0: it was told the result, whatever that is. */
static int provide(struct waiting *waiting, const struct parcel_head *head)
{
	struct helper *helper = waiting->helper;
	struct helper_parcel request = { .fd = -1, .size = head->size };
	struct helper_parcel file = { .fd = -1 };
	char bytes[MOST_REQUEST];
	int err;

	if (!helper->work.provide || head->size > sizeof(bytes) ||
	    ++waiting->requests > MOST_REQUESTS)
		return -EPIPE;
	err = receive(waiting, bytes, head->size, &request.fd);
	close_p(&request.fd);
	if (err)
		return err;
	request.bytes = bytes;
	request.fd = -1;
	file.fd = helper->work.provide(helper->work.context, &request);
	/* The file system does not respond: as if the helper itself had waited for it. */
	if (file.fd == -ETIMEDOUT) {
		helper->stalled = true;
		return -ETIMEDOUT;
	}
	waiting->looked_ns = clock__now_ns();
	err = send_patiently(waiting, file.fd < 0 ? file.fd : 0, &file);
	close_p(&file.fd);
	return err;
}

static int receive_parcel(struct waiting *waiting, struct helper_parcel *ret, int *ret_result)
{
	struct parcel_head head;
	int err = receive(waiting, &head, sizeof(head), &ret->fd);

	while (!err && head.kind == PARCEL_REQUEST) {
		err = provide(waiting, &head);
		if (!err)
			err = receive(waiting, &head, sizeof(head), &ret->fd);
	}
	if (err)
		return err;
	if (head.size > waiting->patience->most_bytes || head.size > MOST_ANSWER)
		return -EFBIG;
	ret->size = head.size;
	ret->bytes = malloc(head.size + 1);
	if (!ret->bytes)
		return -EFBIG;
	err = receive(waiting, ret->bytes, head.size, &ret->fd);
	*ret_result = head.err > 0 ? -EBADMSG : head.err;
	return err;
}

int helper__ask(struct helper *helper, const struct helper_parcel *question,
		const struct helper_patience *patience, struct helper_parcel *ret)
{
	struct helper_parcel answer = { .fd = -1 };
	struct waiting waiting = { .helper = helper, .patience = patience };
	int result = 0, err = helper->pid ? 0 : start(helper);

	if (err)
		return -ECHILD;
	read_cpu(helper);
	waiting.began_cpu_ns = waiting.seen_cpu_ns = helper->process_cpu_ns;
	waiting.looked_ns = clock__now_ns();
	err = send_patiently(&waiting, 0, question);
	if (!err)
		err = receive_parcel(&waiting, &answer, &result);
	read_cpu(helper);
	if (err)
		helper__restart(helper);
	if (err || result) {
		helper__release(&answer);
		return err ? err : result;
	}
	*ret = answer;
	return 0;
}
