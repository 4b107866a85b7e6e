/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * If the budget is too small for the modules in use, modules evict each other, and compiling them
 * again would keep this thread busy forever. So an evicted module must wait before it is compiled
 * again, longer if it costs more to compile.
 */
#include "stacks/compiler.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/memory.h"
#include "guard/guard.h"
#include "stacks/rows.h"
#include "stacks/tables.h"
#include "stacks/thread.h"

/* Of a file without rows. One page covers half a MiB of code. */
#define MOST_EMPTY_PAGES 256
#define REST_NS          1000000000ULL
/* Limits of the helper process for one file. The largest programs take 1 s. */
#define STALL_NS    2000000000ULL
#define MOST_CPU_NS 20000000000ULL
/* The helper gets this share of the memory. The largest programs need 150 MB. */
#define MEMORY_SHARE 4
#define LEAST_MEMORY (UINT64_C(64) << 20)
#define MOST_MEMORY  (UINT64_C(1) << 30)
#define REST_COSTS   20 /* compiling one module repeatedly takes at most 5 % of a CPU */

struct compiler {
	struct quality *quality;
	struct tables *tables; /* used only by the thread */
	struct helper *helper; /* used only by the thread */
	uint64_t budget_bytes;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t lock; /* protects all fields below */
	pthread_cond_t changed;
	struct module **queue;
	size_t count, capacity;
	bool is_busy;
	bool stopping;
};

/* --- rows of a file, compiled in the helper process ------------------------------------------- */

/* The header of an answer. The pages of blocks and then the pages of rows follow. */
struct rows_head {
	uint64_t block_pages, row_pages, row_count, unsupported_count, broken_count;
};

/* Runs in the helper process. -E2BIG: more than the whole budget. */
static int serve(void *context, const struct helper_parcel *question, struct helper_parcel *answer)
{
	cleanup(rows__release) struct rows rows = {};
	const struct compiler *compiler = context;
	struct rows_head head;
	size_t block_bytes, row_bytes;
	char *bytes;
	int err = rows__compile(question->fd, &rows);

	close_p(&question->fd);
	if (err)
		return err;
	head = (struct rows_head) { rows.block_page_count, rows.row_page_count, rows.row_count,
				    rows.unsupported_count, rows.broken_count };
	block_bytes = rows.block_page_count * sizeof(*rows.block_pages);
	row_bytes = rows.row_page_count * sizeof(*rows.row_pages);
	if (block_bytes + row_bytes > compiler->budget_bytes)
		return -E2BIG;
	bytes = malloc(sizeof(head) + block_bytes + row_bytes);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), rows.block_pages, block_bytes);
	memcpy(bytes + sizeof(head) + block_bytes, rows.row_pages, row_bytes);
	answer->bytes = bytes;
	answer->size = sizeof(head) + block_bytes + row_bytes;
	return 0;
}

static int confine(void *context)
{
	return guard__drop(GUARD_PARSER, NULL);
}

static struct unwind_page *copy_pages(const char *from, uint64_t count)
{
	struct unwind_page *pages = calloc(count ? count : 1, sizeof(*pages));

	if (pages)
		memcpy(pages, from, count * sizeof(*pages));
	return pages;
}

static int unpack(const struct helper_parcel *answer, struct rows *ret)
{
	struct rows rows;
	const char *at = answer->bytes;
	struct rows_head head;
	uint64_t pages = (answer->size - sizeof(head)) / sizeof(struct unwind_page);

	if (answer->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	if (head.block_pages > pages || head.row_pages > pages ||
	    head.block_pages + head.row_pages != pages)
		return -EBADMSG;
	at += sizeof(head);
	rows = (struct rows) { .block_page_count = head.block_pages,
			       .row_page_count = head.row_pages,
			       .row_count = head.row_count,
			       .unsupported_count = head.unsupported_count,
			       .broken_count = head.broken_count };
	rows.block_pages = copy_pages(at, head.block_pages);
	rows.row_pages =
		copy_pages(at + head.block_pages * sizeof(struct unwind_page), head.row_pages);
	if (!rows.block_pages || !rows.row_pages) {
		rows__release(&rows);
		return -ENOMEM;
	}
	*ret = rows;
	return 0;
}

static int look_for_end(void *context)
{
	struct compiler *compiler = context;
	bool stopping;

	pthread_mutex_lock(&compiler->lock);
	stopping = compiler->stopping;
	pthread_mutex_unlock(&compiler->lock);
	return stopping ? -ECANCELED : 0;
}

static int compile(struct compiler *compiler, const struct module *module, struct rows *ret)
{
	const struct helper_parcel question = { .fd = module->fd };
	const struct helper_patience patience = {
		.stall_ns = STALL_NS,
		.cpu_ns = MOST_CPU_NS,
		.most_bytes = compiler->budget_bytes + sizeof(struct rows_head),
		.look = look_for_end,
		.context = compiler,
	};
	struct helper_parcel answer;
	int err;

	if (module->image)
		return rows__compile_image(module->image, module->image_bytes, ret);
	err = helper__ask(compiler->helper, &question, &patience, &answer);
	if (err)
		return err;
	err = unpack(&answer, ret);
	helper__release(&answer);
	return err;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void count_rows(struct quality *quality, struct module *module, const struct rows *rows)
{
	/* A module that is loaded again after an eviction has the same rows. */
	if (module->is_counted)
		return;
	module->is_counted = true;
	quality->rows += rows->row_count;
	quality->broken_rows += rows->broken_count;
}

/* Empty tables. With no tables, the kernel half would assume that they are not loaded yet. */
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

/* CPU time of the thread and of its helper process. */
static uint64_t cpu_ns(const struct compiler *compiler)
{
	return clock__read_ns(CLOCK_THREAD_CPUTIME_ID) + helper__cpu_ns(compiler->helper);
}

static void provide(struct compiler *compiler, struct module *module)
{
	cleanup(rows__release) struct rows rows = { 0 };
	uint64_t begin_ns = cpu_ns(compiler);
	int err = compile(compiler, module, &rows);

	module->cost_ns = cpu_ns(compiler) - begin_ns;
	/* The compiler is stopping: no one needs the result. */
	if (err == -ECANCELED)
		return;
	if (err == -E2BIG)
		compiler->quality->over_budget++;
	else
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

static uint64_t retry_at_ns(const struct module *module)
{
	uint64_t rest_ns = REST_NS + REST_COSTS * module->cost_ns;

	return module->evicted_ns ? module->evicted_ns + rest_ns : 0;
}

/* Waits until the queue changes, or until `until_ns`. */
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

/* Removes the first module that need not wait. NULL: there is none before *ret_until_ns. */
static struct module *take_ready(struct compiler *compiler, uint64_t *ret_until_ns)
{
	uint64_t now_ns = clock__now_ns();

	*ret_until_ns = UINT64_MAX;
	for (size_t i = 0; i < compiler->count; i++) {
		struct module *module = compiler->queue[i];
		uint64_t at_ns = module->is_leaving ? 0 : retry_at_ns(module);

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

/* NULL: the compiler is stopping. */
static struct module *next(struct compiler *compiler)
{
	struct module *module = NULL;
	uint64_t until_ns;

	pthread_mutex_lock(&compiler->lock);
	compiler->is_busy = false;
	while (!compiler->stopping && !(module = take_ready(compiler, &until_ns)))
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
		if (module->is_leaving) {
			tables__drop(compiler->tables, module);
			module->is_leaving = false; /* from now on the module may be freed */
			continue;
		}
		provide(compiler, module);
		compiler->quality->compile_ns = cpu_ns(compiler);
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

void compiler__leave(struct compiler *compiler, struct module *module)
{
	pthread_mutex_lock(&compiler->lock);
	if (append(compiler, module)) {
		module->is_leaving = true;
		pthread_cond_signal(&compiler->changed);
	}
	pthread_mutex_unlock(&compiler->lock);
}

int compiler__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		  struct compiler **ret)
{
	struct compiler *compiler = calloc(1, sizeof(*compiler));
	const struct helper_work work = { .name = "gapless-rows",
					  .memory_bytes = memory__share(MEMORY_SHARE, LEAST_MEMORY,
									MOST_MEMORY),
					  .serve = serve,
					  .context = compiler,
					  .confine = confine };
	pthread_condattr_t attributes;
	int err;

	if (!compiler)
		return -ENOMEM;
	compiler->quality = quality;
	compiler->budget_bytes = budget_bytes;
	pthread_mutex_init(&compiler->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&compiler->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	err = tables__new(pages_fd, asked_fd, budget_bytes, quality, &compiler->tables);
	if (!err)
		err = helper__new(&work, &compiler->helper);
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
	helper__free(compiler->helper);
	tables__free(compiler->tables);
	pthread_cond_destroy(&compiler->changed);
	pthread_mutex_destroy(&compiler->lock);
	free(compiler->queue);
	free(compiler);
}
