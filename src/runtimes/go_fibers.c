/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What all goroutines of a process do at this moment.
 *
 * runtime.allgs has a pointer to the g of each. They come from a few pages, so those that are near
 * each other are read at once. The process goes on meanwhile: each g is consistent only as far as
 * nobody writes to it, which is so while the goroutine is parked.
 *
 * For which mutex or other semaphore a goroutine waits is not in its g (up to Go 1.24) but in the
 * table of semaphores, which has a tree of waiters in each slot.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/go_status.h"
#include "runtimes/go.h"

#define MOST_GS        (1U << 17)
#define WINDOW_BYTES   (64U << 10)
#define MOST_GAP_BYTES 2048 /* between two that are read at once */
#define SEMAPHORES     251
#define ROOT_BYTES     64
#define ROOT_TREE      8
#define MOST_SUDOGS    4096 /* of all semaphores together, in one reading */
#define MOST_WAITING   64   /* subtrees that are still to be visited */

/* --- the list of goroutines ------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int make_room(struct go *go, size_t count)
{
	uint64_t *raw = reallocarray(go->raw, count + 1, sizeof(*raw));
	uint64_t *list;

	if (!raw)
		return -ENOMEM;
	go->raw = raw;
	list = reallocarray(go->list, count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	go->list = list;
	if (!go->window)
		go->window = malloc(WINDOW_BYTES);
	return go->window ? 0 : -ENOMEM;
}

/* The list only grows, and gs are reused, so it is sorted only when it has become longer. */
static int read_list(struct subject *subject, struct go *go, uint64_t *ret_left_out)
{
	uint64_t slice[3];
	size_t count;
	int err;

	if (remote__read(subject->memory, go->allgs, slice, sizeof(slice)))
		return -EFAULT;
	count = slice[1] < MOST_GS ? slice[1] : MOST_GS;
	*ret_left_out = slice[1] - count;
	if (count == go->count)
		return 0;
	err = make_room(go, count);
	if (err)
		return err;
	if (count && remote__read(subject->memory, slice[0], go->raw, count * sizeof(*go->raw)))
		return -EFAULT;
	memcpy(go->list, go->raw, count * sizeof(*go->list));
	if (count)
		qsort(go->list, count, sizeof(*go->list), by_address);
	go->count = count;
	return 0;
}

/* --- one goroutine ---------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *g, size_t offset)
{
	uint64_t value;

	memcpy(&value, g + offset, sizeof(value));
	return value;
}

/* `g` has layout->g_bytes, and is at the address `at`. */
static void add_fiber(const struct go_layout *layout, uint64_t at, const uint8_t *g,
		      struct runtime_fibers *ret)
{
	struct runtime_fiber *fiber = &ret->list[ret->count];
	uint32_t state = go_state((uint32_t)word_at(g, layout->status));
	uint64_t id = word_at(g, layout->id);

	if (state == FIBER_STATES || !id || id > INT64_MAX)
		return;
	*fiber = (struct runtime_fiber) {
		.at = at,
		.id = id,
		.start = word_at(g, layout->start),
		.created_at = word_at(g, layout->created_at),
		.state = state,
	};
	if (fiber->created_at)
		fiber->created_at--; /* in the call, not behind it */
	if (state == FIBER_WAITING && g[layout->reason] < FIBER_REASONS)
		fiber->reason = g[layout->reason];
	if (state != FIBER_RUNNING) {
		fiber->saved_at = at + GO_G_SCHED;
		fiber->sp = word_at(g, GO_G_SCHED);
		fiber->pc = word_at(g, GO_G_SCHED + 8);
		fiber->bp = word_at(g, layout->sched_bp);
		/* A return address, unless it has not begun. */
		if (fiber->pc && fiber->pc != fiber->start)
			fiber->pc--;
	}
	ret->count++;
}

/* Those of one window, which begins with the g number `from`. Returns the number after it. */
static size_t read_window(struct subject *subject, struct go *go, size_t from,
			  struct runtime_fibers *ret)
{
	const size_t bytes = go->layout->g_bytes;
	uint64_t begin = go->list[from], end = begin + bytes;
	size_t to = from + 1;
	bool is_read;

	if (begin > INT64_MAX - WINDOW_BYTES)
		return go->count;
	while (to < go->count && go->list[to] - begin <= WINDOW_BYTES - bytes &&
	       go->list[to] <= end + MOST_GAP_BYTES)
		end = go->list[to++] + bytes;
	is_read = !remote__read(subject->memory, begin, go->window, end - begin);
	for (size_t i = from; i < to; i++) {
		const uint8_t *g = go->window + (go->list[i] - begin);

		/* One of the pages is gone: each g by itself. */
		if (!is_read) {
			g = go->window;
			if (remote__read(subject->memory, go->list[i], go->window, bytes))
				continue;
		}
		go->raw[ret->count] = go->list[i]; /* see fiber_of() */
		add_fiber(go->layout, go->list[i], g, ret);
	}
	return to;
}

/* --- semaphores ------------------------------------------------------------------------------- */

/* The goroutine of a g, by go->raw, which has the g of each in the list. */
static struct runtime_fiber *fiber_of(const struct go *go, const struct runtime_fibers *fibers,
				      uint64_t g)
{
	const uint64_t *at =
		fibers->count ? bsearch(&g, go->raw, fibers->count, sizeof(*go->raw), by_address)
			      : NULL;

	return at ? &fibers->list[at - go->raw] : NULL;
}

struct semaphores {
	struct subject *subject;
	const struct go *go;
	struct runtime_fibers *fibers;
	size_t left; /* that may still be read */
};

/* A tree whose inner nodes each begin a list of waiters for the same semaphore. */
static void read_tree(struct semaphores *semaphores, uint64_t root)
{
	const struct go_layout *layout = semaphores->go->layout;
	uint64_t waiting[MOST_WAITING] = { root };
	size_t count = 1;

	while (count) {
		uint64_t at = waiting[--count], object = 0;
		bool is_head = true;

		while (at && semaphores->left) {
			struct runtime_fiber *fiber;
			uint64_t words[14];

			semaphores->left--;
			if (remote__read(semaphores->subject->memory, at, words,
					 layout->sudog_bytes))
				break;
			if (is_head)
				object = words[GO_SUDOG_ELEM / 8];
			for (int i = 0; is_head && i < 2; i++)
				if (words[GO_SUDOG_NEXT / 8 + i] && count < MOST_WAITING)
					waiting[count++] = words[GO_SUDOG_NEXT / 8 + i];
			fiber = fiber_of(semaphores->go, semaphores->fibers, words[GO_SUDOG_G / 8]);
			if (fiber && fiber->state == FIBER_WAITING)
				fiber->object = object;
			is_head = false;
			at = words[layout->waitlink / 8];
		}
	}
}

static void read_semaphores(struct subject *subject, const struct go *go,
			    struct runtime_fibers *fibers)
{
	struct semaphores semaphores = { subject, go, fibers, MOST_SUDOGS };
	uint64_t *table = (uint64_t *)go->window;

	if (!go->semtable || !go->window ||
	    remote__read(subject->memory, go->semtable, table, SEMAPHORES * ROOT_BYTES))
		return;
	for (size_t i = 0; i < SEMAPHORES; i++) {
		uint64_t tree = table[(i * ROOT_BYTES + ROOT_TREE) / 8];

		if (tree)
			read_tree(&semaphores, tree);
	}
}

/* --- all of them ------------------------------------------------------------------------------ */

/* They are constants of the program. */
static void read_reasons(struct subject *subject, struct go *go)
{
	uint64_t texts[FIBER_REASONS][2];
	size_t count = go->reason_count < FIBER_REASONS ? go->reason_count : FIBER_REASONS;

	go->has_texts = true;
	if (!go->reasons ||
	    remote__read(subject->memory, go->reasons, texts, count * sizeof(*texts)))
		return;
	for (size_t i = 0; i < count; i++) {
		char *to = go->texts[i];

		if (!texts[i][0] || texts[i][1] >= FIBER_REASON_BYTES ||
		    remote__read(subject->memory, texts[i][0], to, texts[i][1]))
			to[0] = '\0';
		for (; *to; to++)
			if (*to < ' ' || *to > '~')
				*to = '?';
	}
}

int go_fibers__read(struct subject *subject, struct runtime_fibers *ret)
{
	struct go *go = subject->own;
	int err = read_list(subject, go, &ret->left_out);

	if (err || !go->count)
		return err;
	ret->list = calloc(go->count + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < go->count;)
		i = read_window(subject, go, i, ret);
	read_semaphores(subject, go, ret);
	if (!go->has_texts)
		read_reasons(subject, go);
	memcpy(ret->reasons, go->texts, sizeof(ret->reasons));
	if (!go->by_registers)
		return 0;
	ret->id_at = go->layout->id;
	ret->reason_at = go->layout->reason;
	ret->start_at = go->layout->start;
	return 0;
}
