/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * split MS: two threads whose time is split over three call paths with the same end, 30 : 50 : 20.
 * One runs, the other waits. Each draws its next path and the length of its next piece, so that it
 * falls into no step with a clock, and logs what its own clock says of each path: CPU time of the
 * runner, time in the calls of the waiter.
 */
#include "workload.h"

#include <linux/futex.h>
#include <poll.h>

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct part {
	const char *comm;
	clockid_t clock;
	void (*leaf)(uint64_t amount);
	uint64_t least, most; /* what a piece can be */
	uint64_t path_ns[3];
	uint64_t end_ns;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static NOINLINE void leaf_run(uint64_t rounds)
{
	for (volatile uint64_t i = 0; i < rounds; i++)
		;
	KEEP_FRAME();
}

static NOINLINE void leaf_wait(uint64_t ns)
{
	static int word, kind;
	struct timespec length = { 0, (long)ns };

	switch (kind++ % 3) {
	case 0:
		nanosleep(&length, NULL);
		break;
	case 1:
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, &length, NULL, 0);
		break;
	case 2:
		ppoll(NULL, 0, &length, NULL);
		break;
	}
	KEEP_FRAME();
}

static NOINLINE void path_a(const struct part *part, uint64_t amount)
{
	part->leaf(amount);
	KEEP_FRAME();
}

static NOINLINE void path_b(const struct part *part, uint64_t amount)
{
	part->leaf(amount);
	KEEP_FRAME();
}

static NOINLINE void path_c(const struct part *part, uint64_t amount)
{
	part->leaf(amount);
	KEEP_FRAME();
}

static void run_piece(struct part *part, uint64_t *seed)
{
	uint64_t begin = read_clock(part->clock), choice = next_random(seed) % 10;
	uint64_t amount = part->least + next_random(seed) % (part->most - part->least);
	int path = choice < 3 ? 0 : choice < 8 ? 1 : 2;

	switch (path) {
	case 0:
		path_a(part, amount);
		break;
	case 1:
		path_b(part, amount);
		break;
	case 2:
		path_c(part, amount);
		break;
	}
	part->path_ns[path] += read_clock(part->clock) - begin;
}

static void *run_part(void *arg)
{
	struct part *part = arg;
	uint64_t seed = 88172645463325252;

	set_name(part->comm);
	while (now_ns() < part->end_ns)
		run_piece(part, &seed);
	for (int i = 0; i < 3; i++)
		log_line("{\"phase\": \"path_%c\", \"comm\": \"%s\", \"ns\": %lu}\n", 'a' + i,
			 part->comm, part->path_ns[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t end_ns = now_ns() + (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * MS;
	struct part runner = { .comm = "split-run",
			       .clock = CLOCK_THREAD_CPUTIME_ID,
			       .leaf = leaf_run,
			       .least = 100000,
			       .most = 2000000,
			       .end_ns = end_ns };
	struct part waiter = { .comm = "split-wait",
			       .clock = CLOCK_MONOTONIC,
			       .leaf = leaf_wait,
			       .least = MS / 20,
			       .most = 5 * MS,
			       .end_ns = end_ns };
	pthread_t run = start_thread(run_part, &runner), wait = start_thread(run_part, &waiter);

	pthread_join(run, NULL);
	pthread_join(wait, NULL);
	return 0;
}
