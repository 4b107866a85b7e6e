/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heapd: thread `barrier` changes the protection of 512 MB all the time, as a garbage collector may
 * do; 4 threads `mutator` give pages of that area back and touch them again.
 */
#include "exam.h"
#include <string.h>
#include <sys/mman.h>

static const size_t heap_size = 512UL << 20;
enum { PAGE_BYTES = 4096, PAGES = 64 };

static char *heap;
static _Atomic long held_ns;
static _Atomic int mutators;

NAMED void flip_protection(int round)
{
	long start_ns = now_ns();

	if (mprotect(heap, heap_size, PROT_READ | PROT_WRITE | (round % 2 ? PROT_EXEC : 0)) != 0)
		exit(1);
	held_ns += now_ns() - start_ns;
}

static void *barrier(void *unused)
{
	for (int round = 0;; round++)
		flip_protection(round);
	return unused;
}

NAMED void touch_pages(volatile char *pages)
{
	for (int i = 0; i < PAGES; i++)
		pages[i * PAGE_BYTES] = 1;
}

static void *mutator(void *unused)
{
	char *pages = heap + (size_t)mutators++ * (64 << 20);

	for (;;) {
		madvise(pages, (size_t)PAGES * PAGE_BYTES, MADV_DONTNEED);
		touch_pages(pages);
	}
	return unused;
}

int main(void)
{
	heap = mmap(NULL, heap_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		return 1;
	madvise(heap, heap_size, MADV_NOHUGEPAGE);
	memset(heap, 1, heap_size);
	for (int i = 0; i < 4; i++)
		start_thread_named("mutator", i, mutator);
	start_thread_named("barrier", -1, barrier);
	for (;;) {
		long before_ns = held_ns;

		sleep(1);
		printf("barrier held it %.2f s of a second\n", (held_ns - before_ns) / 1e9);
		fflush(stdout);
	}
}
