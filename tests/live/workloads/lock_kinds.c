/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for each kind of lock, with names that are known.
 *
 *   lock_kinds kinds   one wait of at least 20 ms for each kind; the thread has the name of the
 * kind lock_kinds flock   two processes, "locker-1" and "locker-2", take turns with a file lock
 *   lock_kinds inode   four threads "writer-N" append to one file, each for 5 ms
 */
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <semaphore.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "lockers.h"

static char path[64];

static int open_lock(void)
{
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND, 0600);

	if (fd < 0)
		die(path);
	return fd;
}

/* --- flock ---------------------------------------------------------------------------------- */

#define FLOCK_ROUNDS 30

/* Each keeps the lock until the other one waits for it. */
static void take_file_turns(int number)
{
	int fd = open_lock();
	struct waiter waiter = waiter_begin("flock", "locker", number);

	for (int i = 0; i < FLOCK_ROUNDS; i++) {
		wait_begins(&waiter);
		flock(fd, LOCK_EX);
		wait_ends(&waiter);
		sleep_ns(4 * MS);
		while (!is_waiting(3 - number) && !asking[3])
			sleep_ns(MS);
		flock(fd, LOCK_UN);
		sleep_ns(MS);
	}
	asking[3] = 1; /* one of them is done */
	waiter_end(&waiter);
	close(fd);
}

static void make_file_turns(void)
{
	pid_t child = fork();

	if (child < 0)
		die("fork");
	take_file_turns(child ? 1 : 2);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* --- inode ---------------------------------------------------------------------------------- */

/*
 * A writer holds the i_rwsem of the file while it copies. Its page is not there, so it waits with
 * the lock until the page is filled, which is when the others wait for the lock.
 */
#define WRITERS 4
#define WRITES  8

static pthread_barrier_t write_begins;
static atomic_int writing;
static char *pages;
static size_t page_size;

static int open_faults(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	page_size = (size_t)sysconf(_SC_PAGESIZE);
	range.range.len = WRITERS * WRITES * page_size;
	pages = mmap(NULL, range.range.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (pages == MAP_FAILED)
		die("mmap");
	range.range.start = (uintptr_t)pages;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range))
		return -1;
	return fd;
}

static void fill_page(int fd, uint64_t address)
{
	struct uffdio_zeropage zero = { .range = { address & ~(page_size - 1), page_size } };

	for (int i = 1; i <= WRITERS; i++)
		while (asking[i] && !is_waiting(i))
			sleep_ns(MS);
	sleep_ns(5 * MS);
	if (ioctl(fd, UFFDIO_ZEROPAGE, &zero))
		die("UFFDIO_ZEROPAGE");
}

static void *write_file(void *arg)
{
	struct waiter waiter = waiter_begin("inode", "writer", (int)(long)arg);
	int fd = open_lock();

	for (int i = 0; i < WRITES; i++) {
		char *page = pages + (size_t)((waiter.number - 1) * WRITES + i) * page_size;

		pthread_barrier_wait(&write_begins);
		wait_begins(&waiter);
		writing++;
		if (write(fd, page, page_size) < 0)
			die("write");
		wait_ends(&waiter);
	}
	waiter_end(&waiter);
	close(fd);
	return NULL;
}

static void make_writers(void)
{
	pthread_t threads[WRITERS];
	struct uffd_msg message;
	int fd = open_faults();

	if (fd < 0) {
		phase_skip("inode", "userfaultfd");
		return;
	}
	pthread_barrier_init(&write_begins, NULL, WRITERS);
	for (long i = 0; i < WRITERS; i++)
		threads[i] = start_thread(write_file, (void *)(i + 1));
	for (int i = 0; i < WRITERS * WRITES; i++) {
		if (read(fd, &message, sizeof(message)) != sizeof(message))
			die("read");
		/* All have begun to write in this round. */
		while (writing <= i / WRITERS * WRITERS + WRITERS - 1)
			sleep_ns(MS);
		fill_page(fd, message.arg.pagefault.address);
	}
	join_all(threads, WRITERS);
	close(fd);
}

/* --- kinds ---------------------------------------------------------------------------------- */

#define KIND_HOLD_NS (20 * MS)
#define KIND_NUMBER  1

pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust, inheriting, behind;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
pthread_rwlock_t guard = PTHREAD_RWLOCK_INITIALIZER;
sem_t tokens;
atomic_int word, source, target, several[2];
static int semaphores;

static long futex(atomic_int *at, int operation, int value, void *more, atomic_int *to, int third)
{
	return syscall(SYS_futex, at, operation, value, more, to, third);
}

static void wait_mutex(void)
{
	pthread_mutex_lock(&plain);
	pthread_mutex_unlock(&plain);
}

static void wait_robust(void)
{
	pthread_mutex_lock(&robust);
	pthread_mutex_unlock(&robust);
}

static void wait_inheriting(void)
{
	pthread_mutex_lock(&inheriting);
	pthread_mutex_unlock(&inheriting);
}

static void wait_word(void)
{
	futex(&word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_source(void)
{
	futex(&source, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void wait_several(void)
{
	struct futex_waitv list[2];

	for (int i = 0; i < 2; i++)
		list[i] = (struct futex_waitv) { .uaddr = (uintptr_t)&several[i],
						 .flags = FUTEX_32 | FUTEX_PRIVATE_FLAG };
	syscall(SYS_futex_waitv, list, 2, 0, NULL, 0);
}

static void wait_condition(void)
{
	pthread_mutex_lock(&behind);
	pthread_cond_wait(&condition, &behind);
	pthread_mutex_unlock(&behind);
}

static void wait_tokens(void)
{
	sem_wait(&tokens);
}

static void wait_reading(void)
{
	pthread_rwlock_rdlock(&guard);
	pthread_rwlock_unlock(&guard);
}

static void wait_writing(void)
{
	pthread_rwlock_wrlock(&guard);
	pthread_rwlock_unlock(&guard);
}

static void wait_semop(void)
{
	semop(semaphores, &(struct sembuf) { .sem_op = -1 }, 1);
}

static void wait_flock(void)
{
	flock(open_lock(), LOCK_EX);
}

static void wait_record(int command)
{
	fcntl(open_lock(), command, &(struct flock) { .l_type = F_WRLCK, .l_len = 1 });
}

static void wait_fcntl(void)
{
	wait_record(F_SETLKW);
}

static void wait_ofd(void)
{
	wait_record(F_OFD_SETLKW);
}

static const struct {
	const char *comm;
	void (*wait)(void);
	bool other_process; /* locks of fcntl() belong to a process */
} kinds[] = {
	{ "mutex", wait_mutex },         { "robust", wait_robust },    { "pi", wait_inheriting },
	{ "word", wait_word },           { "requeue", wait_source },   { "waitv", wait_several },
	{ "condition", wait_condition }, { "semaphore", wait_tokens }, { "reader", wait_reading },
	{ "writer", wait_writing },      { "semop", wait_semop },      { "flock", wait_flock },
	{ "fcntl", wait_fcntl, true },   { "ofd", wait_ofd },
};
#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

static void *wait_for_kind(void *arg)
{
	long kind = (long)arg;
	struct waiter waiter = waiter_begin("kinds", kinds[kind].comm, 0);

	waiter.number = KIND_NUMBER;
	wait_begins(&waiter);
	kinds[kind].wait();
	wait_ends(&waiter);
	waiter_end(&waiter);
	return NULL;
}

static void init_locks(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &attributes);
	sem_init(&tokens, 0, 0);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (semaphores < 0)
		die("semget");
}

static void hold_all(void)
{
	pthread_mutex_lock(&plain);
	pthread_mutex_lock(&robust);
	pthread_mutex_lock(&inheriting);
	pthread_rwlock_wrlock(&guard);
}

/* Ends whichever wait there is. */
static void release_all(void)
{
	pthread_mutex_unlock(&plain);
	pthread_mutex_unlock(&robust);
	pthread_mutex_unlock(&inheriting);
	pthread_rwlock_unlock(&guard);
	futex(&word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	futex(&source, FUTEX_CMP_REQUEUE_PRIVATE, 0, (void *)1L, &target, 0);
	futex(&target, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	futex(&several[1], FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_mutex_lock(&behind);
	pthread_cond_signal(&condition);
	pthread_mutex_unlock(&behind);
}

/* The holder of all locks is this thread. One file lock at a time: they would hold each other. */
static void try_kind(long kind)
{
	int fd = open_lock();
	pid_t child = -1;
	pthread_t waiter = 0;

	if (kinds[kind].wait == wait_flock)
		flock(fd, LOCK_EX);
	if (kinds[kind].wait == wait_fcntl || kinds[kind].wait == wait_ofd)
		fcntl(fd, F_OFD_SETLK, &(struct flock) { .l_type = F_WRLCK, .l_len = 1 });
	if (kinds[kind].other_process)
		child = fork();
	if (!child) {
		close(fd);
		wait_for_kind((void *)kind);
		_exit(0);
	}
	if (child < 0)
		waiter = start_thread(wait_for_kind, (void *)kind);
	await_waiters(KIND_NUMBER, KIND_NUMBER);
	sleep_ns(KIND_HOLD_NS);
	release_all();
	if (kinds[kind].wait == wait_tokens)
		sem_post(&tokens);
	if (kinds[kind].wait == wait_semop)
		semop(semaphores, &(struct sembuf) { .sem_op = 1 }, 1);
	flock(fd, LOCK_UN);
	close(fd);
	if (child > 0)
		waitpid(child, NULL, 0);
	else
		pthread_join(waiter, NULL);
}

static void try_kinds(void)
{
	set_name("holder");
	init_locks();
	for (long i = 0; i < KINDS; i++) {
		hold_all();
		try_kind(i);
	}
	semctl(semaphores, 0, IPC_RMID);
	/* Names of variables are looked up while the process exists. */
	sleep_ns(300 * MS);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "kinds", try_kinds },
		{ "inode", make_writers },
		{ "flock", make_file_turns },
	};
	bool is_known = false;

	init_waiters();
	snprintf(path, sizeof(path), "/tmp/gapless-lockers-%d", getpid());
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		is_known = true;
		modes[i].run();
	}
	unlink(path);
	return is_known ? 0 : 2;
}
