/*
 * A budget that is too small for what is in use would keep this thread busy for ever: modules give
 * way to each other. So a module that gave way rests, the longer the more it costs to compile.
 */
#include "stacks/compiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "stacks/rows.h"
#include "stacks/tables.h"
#include "stacks/thread.h"

/* Of a file without rows: it covers half a MiB of code each. */
#define MOST_EMPTY_PAGES 256
#define REST_NS          1000000000ULL
#define REST_COSTS       20 /* compiling one module again and again may take 5 % of a CPU */

struct compiler {
	struct quality *quality;
	struct tables *tables; /* of the thread */
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct module **queue;
	size_t count, capacity;
	bool is_busy;
	bool stopping;
};

static int compile(const struct module *module, struct rows *ret)
{
	if (module->image)
		return rows__compile_image(module->image, module->image_bytes, ret);
	return rows__compile(module->fd, ret);
}

static void count_rows(struct quality *quality, struct module *module, const struct rows *rows)
{
	/* A module that comes back after it gave way has the same rows. */
	if (module->is_counted)
		return;
	module->is_counted = true;
	quality->rows += rows->row_count;
	quality->broken_rows += rows->broken_count;
}

/* Tables that say: there are no rows. Else the kernel half would take them for not loaded yet. */
static int no_rows(const struct module *module, struct rows *ret)
{
	uint64_t end = 0;

	for (size_t i = 0; i < module->headers.segment_count; i++) {
		const struct segment *segment = &module->headers.segments[i];

		if (segment->address + segment->size > end)
			end = segment->address + segment->size;
	}
	*ret = (struct rows) { .block_page_count =
				       (end >> UNWIND_BLOCK_BITS) / UNWIND_PAGE_BLOCKS + 1 };
	if (ret->block_page_count > MOST_EMPTY_PAGES)
		ret->block_page_count = MOST_EMPTY_PAGES;
	ret->block_pages = calloc(ret->block_page_count, sizeof(*ret->block_pages));
	return ret->block_pages ? 0 : -ENOMEM;
}

static void provide(struct compiler *compiler, struct module *module)
{
	cleanup(rows__release) struct rows rows = { 0 };
	uint64_t begin_ns = clock__read_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = compile(module, &rows);

	module->cost_ns = clock__read_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	compiler->quality->modules_failed += err != 0;
	if (!err) {
		count_rows(compiler->quality, module, &rows);
		err = tables__load(compiler->tables, module, &rows);
	}
	if (!err)
		return;
	rows__release(&rows);
	err = no_rows(module, &rows);
	if (!err)
		err = tables__load(compiler->tables, module, &rows);
	if (err) {
		compiler->quality->modules_failed++;
		module->state = MODULE_FAILED;
	}
}

static uint64_t ripe_ns(const struct module *module)
{
	uint64_t rest_ns = REST_NS + REST_COSTS * module->cost_ns;

	return module->evicted_ns ? module->evicted_ns + rest_ns : 0;
}

/* Waits for another one in the queue, or until `until_ns`. */
static void wait_for_more(struct compiler *compiler, uint64_t until_ns)
{
	struct timespec until = {
		.tv_sec = (time_t)(until_ns / 1000000000),
		.tv_nsec = (long)(until_ns % 1000000000),
	};

	if (until_ns == UINT64_MAX)
		pthread_cond_wait(&compiler->changed, &compiler->lock);
	else
		pthread_cond_timedwait(&compiler->changed, &compiler->lock, &until);
}

/* The first one that need not rest is taken out. NULL: there is none before *ret_until_ns. */
static struct module *take_ripe(struct compiler *compiler, uint64_t *ret_until_ns)
{
	uint64_t now_ns = clock__now_ns();

	*ret_until_ns = UINT64_MAX;
	for (size_t i = 0; i < compiler->count; i++) {
		struct module *module = compiler->queue[i];
		uint64_t at_ns = ripe_ns(module);

		if (at_ns <= now_ns) {
			compiler->count--;
			memmove(&compiler->queue[i], &compiler->queue[i + 1],
				(compiler->count - i) * sizeof(*compiler->queue));
			return module;
		}
		if (at_ns < *ret_until_ns)
			*ret_until_ns = at_ns;
	}
	return NULL;
}

/* NULL: it is over. */
static struct module *next(struct compiler *compiler)
{
	struct module *module = NULL;
	uint64_t until_ns;

	pthread_mutex_lock(&compiler->lock);
	compiler->is_busy = false;
	while (!compiler->stopping && !(module = take_ripe(compiler, &until_ns)))
		wait_for_more(compiler, until_ns);
	compiler->is_busy = module != NULL;
	pthread_mutex_unlock(&compiler->lock);
	return module;
}

static void *run(void *context)
{
	struct compiler *compiler = context;
	struct module *module;

	thread__begins("gapless-rows");
	while ((module = next(compiler))) {
		provide(compiler, module);
		compiler->quality->compile_ns = clock__read_ns(CLOCK_THREAD_CPUTIME_ID);
	}
	return NULL;
}

static bool append(struct compiler *compiler, struct module *module)
{
	if (compiler->count == compiler->capacity) {
		size_t capacity = compiler->capacity ? 2 * compiler->capacity : 64;
		struct module **queue = realloc(compiler->queue, capacity * sizeof(*queue));

		if (!queue)
			return false;
		compiler->queue = queue;
		compiler->capacity = capacity;
	}
	compiler->queue[compiler->count++] = module;
	return true;
}

bool compiler__is_done(struct compiler *compiler)
{
	bool is_done;

	pthread_mutex_lock(&compiler->lock);
	is_done = !compiler->count && !compiler->is_busy;
	pthread_mutex_unlock(&compiler->lock);
	return is_done;
}

void compiler__ask(struct compiler *compiler, struct module *module)
{
	int known = MODULE_KNOWN;

	module->used_ns = clock__now_ns();
	if (!atomic_compare_exchange_strong(&module->state, &known, MODULE_QUEUED))
		return;
	pthread_mutex_lock(&compiler->lock);
	if (append(compiler, module))
		pthread_cond_signal(&compiler->changed);
	else
		module->state = MODULE_KNOWN;
	pthread_mutex_unlock(&compiler->lock);
}

int compiler__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		  struct compiler **ret)
{
	struct compiler *compiler = calloc(1, sizeof(*compiler));
	pthread_condattr_t attributes;
	int err;

	if (!compiler)
		return -ENOMEM;
	compiler->quality = quality;
	pthread_mutex_init(&compiler->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&compiler->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	err = tables__new(pages_fd, asked_fd, budget_bytes, quality, &compiler->tables);
	if (!err)
		err = thread__start(&compiler->thread, run, compiler);
	if (err) {
		compiler__free(compiler);
		return err;
	}
	compiler->has_thread = true;
	*ret = compiler;
	return 0;
}

void compiler__stop(struct compiler *compiler)
{
	if (!compiler->has_thread)
		return;
	pthread_mutex_lock(&compiler->lock);
	compiler->stopping = true;
	pthread_cond_signal(&compiler->changed);
	pthread_mutex_unlock(&compiler->lock);
	pthread_join(compiler->thread, NULL);
	compiler->has_thread = false;
}

void compiler__free(struct compiler *compiler)
{
	if (!compiler)
		return;
	compiler__stop(compiler);
	tables__free(compiler->tables);
	pthread_cond_destroy(&compiler->changed);
	pthread_mutex_destroy(&compiler->lock);
	free(compiler->queue);
	free(compiler);
}
