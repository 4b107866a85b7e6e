/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/runtime_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "model/load.h"
#include "vocabulary/runtimes.h"

/* Recordings of older versions do not have these columns. */
static const char sql_runtimes[] = "SELECT id, runtime, runtime_version, runtime_state FROM process"
				   " WHERE runtime IS NOT NULL ORDER BY 2, 3, 4, 1";

static int compare(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* Rows are sorted, so a process belongs to the last runtime or to a new one. */
static struct model_runtime *runtime_of(struct model *model, sqlite3_stmt *row)
{
	struct model_runtime *last =
		model->runtime_count ? &model->runtimes[model->runtime_count - 1] : NULL;
	struct model_runtime one = { .key = load__name(model, row, 1),
				     .version = load__text(model, row, 2),
				     .state = load__text(model, row, 3) };

	if (last && !compare(last->key, one.key) && !compare(last->version, one.version) &&
	    !compare(last->state, one.state))
		return last;
	last = APPEND(&model->runtimes, &model->runtime_count);
	if (last)
		*last = one;
	return last;
}

/* The runtime of a process, as an index + 1: the array may still move. */
static int take_runtime(struct model *model, sqlite3_stmt *row)
{
	struct model_runtime *runtime = runtime_of(model, row);

	if (!runtime)
		return -ENOMEM;
	return map__put(&model->runtime_of, (uint64_t)sqlite3_column_int64(row, 0),
			(void *)(uintptr_t)model->runtime_count);
}

static int by_process(const void *a, const void *b)
{
	const struct model_thread *x = *(struct model_thread *const *)a;
	const struct model_thread *y = *(struct model_thread *const *)b;

	return (x->process > y->process) - (x->process < y->process);
}

/* Counts threads, and each process once, by sorting the threads by process. */
static int count_threads(struct model *model)
{
	cleanup(free_p) struct model_thread **list = calloc(model->thread_count + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->thread_count; i++)
		list[i] = &model->threads[i];
	qsort(list, model->thread_count, sizeof(*list), by_process);
	for (size_t i = 0; i < model->thread_count; i++) {
		uintptr_t found =
			(uintptr_t)map__get(&model->runtime_of, (uint64_t)list[i]->process);
		struct model_runtime *runtime = found ? &model->runtimes[found - 1] : NULL;

		list[i]->runtime = runtime;
		if (!runtime || !list[i]->measured)
			continue;
		runtime->threads++;
		runtime->processes += runtime->last_process != list[i]->process;
		runtime->last_process = list[i]->process;
	}
	return 0;
}

int runtime_rows__load(struct model *model, sqlite3 *db)
{
	int err;

	if (!load__is_answered(db, sql_runtimes))
		return 0;
	err = load__each(model, db, sql_runtimes, take_runtime);
	return err ? err : count_threads(model);
}

void runtime_rows__name(const struct model_runtime *runtime, char *text, size_t size)
{
	const struct runtime_words *words =
		runtime ? runtime__words(runtime__find(runtime->key)) : NULL;

	*text = '\0';
	words__say(text, size, "%s",
		   words     ? words->title
		   : runtime ? words__clean(runtime->key, 20).text
			     : "(no runtime)");
	if (runtime && runtime->version)
		words__say(text, size, " %s", words__clean(runtime->version, 40).text);
}

bool runtime_rows__say(const struct model_runtime *runtime, char *text, size_t size)
{
	const struct runtime_words *words = runtime__words(runtime__find(runtime->key));
	const char *why = runtime__why_none(runtime->state);

	*text = '\0';
	if (!words || !why || !runtime->processes)
		return false;
	runtime_rows__name(runtime, text, size);
	words__say(text, size, " %s: %s %s no %s frames", why,
		   words__count((int64_t)runtime->processes, "processes").text,
		   runtime->processes == 1 ? "has" : "have", words->language);
	return true;
}
