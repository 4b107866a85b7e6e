/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pauses are exact, and so is their share of the time: of the process if a collection stops all of
 * its threads, otherwise of the thread that collects. Where collections were asked for is known
 * from samples: running time in the collector, or, if another thread collects, waiting for it.
 */
#include "findings/collections.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

/* A thread, a kind or a function with most of the time is named. */
#define MOSTLY_PERCENT 50
/* If the thread had no CPU for most of the pauses, that is said. */
#define LITTLE_PERCENT 60
#define LEAST_SAMPLES  3
/* In the stack of a thread that waits for an operation of HotSpot's VM Thread. */
#define ASKS_VM_THREAD "VMThread::execute"

struct taken {
	const struct pauses_process *process;
	const struct model_thread *thread; /* whose time it was; NULL: all of the process's */
	struct pauses_sum gc;
	int64_t marking_ns; /* between the pauses */
	int64_t of_ns;
};

static int64_t all_ns(const struct taken *taken)
{
	return taken->gc.ns + taken->marking_ns;
}

/* The largest share; false: there is none. */
static bool find_taken(const struct model *model, struct taken *ret)
{
	for (size_t i = 0; i < model->pauses.process_count; i++) {
		const struct pauses_process *process = &model->pauses.processes[i];
		const struct pauses_thread *asker = process->asker;
		struct taken taken = { process, NULL, process->gc, 0, process->life_ns };

		if (!asker || !answers__is_target(asker->thread->group))
			continue;
		if (!process->stops_all) {
			taken.thread = asker->thread;
			taken.gc = asker->gc;
			taken.marking_ns = asker->marking.ns;
			taken.of_ns = asker->thread->lifetime_ns;
		}
		if (taken.of_ns > 0 &&
		    (!ret->process || (double)all_ns(&taken) * (double)ret->of_ns >
					      (double)all_ns(ret) * (double)taken.of_ns))
			*ret = taken;
	}
	return ret->process;
}

/* --- where ------------------------------------------------------------------------------------ */

static bool asks_vm_thread(const struct hot *hot, uint32_t node)
{
	for (; node; node = hot->nodes[node].parent) {
		const char *name = hot->functions[hot->nodes[node].function].name;

		if (name && !strncmp(name, ASKS_VM_THREAD, strlen(ASKS_VM_THREAD)))
			return true;
	}
	return false;
}

static bool is_for_collection(struct analysis *analysis, const struct taken *taken,
			      const struct model_sample *sample)
{
	if (sample->thread != taken->process->asker->thread || !sample->node || sample->summed)
		return false;
	if (taken->process->stops_all)
		return is_wait(sample->state) &&
		       asks_vm_thread(&analysis->model->hot, sample->node);
	return sample->state->kind == KIND_RUN &&
	       analysis__path(analysis, sample->node)->flags & KNOWN_COLLECTOR;
}

/* The innermost function with a source; runtimes have some of their own without one. 0: none. */
static uint32_t program_function(const struct hot *hot, uint32_t node)
{
	node = hot->nodes[node].managed;
	while (node && !hot->functions[hot->nodes[node].function].file)
		node = hot->nodes[hot->nodes[node].parent].managed;
	return hot->nodes[node].function;
}

/* The program's function with most of the samples in collections; 0: none. */
static uint32_t find_function(struct analysis *analysis, const struct taken *taken)
{
	const struct model *model = analysis->model;
	const struct hot *hot = &model->hot;
	cleanup(free_p) int64_t *ns = calloc(hot->function_count + 1, sizeof(*ns));
	int64_t all_ns = 0;
	size_t samples = 0;
	uint32_t most = 0;

	for (size_t i = 0; ns && i < model->sample_count; i++) {
		const struct model_sample *sample = &model->samples[i];
		uint32_t function;

		if (!is_for_collection(analysis, taken, sample))
			continue;
		samples++;
		all_ns += sample->weight_ns;
		function = program_function(hot, sample->node);
		ns[function] += function ? sample->weight_ns : 0;
		if (ns[function] > ns[most])
			most = function;
	}
	return samples >= LEAST_SAMPLES && most && model__reaches(ns[most], all_ns, MOSTLY_PERCENT)
		       ? most
		       : 0;
}

/* --- words ------------------------------------------------------------------------------------ */

static void say_whose(struct finding *finding, const struct taken *taken)
{
	const struct model_thread *main = taken->process->main;

	if (taken->thread && taken->thread->tid != taken->thread->pid)
		say(finding, "thread %s (tid %lld) of ",
		    words__clean(taken->thread->comm, SAY_NAME_COLUMNS).text,
		    (long long)taken->thread->tid);
	say(finding, "%s (pid %lld)", words__clean(main->process_comm, SAY_NAME_COLUMNS).text,
	    (long long)main->pid);
}

static void say_asker(struct finding *finding, const struct model *model, const struct taken *taken)
{
	const struct pauses_thread *asker = taken->process->asker;
	int64_t rate = allocated__rate(&model->allocated, asker->thread);

	if (!model__reaches(asker->gc.ns, taken->gc.ns, MOSTLY_PERCENT) ||
	    asker->thread->runtime == NULL || strcmp(asker->thread->runtime->key, "java"))
		return;
	say(finding, "; thread %s (tid %lld)",
	    words__clean(asker->thread->comm, SAY_NAME_COLUMNS).text,
	    (long long)asker->thread->tid);
	if (rate)
		say(finding, ", which allocated %s a second,", words__bytes(rate).text);
	say(finding, " asked for ");
	if (asker->gc.count == taken->gc.count)
		say(finding, "all of them");
	else
		say(finding, "%s of them", words__number(asker->gc.count).text);
}

static void say_counts(struct finding *finding, const struct taken *taken)
{
	const struct pauses_process *process = taken->process;

	if (process->stops_all)
		say(finding, ": %s of all its threads",
		    words__count(taken->gc.count, "stops").text);
	else
		say(finding, ": %s", words__count(taken->gc.count, "collections").text);
	say(finding, ", the longest %s", words__time(taken->gc.max_ns).text);
	if (*process->kind && model__reaches(process->kind_ns, process->gc.ns, MOSTLY_PERCENT))
		say(finding, ", most of the time in those of kind '%s'",
		    words__clean(process->kind, SAY_NAME_COLUMNS).text);
	if (taken->marking_ns)
		say(finding, ", and %s of marking between them",
		    words__time(taken->marking_ns).text);
	if (!process->stops_all &&
	    !model__reaches(taken->gc.running_ns, taken->gc.ns, LITTLE_PERCENT))
		say(finding, "; it had a CPU for %s of the collections",
		    words__about(taken->gc.running_ns, taken->gc.ns).text);
}

bool collections__put(struct finding *finding, struct analysis *analysis, int percent, int below)
{
	struct taken taken = {};
	uint32_t function;

	if (!find_taken(analysis->model, &taken) ||
	    !model__reaches(all_ns(&taken), taken.of_ns, percent) ||
	    model__reaches(all_ns(&taken), taken.of_ns, below))
		return false;
	*finding = (struct finding) { .ns = all_ns(&taken),
				      .of_ns = taken.of_ns,
				      .group = taken.process->asker->thread->group };
	say(finding, "Garbage collection took %s of the time of ",
	    words__about(all_ns(&taken), taken.of_ns).text);
	say_whose(finding, &taken);
	say(finding, ", %s", words__time(all_ns(&taken)).text);
	say_counts(finding, &taken);
	say_asker(finding, analysis->model, &taken);
	function = find_function(analysis, &taken);
	if (function) {
		say(finding, "%s in ", taken.process->stops_all ? ", most" : "; most began");
		say__function(finding, analysis, function);
		finding->function = function;
	}
	say__blame(finding, finding->group);
	say(finding, ".");
	return true;
}
