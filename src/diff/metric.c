/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff/metric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "model/estimated.h"
#include "model/load.h"
#include "vocabulary/calls.h"

#define MOST_NAME 512

/*
 * What takes less than this is compared only if asked for, because every comparison makes the
 * others harder to prove. The mean over all recordings decides, because it does not depend on the
 * change.
 */
#define LEAST_OF_WALL 0.001
#define LEAST_OF_RUN  0.005

/* The kernel gives ports from here on to clients. */
#define FIRST_OF_CLIENTS 32768

struct making {
	const struct model *model;
	struct metrics *metrics;
	int err;
};

const char *metric__class_name(enum metric_class class)
{
	static const char *const names[METRIC_CLASSES] = {
		[METRIC_WHOLE] = "as a whole",
		[METRIC_WINDOW] = "requests and calls",
		[METRIC_REASON] = "time of one, by reason",
		[METRIC_STATE] = "states",
		[METRIC_CAUSE] = "causes",
		[METRIC_SYSCALL] = "syscalls",
		[METRIC_FUNCTION] = "functions",
		[METRIC_WAIT] = "who waits for what",
		[METRIC_SIGNAL] = "signals",
	};

	return names[class];
}

int metric__compare(const struct metric *a, const struct metric *b)
{
	int order = (a->class > b->class) - (a->class < b->class);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : strcmp(a->measure, b->measure);
}

static int compare(const void *a, const void *b)
{
	return metric__compare(a, b);
}

struct metric *metrics__add(struct metrics *metrics, struct metric metric, const char *name)
{
	struct metric *added = APPEND(&metrics->list, &metrics->count);

	metric.name = added ? strdup(name) : NULL;
	metric.unit = metric.own_unit = metric.name ? strdup(metric.unit) : NULL;
	if (!metric.unit) {
		free(metric.name);
		if (added)
			metrics->count--;
		return NULL;
	}
	*added = metric;
	return added;
}

static struct metric *add(struct making *making, struct metric metric, const char *name)
{
	struct metric *added = metrics__add(making->metrics, metric, name);

	if (!added)
		making->err = -ENOMEM;
	return added;
}

static double worth(double part, double whole, double least)
{
	return whole > 0 ? part / (whole * least) : 0;
}

static struct metric *add_time(struct making *making, enum metric_class class, const char *name,
			       int64_t ns)
{
	return add(making,
		   (struct metric) { .class = class,
				     .measure = "time",
				     .unit = "ns",
				     .is_sum = true,
				     .worth = worth((double)ns, (double)making->model->wall_ns,
						    LEAST_OF_WALL),
				     .value = (double)ns },
		   name);
}

static void add_count(struct making *making, enum metric_class class, const char *name,
		      const char *unit, int64_t count, double worth)
{
	add(making,
	    (struct metric) { .class = class,
			      .measure = "count",
			      .unit = unit,
			      .is_sum = true,
			      .worth = worth,
			      .value = (double)count },
	    name);
}

/*
 * Adds a mean or a percentile of `count` values. It does not depend on the length of a recording.
 */
static void add_typical(struct making *making, struct metric metric, const char *name)
{
	metric.unit = "ns";
	if (metric.count > 0)
		add(making, metric, name);
}

/* Only p99 is compared unless asked for. A percentile of too few values is left out. */
static void add_percentiles(struct making *making, struct metric metric, const char *name,
			    const int64_t values[PERCENTILES])
{
	double size = metric.worth;

	for (int i = 0; i < PERCENTILES; i++) {
		metric.measure = percentiles__words(i)->key;
		metric.value = (double)values[i];
		metric.worth = i == P99 ? size : 0;
		if (values[i] >= 0)
			add_typical(making, metric, name);
	}
}

/* Adds all states, because a gate may name one that took no time in any recording. */
static void add_states(struct making *making)
{
	const struct model *model = making->model;

	for (int kind = KIND_RUN; kind <= KIND_IDLE; kind++)
		add_time(making, METRIC_STATE, kinds__words(kind)->key, model->hot.ledger_ns[kind]);
	for (size_t i = 0; i < model->state_count; i++) {
		const struct model_state *state = &model->states[i];
		char name[MOST_NAME], kind[32] = "";
		struct metric *time;
		int64_t ns = 0;

		for (size_t j = 0; j < model->group_count; j++)
			if (!model->groups[j].own)
				ns += model->groups[j].state_ns[i];
		if (state->kind == KIND_UNSEEN)
			continue;
		/* One cause can belong to several kinds. */
		if (state->kind == KIND_IDLE || state->kind == KIND_UNDECIDED)
			snprintf(kind, sizeof(kind), " (%s)", kinds__words(state->kind)->key);
		snprintf(name, sizeof(name), "%s.%s%s", state->state, state->cause, kind);
		time = add_time(making, METRIC_CAUSE, name, ns);
		if (time && estimated__state_error_ns(state, model->estimated.variance))
			time->variance = model->estimated.variance;
	}
}

static void add_syscalls(struct making *making)
{
	const struct model *model = making->model;

	for (size_t i = 0; i < model->syscall_count; i++) {
		const struct model_syscall *call = &model->syscalls[i];
		double size = worth((double)call->total_ns, (double)model->wall_ns, LEAST_OF_WALL);
		struct metric typical = { .class = METRIC_SYSCALL, .worth = size };
		char name[MOST_NAME];
		struct metric *time;

		snprintf(name, sizeof(name), "syscall:%s", call->name);
		time = add_time(making, METRIC_SYSCALL, name, call->total_ns);
		if (time) {
			time->is_aside = calls__is_by_choice(call->name);
			time->variance = call->variance;
		}
		add_count(making, METRIC_SYSCALL, name, "calls", call->count, size);
		typical.count = call->count;
		typical.measure = "mean";
		typical.value = (double)call->total_ns / (double)call->count;
		add_typical(making, typical, name);
		typical.count = call->timed;
		add_percentiles(making, typical, name, call->percentiles_ns);
	}
}

/*
 * Leaves out what differs from run to run in the names that a perf map has: addresses of generated
 * classes ("LambdaForm$MH/0x7f12a8001000.invoke") and lines ("LazyCompile:*render
 * /srv/cart.js:12:3").
 */
static void leave_places_out(char *text)
{
	const char *from = text;
	char *to = text;

	while (*from) {
		bool in_class = from[0] == '/' && from[1] == '0' && from[2] == 'x';
		size_t length = in_class ? 3 + strspn(from + 3, "0123456789abcdef")
					 : 1 + strspn(from + 1, "0123456789");

		if (in_class ||
		    (*from == ':' && length > 1 && (!from[length] || strchr(": )", from[length]))))
			from += length;
		else
			*to++ = *from++;
	}
	*to = '\0';
}

/* Leaves out the pid in the module name of generated code as well: "[jit 4242]". */
void metric__say_function(const struct hot_function *function, char *text, size_t size)
{
	char *jit, *end;

	hot__say_function(function, text, size);
	if (hot__is_generated(function))
		leave_places_out(text);
	jit = strstr(text, "[jit ");
	end = jit ? strchr(jit, ']') : NULL;
	if (end)
		memmove(jit + 4, end, strlen(end) + 1);
}

static void add_function(struct making *making, const struct hot_function *function,
			 enum hot_kind kind)
{
	const struct hot *hot = &making->model->hot;
	const struct hot_sum *self = &function->self[kind];
	int64_t whole = kind == HOT_RUN
				? hot->sampled[KIND_RUN].ns
				: hot->sampled[KIND_DELAYING].ns + hot->sampled[KIND_UNDECIDED].ns;
	char name[MOST_NAME] = "function:";

	if (!self->ns)
		return;
	metric__say_function(function, name, sizeof(name));
	add(making,
	    (struct metric) { .class = METRIC_FUNCTION,
			      .measure = kind == HOT_RUN ? "self" : "waits",
			      .unit = "ns",
			      .is_sum = true,
			      .is_aside = function->kernel,
			      .worth = worth((double)self->ns, (double)whole, LEAST_OF_RUN),
			      .value = (double)self->ns,
			      .variance = self->variance },
	    name);
}

static void add_functions(struct making *making)
{
	const struct hot *hot = &making->model->hot;

	for (int kind = 0; kind < HOT_KINDS; kind++)
		for (size_t i = 0; i < hot->rank_counts[kind]; i++)
			add_function(making, &hot->functions[hot->ranks[kind][i]], kind);
}

/* Leaves out what differs from run to run: addresses, inode numbers, client ports, pids. */
static void say_object(const char *kind, const char *name, char *text, size_t size)
{
	bool is_file = !strcmp(kind, "file");
	char plain[MOST_NAME];
	size_t used = 0;

	if (!strncmp(name, "0x", 2)) {
		words__say(text, size, " for a %s", kind);
		return;
	}
	while (*name && used < sizeof(plain) - 2) {
		size_t digits = strspn(name, "0123456789");
		char before = used ? plain[used - 1] : '\0';
		bool gone = before == '[' || (before == ' ' && name[digits] != '.') ||
			    (before == ':' && strtoul(name, NULL, 10) >= FIRST_OF_CLIENTS);

		if (is_file || !digits || !gone) {
			plain[used++] = *name++;
			continue;
		}
		plain[used++] = '*';
		name += digits;
	}
	plain[used] = '\0';
	words__say(text, size, " for %s", plain);
}

/* The call path that has most of the wait. */
static void say_way(const struct model *model, const struct model_blame *blame, char *text,
		    size_t size)
{
	struct hot_sum whole;
	size_t count;
	const struct hot_cell *most = hot__find(&model->hot.paths, blame->owner, &count, &whole);

	if (most && most->place)
		hot__say_path(&model->hot, most->place, text, size);
}

/*
 * Sums of waits are stored for the whole recording. In a part of it, the samples tell how long they
 * were.
 */
static struct hot_sum wait_time(const struct model *model, const struct model_blame *blame)
{
	struct hot_sum whole = {};
	size_t count;

	if (!model->cut)
		return (struct hot_sum) { .ns = blame->ns };
	hot__find(&model->hot.paths, blame->owner, &count, &whole);
	return whole;
}

/*
 * Many locks have no name of their own, so a wait for a lock is named after its holders. Other
 * waits are named after the object.
 */
static void add_wait(struct making *making, const struct model_blame *blame)
{
	const struct model_wait *wait = blame->first;
	bool is_lock = !strcmp(wait->state->cause, "lock") || !strcmp(wait->state->cause, "kernel");
	char name[MOST_NAME] = "", about[MOST_NAME] = "";
	struct hot_sum time = wait_time(making->model, blame);
	struct metric *added;

	words__say(name, sizeof(name), "wait.%s: %s", wait->state->cause,
		   wait->waiter->group->name);
	if (wait->object_kind && wait->own_name)
		say_object(wait->object_kind, wait->own_name, name, sizeof(name));
	if (is_lock && !strcmp(wait->evidence, "timeout"))
		words__say(name, sizeof(name), " timed out");
	else if (is_lock && wait->first && wait->by && wait->by->group == wait->first->group)
		words__say(name, sizeof(name), " first and last held by %s", wait->by->group->name);
	else if (is_lock && wait->first)
		words__say(name, sizeof(name), " first held by %s%s%s", wait->first->group->name,
			   wait->by ? ", last by " : "", wait->by ? wait->by->group->name : "");
	else if (is_lock && wait->by)
		words__say(name, sizeof(name), " %s %s",
			   strcmp(wait->evidence, "owner") ? "ended by" : "held by",
			   wait->by->group->name);
	say_way(making->model, blame, about, sizeof(about));
	added = add(making,
		    (struct metric) { .class = METRIC_WAIT,
				      .measure = "time",
				      .unit = "ns",
				      .is_sum = true,
				      .worth = worth((double)time.ns,
						     (double)making->model->wall_ns, LEAST_OF_WALL),
				      .value = (double)time.ns,
				      .variance = time.variance },
		    name);
	if (added && *about)
		added->about = strdup(about);
}

static void add_waits(struct making *making)
{
	for (size_t i = 0; i < making->model->blame_count; i++)
		add_wait(making, &making->model->blames[i]);
}

static void add_row(struct making *making, const struct signals_signal *signal,
		    const struct signals_row *row)
{
	const struct signals_sum *sum = &row->part.sum;
	int main = signal->main;
	char name[MOST_NAME];
	double size = 0;
	struct metric typical = { .class = METRIC_SIGNAL };

	snprintf(name, sizeof(name), "%s%s%s%s%s", signal->name,
		 *row->place || *row->operation ? ":" : "", row->operation,
		 *row->place && *row->operation ? " " : "", row->place);
	if (main >= 0) {
		size = worth((double)sum->sum[main], (double)making->model->wall_ns, LEAST_OF_WALL);
		add_time(making, METRIC_SIGNAL, name, sum->sum[main]);
		typical.count = sum->count;
		typical.worth = size;
		typical.measure = "mean";
		typical.value = sum->count ? (double)sum->sum[main] / (double)sum->count : 0;
		add_typical(making, typical, name);
		typical.count = row->histograms[main].count;
		add_percentiles(making, typical, name, row->percentiles[main]);
	}
	add_count(making, METRIC_SIGNAL, name, signal->events ? signal->events : "events",
		  sum->count, size);
}

/* Leaves out the signal syscalls, which counts what the ledger already has. */
static void add_signals(struct making *making)
{
	const struct signals *signals = &making->model->signals;

	for (size_t i = 0; i < signals->count; i++)
		for (size_t j = 0; j < signals->list[i].row_count; j++)
			if (signals->list[i].role != ROLE_CALLS)
				add_row(making, &signals->list[i], &signals->list[i].rows[j]);
}

static void metric__release(struct metric *metric)
{
	free(metric->name);
	free(metric->about);
	free(metric->shown);
	free(metric->own_unit);
}

/*
 * Adds up metrics of the same name. They are parts of one sum, because only names of parts lose
 * details.
 */
static void merge_equals(struct metrics *metrics)
{
	size_t kept = 0;

	for (size_t i = 1; i < metrics->count; i++) {
		struct metric *last = &metrics->list[kept], *next = &metrics->list[i];

		if (metric__compare(last, next)) {
			metrics->list[++kept] = *next;
			continue;
		}
		if (last->is_sum) {
			last->value += next->value;
			last->variance += next->variance;
			last->worth += next->worth;
		}
		metric__release(next);
	}
	if (metrics->count)
		metrics->count = kept + 1;
}

int metrics__make(const struct model *model, struct metrics *ret)
{
	struct making making = { .model = model, .metrics = ret };

	*ret = (struct metrics) {};
	add_time(&making, METRIC_WHOLE, "wall", model->wall_ns);
	add_states(&making);
	add_syscalls(&making);
	add_functions(&making);
	add_waits(&making);
	add_signals(&making);
	if (!making.err)
		making.err = metrics__add_windows(ret, model);
	if (making.err) {
		metrics__release(ret);
		return making.err;
	}
	qsort(ret->list, ret->count, sizeof(*ret->list), compare);
	merge_equals(ret);
	return 0;
}

void metrics__release(struct metrics *metrics)
{
	for (size_t i = 0; i < metrics->count; i++)
		metric__release(&metrics->list[i]);
	free(metrics->list);
	*metrics = (struct metrics) {};
}

const struct metric *metrics__find(const struct metrics *metrics, const char *measure,
				   const char *name)
{
	for (size_t i = 0; i < metrics->count; i++)
		if (!strcmp(metrics->list[i].name, name) &&
		    !strcmp(metrics->list[i].measure, measure))
			return &metrics->list[i];
	return NULL;
}
