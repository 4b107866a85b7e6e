/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for locks that are known. Each thread logs how often and how long it waited, by the
 * kernel's count and its own clock.
 *
 *   lockers chain    "first" waits for a mutex of "second", which waits for one of "third"
 *   lockers convoy   four threads "convoy-N" take turns: 2 ms with the mutex, 0.5 ms without
 *   lockers keeper   "keeper" has a mutex for 60 ms at a time, "kept-1" and "kept-2" wait for it
 *   lockers pool     eight workers "pool-N" wait for a queue that gets an item every 4 ms
 *   lockers herd     the same, but all are woken for each item; logs how many got none
 *   lockers storm    "faulter" faults in an area that "protector" protects all the time
 *   lockers flock    two processes, "locker-1" and "locker-2", take turns with a file lock
 *   lockers inode    four threads "writer-N" write to one file
 *   lockers kinds    one wait of 20 ms for each kind of lock
 */
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "workload.h"

#define POOL 8

static int timed_lock(struct phase *phase, pthread_mutex_t *mutex)
{
	int err;

	call_begins(phase);
	err = pthread_mutex_lock(mutex);
	call_ends(phase);
	return err;
}

static void join_all(pthread_t *threads, int count)
{
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

/* A number for the name of a thread. */
static void name_numbered(char *ret, size_t size, const char *word, int number)
{
	snprintf(ret, size, "%s-%d", word, number);
}

/* --- chain ---------------------------------------------------------------------------------- */

#define CHAIN_ROUNDS 12

static pthread_mutex_t front = PTHREAD_MUTEX_INITIALIZER, back = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins;

/* The third begins 0 ms after the round, the second 5 ms, the first 10 ms. */
static void *be_third(void *arg)
{
	struct phase phase = phase_begin("chain", "third");

	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		timed_lock(&phase, &back);
		sleep_ns(30 * MS);
		pthread_mutex_unlock(&back);
	}
	phase_end(&phase);
	return NULL;
}

static void *be_second(void *arg)
{
	struct phase phase = phase_begin("chain", "second");

	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		pthread_mutex_lock(&front);
		sleep_ns(5 * MS);
		timed_lock(&phase, &back);
		pthread_mutex_unlock(&back);
		pthread_mutex_unlock(&front);
	}
	phase_end(&phase);
	return NULL;
}

static void *be_first(void *arg)
{
	struct phase phase = phase_begin("chain", "first");

	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		sleep_ns(10 * MS);
		timed_lock(&phase, &front);
		pthread_mutex_unlock(&front);
	}
	phase_end(&phase);
	return NULL;
}

static void make_chain(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&round_begins, NULL, 3);
	threads[0] = start_thread(be_first, NULL);
	threads[1] = start_thread(be_second, NULL);
	threads[2] = start_thread(be_third, NULL);
	join_all(threads, 3);
}

/* --- convoy, keeper ------------------------------------------------------------------------- */

#define CONVOY        4
#define CONVOY_ROUNDS 60
#define KEPT_ROUNDS   12

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;

static void *join_convoy(void *arg)
{
	char name[16];
	struct phase phase;

	name_numbered(name, sizeof(name), "convoy", (int)(long)arg);
	phase = phase_begin("convoy", name);
	for (int i = 0; i < CONVOY_ROUNDS; i++) {
		timed_lock(&phase, &shared);
		sleep_ns(2 * MS);
		pthread_mutex_unlock(&shared);
		sleep_ns(MS / 2);
	}
	phase_end(&phase);
	return NULL;
}

static void make_convoy(void)
{
	pthread_t threads[CONVOY];

	for (long i = 0; i < CONVOY; i++)
		threads[i] = start_thread(join_convoy, (void *)(i + 1));
	join_all(threads, CONVOY);
}

static void *keep(void *arg)
{
	struct phase phase = phase_begin("keeper", "keeper");

	for (int i = 0; i < KEPT_ROUNDS; i++) {
		pthread_mutex_lock(&shared);
		pthread_barrier_wait(&round_begins);
		sleep_ns(60 * MS);
		pthread_mutex_unlock(&shared);
		pthread_barrier_wait(&round_begins);
	}
	phase_end(&phase);
	return NULL;
}

static void *be_kept(void *arg)
{
	char name[16];
	struct phase phase;

	name_numbered(name, sizeof(name), "kept", (int)(long)arg);
	phase = phase_begin("keeper", name);
	for (int i = 0; i < KEPT_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		timed_lock(&phase, &shared);
		pthread_mutex_unlock(&shared);
		pthread_barrier_wait(&round_begins);
	}
	phase_end(&phase);
	return NULL;
}

static void make_keeper(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&round_begins, NULL, 3);
	threads[0] = start_thread(keep, NULL);
	threads[1] = start_thread(be_kept, (void *)1L);
	threads[2] = start_thread(be_kept, (void *)2L);
	join_all(threads, 3);
}

/* --- pool, herd ----------------------------------------------------------------------------- */

#define ITEMS 120

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int queued;
static bool is_over;

static void *be_worker(void *arg)
{
	char name[16];
	struct phase phase;

	name_numbered(name, sizeof(name), "pool", (int)(long)arg);
	phase = phase_begin("pool", name);
	pthread_mutex_lock(&queue_lock);
	while (!is_over) {
		if (queued) {
			queued--;
			continue;
		}
		call_begins(&phase);
		pthread_cond_wait(&queue_filled, &queue_lock);
		call_ends(&phase);
	}
	pthread_mutex_unlock(&queue_lock);
	phase_end(&phase);
	return NULL;
}

static void make_pool(void)
{
	pthread_t threads[POOL];

	set_name("producer");
	for (long i = 0; i < POOL; i++)
		threads[i] = start_thread(be_worker, (void *)(i + 1));
	for (int i = 0; i <= ITEMS; i++) {
		sleep_ns(4 * MS);
		pthread_mutex_lock(&queue_lock);
		queued++;
		is_over = i == ITEMS;
		if (is_over)
			pthread_cond_broadcast(&queue_filled);
		else
			pthread_cond_signal(&queue_filled);
		pthread_mutex_unlock(&queue_lock);
	}
	join_all(threads, POOL);
}

static atomic_int generation, items, in_vain;

static void *be_of_herd(void *arg)
{
	char name[16];
	struct phase phase;
	bool is_empty = false;

	name_numbered(name, sizeof(name), "herd", (int)(long)arg);
	phase = phase_begin("herd", name);
	for (int seen = generation, item; !is_over; seen = generation) {
		item = items;
		if (item && atomic_compare_exchange_strong(&items, &item, item - 1)) {
			spin_until(now_ns() + MS);
			is_empty = false;
			continue;
		}
		in_vain += is_empty; /* woken, and nothing there */
		is_empty = false;
		call_begins(&phase);
		if (!syscall(SYS_futex, &generation, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0))
			is_empty = true;
		call_ends(&phase);
	}
	phase_end(&phase);
	return NULL;
}

static void make_herd(void)
{
	pthread_t threads[POOL];

	set_name("producer");
	for (long i = 0; i < POOL; i++)
		threads[i] = start_thread(be_of_herd, (void *)(i + 1));
	for (int i = 0; i <= ITEMS; i++) {
		sleep_ns(4 * MS);
		items++;
		generation++;
		is_over = i == ITEMS;
		syscall(SYS_futex, &generation, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
	}
	join_all(threads, POOL);
	log_line("{\"phase\": \"herd\", \"comm\": \"producer\", \"in_vain\": %d}\n", in_vain);
}

/* --- storm ---------------------------------------------------------------------------------- */

#define AREA   (192UL << 20)
#define FAULTS 150

static char *area;
static atomic_bool has_faulted;

static void *protect(void *arg)
{
	set_name("protector");
	while (!has_faulted) {
		mprotect(area, AREA, PROT_READ);
		mprotect(area, AREA, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* Reads pages of the second half, which nobody has touched. */
static void *fault(void *arg)
{
	struct phase phase = phase_begin("storm", "faulter");

	for (size_t i = 0; i < FAULTS; i++) {
		sleep_ns(MS);
		call_begins(&phase);
		(void)*(volatile char *)(area + AREA / 2 + i * 4096);
		call_ends(&phase);
	}
	phase_end(&phase);
	has_faulted = true;
	return NULL;
}

static void make_storm(void)
{
	pthread_t threads[2];

	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		die("mmap");
	madvise(area, AREA, MADV_NOHUGEPAGE);
	memset(area, 1, AREA / 2);
	threads[0] = start_thread(protect, NULL);
	threads[1] = start_thread(fault, NULL);
	join_all(threads, 2);
}

/* --- files ---------------------------------------------------------------------------------- */

#define FLOCK_ROUNDS 50

static char path[64];

static int open_lock(void)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	if (fd < 0)
		die(path);
	return fd;
}

static void take_file_turns(int number)
{
	int fd = open_lock();
	char name[16];
	struct phase phase;

	name_numbered(name, sizeof(name), "locker", number);
	phase = phase_begin("flock", name);
	for (int i = 0; i < FLOCK_ROUNDS; i++) {
		call_begins(&phase);
		flock(fd, LOCK_EX);
		call_ends(&phase);
		sleep_ns(4 * MS);
		flock(fd, LOCK_UN);
		sleep_ns(MS);
	}
	phase_end(&phase);
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

#define WRITERS     4
#define WRITES      12
#define WRITE_BYTES (4UL << 20)

static void *write_file(void *arg)
{
	char name[16], *bytes = calloc(1, WRITE_BYTES);
	int fd = open_lock();
	struct phase phase;

	name_numbered(name, sizeof(name), "writer", (int)(long)arg);
	phase = phase_begin("inode", name);
	for (int i = 0; bytes && i < WRITES; i++) {
		call_begins(&phase);
		if (pwrite(fd, bytes, WRITE_BYTES, 0) < 0)
			die("pwrite");
		call_ends(&phase);
	}
	phase_end(&phase);
	close(fd);
	free(bytes);
	return NULL;
}

static void make_writers(void)
{
	pthread_t threads[WRITERS];

	for (long i = 0; i < WRITERS; i++)
		threads[i] = start_thread(write_file, (void *)(i + 1));
	join_all(threads, WRITERS);
}

/* --- kinds ---------------------------------------------------------------------------------- */

#define KIND_HOLD_NS (20 * MS)

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, robust, inheriting;
static atomic_int word;
static int semaphores;

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
	syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
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
	{ "mutex", wait_mutex },       { "robust", wait_robust }, { "pi", wait_inheriting },
	{ "word", wait_word },         { "semop", wait_semop },   { "flock", wait_flock },
	{ "fcntl", wait_fcntl, true }, { "ofd", wait_ofd },
};
#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

static void *wait_for_kind(void *arg)
{
	long kind = (long)arg;
	struct phase phase = phase_begin("kinds", kinds[kind].comm);

	call_begins(&phase);
	kinds[kind].wait();
	call_ends(&phase);
	phase_end(&phase);
	return NULL;
}

static void init_mutexes(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inheriting, &attributes);
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
	sleep_ns(KIND_HOLD_NS);
	pthread_mutex_unlock(&plain);
	pthread_mutex_unlock(&robust);
	pthread_mutex_unlock(&inheriting);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
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
	init_mutexes();
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	if (semaphores < 0)
		die("semget");
	for (long i = 0; i < KINDS; i++) {
		pthread_mutex_lock(&plain);
		pthread_mutex_lock(&robust);
		pthread_mutex_lock(&inheriting);
		try_kind(i);
	}
	semctl(semaphores, 0, IPC_RMID);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "chain", make_chain }, { "convoy", make_convoy }, { "keeper", make_keeper },
		{ "pool", make_pool },   { "herd", make_herd },     { "storm", make_storm },
		{ "kinds", try_kinds },  { "inode", make_writers }, { "flock", make_file_turns },
	};
	bool is_known = false;

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
