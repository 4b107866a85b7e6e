/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waits for locks that are known.
 *
 *   lockers chain    "first" waits for a mutex of "second", which waits for one of "third"
 *   lockers convoy   four threads "convoy-N" take turns: 2 ms with the mutex, 0.5 ms without
 *   lockers keeper   "keeper" has a mutex for 60 ms at a time, "kept-1" and "kept-2" wait for it
 *   lockers sites    two threads "site-N" wait for a mutex, for 40 ms in one function and for 15 ms
 *                    in another
 *   lockers pool     eight workers "pool-N" wait for a queue that gets an item every 4 ms
 *   lockers herd     the same, but all are woken for each item; logs how many got none
 *   lockers storm    four threads "faulter-N" fault in an area that "protector" protects all the
 * time
 */
#include <limits.h>
#include <linux/futex.h>

#include "lockers.h"

#define POOL 8

static int timed_lock(struct waiter *waiter, pthread_mutex_t *mutex)
{
	int err;

	wait_begins(waiter);
	err = pthread_mutex_lock(mutex);
	wait_ends(waiter);
	return err;
}

/* --- chain ---------------------------------------------------------------------------------- */

#define CHAIN_ROUNDS  12
#define CHAIN_HOLD_NS (20 * MS)

static pthread_mutex_t front = PTHREAD_MUTEX_INITIALIZER, back = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t round_begins, round_ends;

static void *be_third(void *arg)
{
	set_name("third");
	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_mutex_lock(&back);
		pthread_barrier_wait(&round_begins);
		await_waiters(1, 2);
		sleep_ns(CHAIN_HOLD_NS);
		pthread_mutex_unlock(&back);
		pthread_barrier_wait(&round_ends);
	}
	return NULL;
}

static void *be_second(void *arg)
{
	struct waiter waiter = waiter_begin("chain", "second", 0);

	waiter.number = 2;
	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_mutex_lock(&front);
		pthread_barrier_wait(&round_begins);
		timed_lock(&waiter, &back);
		pthread_mutex_unlock(&back);
		pthread_mutex_unlock(&front);
		pthread_barrier_wait(&round_ends);
	}
	waiter_end(&waiter);
	return NULL;
}

static void *be_first(void *arg)
{
	struct waiter waiter = waiter_begin("chain", "first", 0);

	waiter.number = 1;
	for (int i = 0; i < CHAIN_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		timed_lock(&waiter, &front);
		pthread_mutex_unlock(&front);
		pthread_barrier_wait(&round_ends);
	}
	waiter_end(&waiter);
	return NULL;
}

static void make_chain(void)
{
	pthread_t threads[3];

	pthread_barrier_init(&round_begins, NULL, 3);
	pthread_barrier_init(&round_ends, NULL, 3);
	threads[0] = start_thread(be_first, NULL);
	threads[1] = start_thread(be_second, NULL);
	threads[2] = start_thread(be_third, NULL);
	join_all(threads, 3);
}

/* --- convoy, keeper, sites ------------------------------------------------------------------- */

#define CONVOY        4
#define CONVOY_ROUNDS 60
#define KEPT_ROUNDS   12
#define SITE_ROUNDS   10

static pthread_mutex_t shared = PTHREAD_MUTEX_INITIALIZER;
static atomic_int in_convoy = CONVOY;

/* Whoever has the mutex keeps it until another one waits, unless it is the last thread. */
static bool is_awaited(void)
{
	for (int i = 1; i <= CONVOY; i++)
		if (is_waiting(i))
			return true;
	return in_convoy == 1;
}

static void *join_convoy(void *arg)
{
	struct waiter waiter = waiter_begin("convoy", "convoy", (int)(long)arg);

	for (int i = 0; i < CONVOY_ROUNDS; i++) {
		timed_lock(&waiter, &shared);
		do
			sleep_ns(2 * MS);
		while (!is_awaited());
		pthread_mutex_unlock(&shared);
		sleep_ns(MS / 2);
	}
	in_convoy--;
	waiter_end(&waiter);
	return NULL;
}

static void make_convoy(void)
{
	pthread_t threads[CONVOY];

	for (long i = 0; i < CONVOY; i++)
		threads[i] = start_thread(join_convoy, (void *)(i + 1));
	join_all(threads, CONVOY);
}

static void keep(int rounds, uint64_t even_ns, uint64_t odd_ns)
{
	for (int i = 0; i < rounds; i++) {
		pthread_mutex_lock(&shared);
		pthread_barrier_wait(&round_begins);
		await_waiters(1, 2);
		sleep_ns(i % 2 ? odd_ns : even_ns);
		pthread_mutex_unlock(&shared);
		pthread_barrier_wait(&round_ends);
	}
}

static void *be_kept(void *arg)
{
	struct waiter waiter = waiter_begin("keeper", "kept", (int)(long)arg);

	for (int i = 0; i < KEPT_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		timed_lock(&waiter, &shared);
		pthread_mutex_unlock(&shared);
		pthread_barrier_wait(&round_ends);
	}
	waiter_end(&waiter);
	return NULL;
}

/* Two functions that are alike: the comments keep the compiler from making them one. */
__attribute__((noinline)) static void ask_slowly(struct waiter *waiter)
{
	__asm__ volatile("# slowly");
	wait_begins(waiter);
	pthread_mutex_lock(&shared);
	wait_ends(waiter);
	pthread_mutex_unlock(&shared);
}

__attribute__((noinline)) static void ask_quickly(struct waiter *waiter)
{
	__asm__ volatile("# quickly");
	wait_begins(waiter);
	pthread_mutex_lock(&shared);
	wait_ends(waiter);
	pthread_mutex_unlock(&shared);
}

static void *be_site(void *arg)
{
	struct waiter slow = waiter_begin("slow", "site", (int)(long)arg);
	struct waiter quick = waiter_begin("quick", "site", (int)(long)arg);

	for (int i = 0; i < SITE_ROUNDS; i++) {
		pthread_barrier_wait(&round_begins);
		if (i % 2)
			ask_quickly(&quick);
		else
			ask_slowly(&slow);
		pthread_barrier_wait(&round_ends);
	}
	waiter_end(&slow);
	waiter_end(&quick);
	return NULL;
}

static void begin_kept(void *(*body)(void *), pthread_t *ret)
{
	set_name("keeper");
	pthread_barrier_init(&round_begins, NULL, 3);
	pthread_barrier_init(&round_ends, NULL, 3);
	for (long i = 0; i < 2; i++)
		ret[i] = start_thread(body, (void *)(i + 1));
}

static void make_keeper(void)
{
	pthread_t threads[2];

	begin_kept(be_kept, threads);
	keep(KEPT_ROUNDS, 60 * MS, 60 * MS);
	join_all(threads, 2);
}

static void make_sites(void)
{
	pthread_t threads[2];

	begin_kept(be_site, threads);
	keep(SITE_ROUNDS, 40 * MS, 15 * MS);
	join_all(threads, 2);
}

/* --- pool, herd ----------------------------------------------------------------------------- */

#define ITEMS 120

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static int queued;
static bool is_over;

static void *be_worker(void *arg)
{
	struct waiter waiter = waiter_begin("pool", "pool", (int)(long)arg);

	pthread_mutex_lock(&queue_lock);
	while (!is_over) {
		if (queued) {
			queued--;
			continue;
		}
		wait_begins(&waiter);
		pthread_cond_wait(&queue_filled, &queue_lock);
		wait_ends(&waiter);
	}
	pthread_mutex_unlock(&queue_lock);
	waiter_end(&waiter);
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
		await_waiters(1, POOL);
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
	struct waiter waiter = waiter_begin("herd", "herd", (int)(long)arg);
	bool is_empty = false;

	for (int seen = generation, item; !is_over; seen = generation) {
		item = items;
		if (item && atomic_compare_exchange_strong(&items, &item, item - 1)) {
			spin_until(now_ns() + MS);
			is_empty = false;
			continue;
		}
		in_vain += is_empty; /* woken, and nothing there */
		is_empty = false;
		call_begins(&waiter.phase);
		if (!syscall(SYS_futex, &generation, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0))
			is_empty = true;
		call_ends(&waiter.phase);
	}
	phase_end(&waiter.phase);
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

#define AREA     (192UL << 20)
#define FAULTERS 4
#define FAULTS   2000 /* at most */
#define WAITS    30   /* of each thread: enough */

static char *area;
static atomic_int faulting = FAULTERS;
static pthread_barrier_t storm_begins, storm_ends;

static void *protect(void *arg)
{
	set_name("protector");
	pthread_barrier_wait(&storm_begins);
	while (faulting) {
		mprotect(area, AREA, PROT_READ);
		mprotect(area, AREA, PROT_READ | PROT_WRITE);
	}
	pthread_barrier_wait(&storm_ends);
	return NULL;
}

static void touch(struct waiter *waiter, const char *page)
{
	sleep_ns(MS);
	wait_begins(waiter);
	(void)*(volatile const char *)page;
	wait_ends(waiter);
}

/*
 * Reads pages of the second half, which nobody has touched. The first one comes before the storm,
 * so that all else that the thread needs is in memory.
 */
static void *fault(void *arg)
{
	struct waiter waiter = waiter_begin("storm", "faulter", (int)(long)arg);
	char *first = area + AREA / 2 + AREA / 2 / FAULTERS * (size_t)(waiter.number - 1);

	touch(&waiter, first);
	pthread_barrier_wait(&storm_begins);
	for (size_t i = 1; i <= FAULTS && waiter.phase.waits < WAITS; i++)
		touch(&waiter, first + i * 4096);
	faulting--;
	pthread_barrier_wait(&storm_ends);
	waiter_end(&waiter);
	return NULL;
}

static void make_storm(void)
{
	pthread_t threads[FAULTERS + 1];

	area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		die("mmap");
	madvise(area, AREA, MADV_NOHUGEPAGE);
	memset(area, 1, AREA / 2);
	pthread_barrier_init(&storm_begins, NULL, FAULTERS + 1);
	pthread_barrier_init(&storm_ends, NULL, FAULTERS + 1);
	threads[0] = start_thread(protect, NULL);
	for (long i = 1; i <= FAULTERS; i++)
		threads[i] = start_thread(fault, (void *)i);
	join_all(threads, FAULTERS + 1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "chain", make_chain }, { "convoy", make_convoy }, { "keeper", make_keeper },
		{ "sites", make_sites }, { "pool", make_pool },     { "herd", make_herd },
		{ "storm", make_storm },
	};

	init_waiters();
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(*modes); i++) {
		if (strcmp(argv[1], modes[i].name) != 0)
			continue;
		modes[i].run();
		return 0;
	}
	return 2;
}
