/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread's running time inside of a pause was measured where the pause was. Collectors and
 * compilers of HotSpot also have threads of their own, which are known by name: all of their
 * running time counts. The VM Thread's counts only inside of pauses.
 */
#include "model/pauses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "base/words.h"
#include "model/model.h"
#include "vocabulary/runtimes.h"

/* Against hostile recordings: what is beyond is left out. */
#define MOST_PROCESSES 64
#define MOST_THREADS   1024
/* Less of the running time is not said. */
#define LEAST_SAID_PERCENT 1

enum duty { DUTY_NONE, DUTY_GC, DUTY_COMPILE };

/* Names of HotSpot's threads begin with these. Linux keeps 15 bytes of a name. */
static const struct {
	const char *begin;
	enum duty duty;
} duties[] = {
	{ "GC Thread#", DUTY_GC },
	{ "G1 ", DUTY_GC },
	{ "ZWorker", DUTY_GC },
	{ "ZDriver", DUTY_GC },
	{ "XWorker", DUTY_GC },
	{ "Shenandoah GC", DUTY_GC },
	{ "C1 Compiler", DUTY_COMPILE },
	{ "C2 Compiler", DUTY_COMPILE },
	{ "JVMCI Compiler", DUTY_COMPILE },
};

void pauses__release(struct pauses *pauses)
{
	free(pauses->processes);
	free(pauses->threads);
	*pauses = (struct pauses) {};
}

static enum runtime_kind kind_of(const struct model_thread *thread)
{
	return thread->runtime ? runtime__find(thread->runtime->key) : RUNTIME_NONE;
}

static enum duty duty_of(const struct model_thread *thread)
{
	for (size_t i = 0; kind_of(thread) == RUNTIME_HOTSPOT && thread->comm &&
			   i < sizeof(duties) / sizeof(*duties);
	     i++)
		if (!strncmp(thread->comm, duties[i].begin, strlen(duties[i].begin)))
			return duties[i].duty;
	return DUTY_NONE;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void add(struct pauses_sum *to, const struct signals_signal *signal,
		const struct signals_sum *sum)
{
	int running = signals__measure(signal, "running");

	to->count += sum->count;
	to->ns += sum->sum[signal->main];
	to->running_ns += running >= 0 ? sum->sum[running] : 0;
	if (sum->max[signal->main] > to->max_ns)
		to->max_ns = sum->max[signal->main];
}

/* NULL with 0: there are too many. */
static int find_process(struct pauses *pauses, const struct model_thread *thread,
			struct pauses_process **ret)
{
	struct pauses_process *process;

	*ret = NULL;
	for (size_t i = 0; i < pauses->process_count && !*ret; i++)
		if (pauses->processes[i].main->process == thread->process)
			*ret = &pauses->processes[i];
	if (*ret || pauses->process_count == MOST_PROCESSES)
		return 0;
	process = APPEND(&pauses->processes, &pauses->process_count);
	if (!process)
		return -ENOMEM;
	*process =
		(struct pauses_process) { .main = thread, .runtime = thread->runtime, .kind = "" };
	*ret = process;
	return 0;
}

static int find_thread(struct pauses *pauses, const struct model_thread *thread,
		       struct pauses_thread **ret)
{
	struct pauses_thread *found;

	*ret = NULL;
	for (size_t i = 0; i < pauses->thread_count && !*ret; i++)
		if (pauses->threads[i].thread == thread)
			*ret = &pauses->threads[i];
	if (*ret || pauses->thread_count == MOST_THREADS)
		return 0;
	found = APPEND(&pauses->threads, &pauses->thread_count);
	if (!found)
		return -ENOMEM;
	*found = (struct pauses_thread) { .thread = thread };
	*ret = found;
	return 0;
}

static int add_series(struct pauses *pauses, const struct signals_signal *signal,
		      const struct signals_series *series)
{
	const char *place = signal->rows[series->row].place;
	struct pauses_process *process = NULL;
	struct pauses_thread *thread = NULL;
	int err;

	if (!series->thread || !series->thread->measured)
		return 0;
	err = find_process(pauses, series->thread, &process);
	if (!err)
		err = find_thread(pauses, series->thread, &thread);
	if (err || !process || !thread)
		return err;
	if (!strcmp(place, "gc")) {
		add(&process->gc, signal, &series->sum);
		add(&thread->gc, signal, &series->sum);
	} else if (!strcmp(place, "compile")) {
		add(&process->compile, signal, &series->sum);
		add(&thread->compile, signal, &series->sum);
	} else if (!strcmp(place, "marking")) {
		add(&process->marking, signal, &series->sum);
		add(&thread->marking, signal, &series->sum);
	} else if (!strcmp(place, "safepoint")) {
		add(&process->stops, signal, &series->sum);
	}
	return 0;
}

/* Rows are few: one for each kind of collection. */
static int find_kind(struct model *model, const struct signals_signal *signal,
		     struct pauses_process *process)
{
	cleanup(free_p) int64_t *ns = calloc(signal->row_count + 1, sizeof(*ns));

	if (!ns)
		return -ENOMEM;
	for (size_t i = 0; i < signal->series_count; i++) {
		const struct signals_series *series = &signal->series[i];
		const struct signals_row *row = &signal->rows[series->row];

		if (!series->thread || series->thread->process != process->main->process ||
		    strcmp(row->place, "gc"))
			continue;
		ns[series->row] += series->sum.sum[signal->main];
		if (ns[series->row] <= process->kind_ns)
			continue;
		process->kind_ns = ns[series->row];
		process->kind = row->operation;
	}
	return 0;
}

static void add_thread(struct pauses_process *process, const struct model_thread *thread)
{
	enum duty duty = duty_of(thread);
	int64_t run_ns = thread->kind_ns[KIND_RUN];

	if (thread->tid == thread->pid)
		process->main = thread;
	if (!process->runtime)
		process->runtime = thread->runtime;
	if (thread->lifetime_ns > process->life_ns)
		process->life_ns = thread->lifetime_ns;
	process->run_ns += run_ns;
	if (duty == DUTY_GC)
		process->gc_run_ns += run_ns;
	else if (duty == DUTY_COMPILE)
		process->compile_run_ns += run_ns;
}

static void finish(struct model *model, struct pauses_process *process)
{
	const struct pauses *pauses = &model->pauses;
	int64_t process_id = process->main->process;
	enum runtime_kind kind;

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].process == process_id && model->threads[i].measured)
			add_thread(process, &model->threads[i]);
	for (size_t i = 0; i < pauses->thread_count; i++) {
		const struct pauses_thread *thread = &pauses->threads[i];

		if (thread->thread->process == process_id && thread->gc.ns &&
		    (!process->asker || thread->gc.ns > process->asker->gc.ns))
			process->asker = thread;
	}
	kind = kind_of(process->main);
	process->stops_all = kind == RUNTIME_HOTSPOT || kind == RUNTIME_GO;
	process->gc_run_ns += process->gc.running_ns + process->marking.running_ns;
	if (!process->compile_run_ns)
		process->compile_run_ns = process->compile.running_ns;
}

static int compare_processes(const void *a, const void *b)
{
	const struct pauses_process *one = a, *other = b;

	return (one->gc.ns < other->gc.ns) - (one->gc.ns > other->gc.ns);
}

static int compare_threads(const void *a, const void *b)
{
	const struct pauses_thread *one = a, *other = b;

	return (one->thread->id > other->thread->id) - (one->thread->id < other->thread->id);
}

int pauses__make(struct model *model)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_RUNTIMES);
	struct pauses *pauses = &model->pauses;
	int err = 0;

	if (!signal || signal->main < 0)
		return 0;
	for (size_t i = 0; i < signal->series_count && !err; i++)
		err = add_series(pauses, signal, &signal->series[i]);
	if (pauses->thread_count)
		qsort(pauses->threads, pauses->thread_count, sizeof(*pauses->threads),
		      compare_threads);
	for (size_t i = 0; i < pauses->process_count && !err; i++) {
		err = find_kind(model, signal, &pauses->processes[i]);
		finish(model, &pauses->processes[i]);
	}
	if (pauses->process_count)
		qsort(pauses->processes, pauses->process_count, sizeof(*pauses->processes),
		      compare_processes);
	return err;
}

/* --- questions -------------------------------------------------------------------------------- */

const struct pauses_thread *pauses__of_thread(const struct pauses *pauses,
					      const struct model_thread *thread)
{
	const struct pauses_thread key = { .thread = thread };

	return pauses->thread_count ? bsearch(&key, pauses->threads, pauses->thread_count,
					      sizeof(key), compare_threads)
				    : NULL;
}

bool pauses__say_share(const struct pauses_process *process, char *text, size_t size)
{
	bool has_gc = model__reaches(process->gc_run_ns, process->run_ns, LEAST_SAID_PERCENT);
	bool has_compile =
		model__reaches(process->compile_run_ns, process->run_ns, LEAST_SAID_PERCENT);

	*text = '\0';
	if (!has_gc && !has_compile)
		return false;
	words__say(text, size, "of the running time of %s (pid %lld), ",
		   words__clean(process->main->process_comm, 40).text,
		   (long long)process->main->pid);
	if (has_gc)
		words__say(text, size, "%s was garbage collection",
			   words__about(process->gc_run_ns, process->run_ns).text);
	if (has_compile)
		words__say(text, size, "%s%s was compilation", has_gc ? " and " : "",
			   words__about(process->compile_run_ns, process->run_ns).text);
	return true;
}
