/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rejected: a thread. Linux lets no process end while one of its threads waits for a file system
 * that does not answer. Rejected: a budget inside the code that reads: most memory is taken by
 * libelf and libdw, which have none.
 */
#include "base/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/parcel.h"

#define LOOK_MS 50
/* CPU time that the kernel charges for an interrupted wait; not work. */
#define LEAST_WORK_NS 50000
/* Once the total stall time is used up, a helper that stalls again for this long is given up. */
#define LEAST_STALL_NS UINT64_C(200000000)
/* The most that counts as quiet time between two looks. Beyond that, gapless itself did not run. */
#define MOST_QUIET_NS (2 * LOOK_MS * UINT64_C(1000000))
#define MOST_QUESTION (1U << 20)
#define MOST_ANSWER   (UINT64_C(1) << 32)
/* Of a helper for files, while it works on one question. */
#define MOST_REQUEST  8192 /* bytes */
#define MOST_REQUESTS 128
#define SOCKET_FD     3
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

/* A write beyond the limit fails with EFBIG, because the signal for it is ignored. */
static void limit_files(uint64_t bytes)
{
	const struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };

	setrlimit(RLIMIT_FSIZE, &limit);
}

static void limit_memory(uint64_t bytes)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	struct rlimit limit;

	/* Field 6, "data": private writable memory, in pages. */
	if (file) {
		if (fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages) != 1)
			pages = 0;
		fclose(file);
	}
	limit.rlim_cur = limit.rlim_max =
		(rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)bytes;
	setrlimit(RLIMIT_DATA, &limit);
	setrlimit(RLIMIT_CORE, &(struct rlimit) {});
}

/*
 * Keeps none of our descriptors open: whoever waits for the end of our output or of a recording
 * must not wait for a helper that was left behind.
 */
static void keep_only(int socket)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < SOCKET_FD && nothing >= 0; fd++)
		dup2(nothing, fd);
	if (socket != SOCKET_FD)
		dup2(socket, SOCKET_FD);
	close_range(SOCKET_FD + 1, ~0U, 0);
	fcntl(SOCKET_FD, F_SETFD, FD_CLOEXEC);
}

/*
 * Unmaps the rings and arrays of BPF programs. The helper has no use for them, and their pages
 * would count as its memory too.
 */
static void unmap_bpf_maps(void)
{
	cleanup(fclose_p) FILE *maps = fopen("/proc/self/maps", "re");
	cleanup(free_p) char *line = NULL;
	uintptr_t start, end;
	size_t size = 0;

	while (maps && getline(&line, &size, maps) > 0)
		if (strstr(line, " anon_inode:bpf-map") &&
		    sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2)
			/* NOLINTNEXTLINE: maps has addresses as numbers. */
			munmap((void *)start, end - start);
}

int helper__request(const void *bytes, size_t size)
{
	const struct parcel_head request = { .size = size, .kind = PARCEL_REQUEST };
	struct parcel_head head;
	int fd = -1;

	if (parcel__send(SOCKET_FD, &request, bytes, -1) ||
	    parcel__receive_all(SOCKET_FD, &head, sizeof(head), &fd) || head.size)
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

	if (parcel__receive_all(SOCKET_FD, &head, sizeof(head), &question.fd) ||
	    head.size > MOST_QUESTION)
		return false;
	question.size = head.size;
	question.bytes = malloc(head.size + 1);
	if (!question.bytes ||
	    parcel__receive_all(SOCKET_FD, question.bytes, question.size, &question.fd))
		return false;
	err = work->serve(work->context, &question, &answer);
	free(question.bytes);
	if (send_parcel(SOCKET_FD, err, &answer))
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
	keep_only(socket);
	unmap_bpf_maps();
	limit_memory(work->memory_bytes);
	limit_files(work->file_bytes);
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
	const struct helper_patience *patience;
	uint64_t began_cpu_ns; /* CPU time when the question was asked */
	uint64_t seen_cpu_ns;  /* CPU time when work was last seen */
	uint64_t quiet_ns;     /* time without work and without bytes of the answer */
	uint64_t looked_ns;    /* the time up to which quiet_ns is counted */
	unsigned requests;
};

static uint64_t most_quiet_ns(const struct helper *helper, const struct helper_patience *patience)
{
	uint64_t left_ns = patience->stall_ns;

	if (!patience->in_full)
		left_ns -= helper->stalled_ns < left_ns ? helper->stalled_ns : left_ns;
	return left_ns > LEAST_STALL_NS ? left_ns : LEAST_STALL_NS;
}

/* Nothing has arrived for a while: checks whether the helper is working. */
static int judge(struct helper *helper, struct waiting *waiting)
{
	const struct helper_patience *patience = waiting->patience;
	uint64_t now_ns = clock__now_ns(), since_ns = now_ns - waiting->looked_ns;
	int seen = patience->look ? patience->look(patience->context) : 0;

	if (seen < 0)
		return seen;
	waiting->looked_ns = now_ns;
	waiting->quiet_ns += since_ns < MOST_QUIET_NS ? since_ns : MOST_QUIET_NS;
	read_cpu(helper);
	helper->stalled = false;
	if (helper->process_cpu_ns - waiting->began_cpu_ns > patience->cpu_ns)
		return -ETIMEDOUT;
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

static int receive(struct helper *helper, struct waiting *waiting, void *to, size_t size,
		   int *ret_fd)
{
	struct pollfd wish = { .fd = helper->socket, .events = POLLIN };
	char *at = to;
	ssize_t got;
	int err;

	while (size) {
		if (poll(&wish, 1, LOOK_MS) <= 0) {
			err = judge(helper, waiting);
			if (err)
				return err;
			continue;
		}
		got = parcel__receive_some(helper->socket, at, size, ret_fd);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -EPIPE;
		waiting->looked_ns = clock__now_ns();
		waiting->quiet_ns = 0;
		at += got;
		size -= (size_t)got;
	}
	return 0;
}

/* The helper needs a file. 0: it was told the result, whatever that is. */
static int provide(struct helper *helper, struct waiting *waiting, const struct parcel_head *head)
{
	struct helper_parcel request = { .fd = -1, .size = head->size };
	struct helper_parcel file = { .fd = -1 };
	char bytes[MOST_REQUEST];
	int err;

	if (!helper->work.provide || head->size > sizeof(bytes) ||
	    ++waiting->requests > MOST_REQUESTS)
		return -EPIPE;
	err = receive(helper, waiting, bytes, head->size, &request.fd);
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
	err = send_parcel(helper->socket, file.fd < 0 ? file.fd : 0, &file);
	close_p(&file.fd);
	waiting->looked_ns = clock__now_ns();
	return err;
}

static int receive_parcel(struct helper *helper, const struct helper_patience *patience,
			  struct helper_parcel *ret, int *ret_result)
{
	struct waiting waiting = { .patience = patience,
				   .began_cpu_ns = helper->process_cpu_ns,
				   .seen_cpu_ns = helper->process_cpu_ns,
				   .looked_ns = clock__now_ns() };
	struct parcel_head head;
	int err = receive(helper, &waiting, &head, sizeof(head), &ret->fd);

	while (!err && head.kind == PARCEL_REQUEST) {
		err = provide(helper, &waiting, &head);
		if (!err)
			err = receive(helper, &waiting, &head, sizeof(head), &ret->fd);
	}
	if (err)
		return err;
	if (head.size > patience->most_bytes || head.size > MOST_ANSWER)
		return -EFBIG;
	ret->size = head.size;
	ret->bytes = malloc(head.size + 1);
	if (!ret->bytes)
		return -EFBIG;
	err = receive(helper, &waiting, ret->bytes, head.size, &ret->fd);
	*ret_result = head.err > 0 ? -EBADMSG : head.err;
	return err;
}

int helper__ask(struct helper *helper, const struct helper_parcel *question,
		const struct helper_patience *patience, struct helper_parcel *ret)
{
	struct helper_parcel answer = { .fd = -1 };
	int result = 0, err = helper->pid ? 0 : start(helper);

	if (err)
		return -ECHILD;
	read_cpu(helper);
	err = send_parcel(helper->socket, 0, question);
	if (!err)
		err = receive_parcel(helper, patience, &answer, &result);
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
