/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Preloaded, or linked with a program: counts what a program asks of the allocator, and writes it
 * to the file $HEAP_COUNTER_FILE when the program ends: calls, bytes, frees. It calls glibc's own
 * names, so that it needs no look-up.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *at, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *at);

/* Threads of the workloads that use it are few; the first lines of the cache are shared. */
static uint64_t calls, bytes, frees;

static void count(size_t size)
{
	__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&bytes, size, __ATOMIC_RELAXED);
}

void *malloc(size_t size)
{
	count(size);
	return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
	count(number * size);
	return __libc_calloc(number, size);
}

void *realloc(void *at, size_t size)
{
	count(size);
	return __libc_realloc(at, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	count(size);
	return __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
	count(size);
	return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
	void *at;

	count(size);
	at = __libc_memalign(alignment, size);
	if (!at)
		return ENOMEM;
	*ret = at;
	return 0;
}

void free(void *at)
{
	__atomic_fetch_add(&frees, 1, __ATOMIC_RELAXED);
	__libc_free(at);
}

__attribute__((destructor)) static void write_counts(void)
{
	const char *path = getenv("HEAP_COUNTER_FILE");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
	char text[96];
	int length = snprintf(text, sizeof(text), "%lu %lu %lu\n", (unsigned long)calls,
			      (unsigned long)bytes, (unsigned long)frees);

	if (fd >= 0 && write(fd, text, (size_t)length) == length)
		close(fd);
}
