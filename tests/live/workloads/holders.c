/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks with holders that are known.
 *
 *   holders turns      "first" holds a mutex; "second" and then "last" wait for it, and "second"
 *                      gets it, for 3 times as long as "first" had it.
 *   holders kinds      a waiter, "waits-KIND", for each kind of mutex that glibc has, held by
 *                      "holder".
 *   holders lookalikes waiters for locks with a word like that of a mutex and, where a mutex has
 * its owner, the number of a thread that never holds them. "by-hand" calls syscall(2) and has all
 * else as glibc has it, "inlined" has its own call.
 */
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "workload.h"

#define HOLD_NS   (20 * MS)
#define PAUSE_NS  (1 * MS)
#define CONTENDED 2

/* Waits until the thread that writes its tid there sleeps, by what the kernel says. */
static void await_sleep(const atomic_int *tid)
{
	char path[64], text[256], *at;
	FILE *file;

	do {
		sleep_ns(PAUSE_NS);
		snprintf(path, sizeof(path), "/proc/self/task/%d/stat", *tid ? *tid : getpid());
		text[0] = '\0';
		file = fopen(path, "re");
		if (!file || !fgets(text, sizeof(text), file))
			die(path);
		fclose(file);
		at = strrchr(text, ')');
	} while (!*tid || !at || at[2] != 'S');
}

/* --- turns -------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int second_tid, last_tid;
static atomic_bool second_was_first;

static void *be_second(void *arg)
{
	struct phase phase = phase_begin("turns", "second");

	second_tid = gettid();
	call_begins(&phase);
	pthread_mutex_lock(&lock);
	call_ends(&phase);
	second_was_first = true;
	sleep_ns(3 * HOLD_NS);
	pthread_mutex_unlock(&lock);
	phase_end(&phase);
	return NULL;
}

static void *be_last(void *arg)
{
	struct phase phase = phase_begin("turns", "last");

	last_tid = gettid();
	call_begins(&phase);
	pthread_mutex_lock(&lock);
	call_ends(&phase);
	if (!second_was_first)
		die("a futex is served in turn, but not this one");
	pthread_mutex_unlock(&lock);
	phase_end(&phase);
	return NULL;
}

static void take_turns(void)
{
	pthread_t second, last;

	set_name("first");
	pthread_mutex_lock(&lock);
	second = start_thread(be_second, NULL);
	await_sleep(&second_tid);
	last = start_thread(be_last, NULL);
	await_sleep(&last_tid);
	sleep_ns(HOLD_NS);
	pthread_mutex_unlock(&lock);
	pthread_join(second, NULL);
	pthread_join(last, NULL);
}

/* --- kinds -------------------------------------------------------------------------------- */

struct kind {
	const char *comm;
	int type, protocol;
	pthread_mutex_t mutex;
	atomic_int tid;
};

static void *wait_for_kind(void *arg)
{
	struct kind *kind = arg;
	struct phase phase = phase_begin("kinds", kind->comm);

	kind->tid = gettid();
	call_begins(&phase);
	pthread_mutex_lock(&kind->mutex);
	call_ends(&phase);
	pthread_mutex_unlock(&kind->mutex);
	phase_end(&phase);
	return NULL;
}

static void try_kinds(void)
{
	static struct kind kinds[] = {
		{ "waits-normal", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE },
		{ "waits-recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE },
		{ "waits-checked", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE },
		{ "waits-adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE },
		{ "waits-inherits", PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT },
	};

	set_name("holder");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		pthread_mutexattr_t attributes;
		pthread_t waiter;

		pthread_mutexattr_init(&attributes);
		pthread_mutexattr_settype(&attributes, kinds[i].type);
		pthread_mutexattr_setprotocol(&attributes, kinds[i].protocol);
		pthread_mutex_init(&kinds[i].mutex, &attributes);
		pthread_mutex_lock(&kinds[i].mutex);
		waiter = start_thread(wait_for_kind, &kinds[i]);
		await_sleep(&kinds[i].tid);
		sleep_ns(HOLD_NS);
		pthread_mutex_unlock(&kinds[i].mutex);
		pthread_join(waiter, NULL);
	}
}

/* --- lookalikes --------------------------------------------------------------------------- */

struct lookalike {
	const char *comm;
	long (*call)(atomic_int *word, long op, long value);
	atomic_int *word;
	atomic_int tid;
};

static long call_by_hand(atomic_int *word, long op, long value)
{
	return syscall(SYS_futex, word, op, value, NULL, NULL, 0);
}

static long call_inlined(atomic_int *word, long op, long value)
{
#ifdef __x86_64__
	register void *timeout __asm__("r10") = NULL;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "0"(SYS_futex), "D"(word), "S"(op), "d"(value), "r"(timeout)
			 : "rcx", "r11", "memory");
	return result;
#else
	return call_by_hand(word, op, value);
#endif
}

static void *wait_for_lookalike(void *arg)
{
	struct lookalike *like = arg;
	struct phase phase = phase_begin("lookalikes", like->comm);

	like->tid = gettid();
	call_begins(&phase);
	while (atomic_exchange(like->word, CONTENDED))
		like->call(like->word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, CONTENDED);
	call_ends(&phase);
	phase_end(&phase);
	return NULL;
}

static atomic_int bystander_tid;

static void *stand_by(void *arg)
{
	set_name("bystander");
	bystander_tid = gettid();
	await_token(*(int *)arg);
	return NULL;
}

static void try_lookalikes(void)
{
	/* A word, a count, an owner, users, a kind and nothing; and one whose data goes on. */
	static atomic_int whole[10], part[10];
	struct lookalike likes[] = { { "by-hand", call_by_hand, whole },
				     { "inlined", call_inlined, part } };
	pthread_t bystander;
	int end[2];

	set_name("real-holder");
	make_pipe(end);
	bystander = start_thread(stand_by, &end[0]);
	await_sleep(&bystander_tid);
	whole[2] = part[2] = bystander_tid;
	whole[3] = 1;
	part[3] = 12;
	part[4] = 4711;
	for (int i = 0; i < 2; i++) {
		pthread_t waiter;

		*likes[i].word = 1;
		waiter = start_thread(wait_for_lookalike, &likes[i]);
		await_sleep(&likes[i].tid);
		sleep_ns(HOLD_NS);
		*likes[i].word = 0;
		likes[i].call(likes[i].word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1);
		pthread_join(waiter, NULL);
	}
	send_token(end[1]);
	pthread_join(bystander, NULL);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "turns"))
		take_turns();
	else if (argc == 2 && !strcmp(argv[1], "kinds"))
		try_kinds();
	else if (argc == 2 && !strcmp(argv[1], "lookalikes"))
		try_lookalikes();
	else
		return 2;
	return 0;
}
