/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups of threads that users think of as one thing, such as a pool of workers or the processes of
 * a server. Names that differ only in a trailing number belong to one group. The code sorts the
 * threads and adds up neighbours that compare equal.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/runtime_rows.h"
#include "recording/recording.h"

/* The length of a name without its trailing digits; the full length if the name is all digits. */
static size_t stem_length(const char *comm)
{
	size_t length = strlen(comm), stem = length;

	while (stem && isdigit((unsigned char)comm[stem - 1]))
		stem--;
	return stem ? stem : length;
}

static int compare_stems(const char *a, const char *b)
{
	size_t stem_a = stem_length(a), stem_b = stem_length(b);
	int order = strncmp(a, b, stem_a < stem_b ? stem_a : stem_b);

	if (order || stem_a != stem_b)
		return order ? order : (stem_a > stem_b) - (stem_a < stem_b);
	return (a[stem_a] != '\0') - (b[stem_b] != '\0');
}

static int compare_numbers(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

static int64_t aside(const struct model_thread *thread)
{
	return thread->flags &
	       (RECORDING_THREAD_OWN | RECORDING_THREAD_KERNEL | RECORDING_THREAD_OUTSIDE);
}

static int same_group(const struct model_thread *a, const struct model_thread *b)
{
	int order = compare_numbers(aside(a), aside(b));

	if (!order)
		order = strcmp(a->process_comm, b->process_comm);
	return order ? order : compare_stems(a->comm, b->comm);
}

static int by_group(const void *a, const void *b)
{
	const struct model_thread *x = *(struct model_thread *const *)a;
	const struct model_thread *y = *(struct model_thread *const *)b;
	int order = same_group(x, y);

	if (!order)
		order = compare_numbers(x->process, y->process);
	return order ? order : compare_numbers(x->id, y->id);
}

/* "worker-*" for worker-1 and worker-2; the name itself if all members have the same name. */
static const char *common_name(struct model *model, struct model_thread *const *members,
			       size_t count)
{
	const char *comm = members[0]->comm, *name;
	char pattern[64];

	for (size_t i = 1; i < count; i++) {
		if (!strcmp(members[i]->comm, comm))
			continue;
		snprintf(pattern, sizeof(pattern), "%.*s*", (int)stem_length(comm), comm);
		name = load__keep(model, pattern);
		return name ? name : comm;
	}
	return comm;
}

static void add_kinds(int64_t *to, const int64_t *from)
{
	for (int i = 0; i < KIND_COUNT; i++)
		to[i] += from[i];
}

static int fill_group(struct model *model, struct model_group *group,
		      struct model_thread *const *members, size_t count)
{
	group->name = common_name(model, members, count);
	group->process_comm = members[0]->process_comm;
	group->first = members[0];
	group->own = members[0]->flags & RECORDING_THREAD_OWN;
	group->kernel = members[0]->flags & RECORDING_THREAD_KERNEL;
	group->outside = members[0]->outside;
	group->members = count;
	group->state_ns = calloc(model->state_count + 1, sizeof(*group->state_ns));
	if (!group->state_ns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct model_thread *thread = members[i];

		thread->group = group;
		group->threads += thread->measured;
		group->processes += !i || thread->process != members[i - 1]->process;
		if (thread->outside)
			continue;
		group->lifetime_ns += thread->lifetime_ns;
		add_kinds(group->kind_ns, thread->kind_ns);
		for (size_t j = 0; j < thread->cell_count; j++)
			group->state_ns[thread->cells[j].state - model->states] +=
				thread->cells[j].ns;
	}
	return 0;
}

static struct model_thread **sorted(const struct model *model, bool measured,
				    int (*compare)(const void *, const void *), size_t *ret_count)
{
	struct model_thread **list = calloc(model->thread_count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; list && i < model->thread_count; i++)
		if (!measured || model->threads[i].measured)
			list[count++] = &model->threads[i];
	if (list)
		qsort(list, count, sizeof(*list), compare);
	*ret_count = count;
	return list;
}

int group__threads(struct model *model)
{
	size_t count, begin = 0;
	cleanup(free_p) struct model_thread **list = sorted(model, false, by_group, &count);

	if (!list)
		return -ENOMEM;
	/* Threads point at their group, so the array must not move. */
	model->groups = calloc(count + 1, sizeof(*model->groups));
	if (!model->groups)
		return -ENOMEM;
	for (size_t i = 1; i <= count; i++) {
		if (i < count && !same_group(list[i], list[begin]))
			continue;
		if (fill_group(model, &model->groups[model->group_count++], &list[begin],
			       i - begin))
			return -ENOMEM;
		begin = i;
	}
	return 0;
}

static int compare_pointers(const void *a, const void *b)
{
	return ((uintptr_t)a > (uintptr_t)b) - ((uintptr_t)a < (uintptr_t)b);
}

static const struct model_group *group_of(const struct model_thread *thread)
{
	return thread ? thread->group : NULL;
}

static int same_blame(const struct model_wait *a, const struct model_wait *b)
{
	int order = compare_pointers(a->waiter->group, b->waiter->group);

	if (!order)
		order = compare_pointers(a->state, b->state);
	if (!order)
		order = compare_numbers(a->alike, b->alike);
	if (order || !model__has_culprit(a->state))
		return order;
	order = compare_pointers(group_of(a->by), group_of(b->by));
	if (!order)
		order = compare_pointers(group_of(a->first), group_of(b->first));
	return order ? order : strcmp(a->evidence, b->evidence);
}

/* Within one blame, keeps the order of model.waits: the longest first. */
static int by_blame(const void *a, const void *b)
{
	const struct model_wait *x = *(const struct model_wait *const *)a;
	const struct model_wait *y = *(const struct model_wait *const *)b;
	int order = same_blame(x, y);

	return order ? order : compare_pointers(x, y);
}

static int by_blamed_time(const void *a, const void *b)
{
	const struct model_blame *x = a, *y = b;
	int order = compare_numbers(y->ns, x->ns);

	return order ? order : compare_pointers(x->first, y->first);
}

int group__waits(struct model *model)
{
	cleanup(free_p) struct model_wait **list = calloc(model->wait_count + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < model->wait_count; i++) {
		enum kind kind = model->waits[i].state->kind;

		if ((kind == KIND_DELAYING || kind == KIND_UNDECIDED) &&
		    !model->waits[i].waiter->group->own)
			list[count++] = &model->waits[i];
	}
	qsort(list, count, sizeof(*list), by_blame);
	for (size_t i = 0; i < count; i++) {
		struct model_blame *blame =
			model->blame_count ? &model->blames[model->blame_count - 1] : NULL;

		if (!blame || same_blame(blame->first, list[i])) {
			blame = APPEND(&model->blames, &model->blame_count);
			if (!blame)
				return -ENOMEM;
			blame->first = list[i];
		}
		list[i]->blame = blame->first;
		blame->by_many |= list[i]->by != blame->first->by;
		blame->first_many |= list[i]->first != blame->first->first;
		blame->many_wait |= list[i]->waiter != blame->first->waiter;
		blame->ns += list[i]->ns;
		blame->count += list[i]->count;
	}
	if (model->blame_count)
		qsort(model->blames, model->blame_count, sizeof(*model->blames), by_blamed_time);
	return 0;
}

/* How much is known about a runtime does not matter. Threads without one come first. */
static int compare_runtimes(const struct model_runtime *a, const struct model_runtime *b)
{
	int order;

	if (!a || !b)
		return (a != NULL) - (b != NULL);
	order = strcmp(a->key, b->key);
	return order ? order : strcmp(a->version ? a->version : "", b->version ? b->version : "");
}

static int order_by(const struct model_thread *a, const struct model_thread *b, enum model_by by)
{
	switch (by) {
	case MODEL_BY_PROCESS:
		return compare_numbers(a->process, b->process);
	case MODEL_BY_CGROUP:
		return strcmp(a->cgroup ? a->cgroup : "", b->cgroup ? b->cgroup : "");
	case MODEL_BY_COMM:
		return compare_stems(a->comm, b->comm);
	case MODEL_BY_RUNTIME:
		return compare_runtimes(a->runtime, b->runtime);
	default:
		return compare_numbers(a->id, b->id);
	}
}

#define DEFINE_ORDER(name, by)                                                                     \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		return order_by(*(struct model_thread *const *)a,                                  \
				*(struct model_thread *const *)b, by);                             \
	}
DEFINE_ORDER(by_thread, MODEL_BY_THREAD)
DEFINE_ORDER(by_process, MODEL_BY_PROCESS)
DEFINE_ORDER(by_cgroup, MODEL_BY_CGROUP)
DEFINE_ORDER(by_comm, MODEL_BY_COMM)
DEFINE_ORDER(by_runtime, MODEL_BY_RUNTIME)

static int64_t busy_ns(const struct model_row *row)
{
	return row->kind_ns[KIND_RUN] + row->kind_ns[KIND_READY] + row->kind_ns[KIND_DELAYING] +
	       row->kind_ns[KIND_UNDECIDED];
}

static int by_busy_time(const void *a, const void *b)
{
	const struct model_row *x = a, *y = b;
	int order = compare_numbers(busy_ns(y), busy_ns(x));

	if (!order)
		order = compare_numbers(y->lifetime_ns, x->lifetime_ns);
	return order ? order : compare_numbers(x->number, y->number);
}

static void fill_row(struct model *model, struct model_row *row, enum model_by by,
		     struct model_thread *const *members, size_t count)
{
	char text[80];

	switch (by) {
	case MODEL_BY_PROCESS:
		row->name = members[0]->process_comm;
		row->number = members[0]->pid;
		break;
	case MODEL_BY_CGROUP:
		row->name = members[0]->cgroup ? members[0]->cgroup : "(unknown)";
		break;
	case MODEL_BY_COMM:
		row->name = common_name(model, members, count);
		break;
	case MODEL_BY_RUNTIME:
		runtime_rows__name(members[0]->runtime, text, sizeof(text));
		row->name = load__keep(model, text);
		row->name = row->name ? row->name : "?";
		break;
	default:
		row->name = members[0]->comm;
		row->number = members[0]->tid;
	}
	row->threads = count;
	for (size_t i = 0; i < count; i++) {
		row->lifetime_ns += members[i]->lifetime_ns;
		add_kinds(row->kind_ns, members[i]->kind_ns);
	}
}

int group__processes(struct model *model)
{
	size_t count;
	cleanup(free_p) struct model_thread **list = sorted(model, true, by_process, &count);

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		model->measured_processes += !i || list[i]->process != list[i - 1]->process;
	return 0;
}

int group__rows(struct model *model, enum model_by by)
{
	static int (*const orders[])(const void *, const void *) = {
		[MODEL_BY_NONE] = by_thread,     [MODEL_BY_THREAD] = by_thread,
		[MODEL_BY_PROCESS] = by_process, [MODEL_BY_CGROUP] = by_cgroup,
		[MODEL_BY_COMM] = by_comm,       [MODEL_BY_RUNTIME] = by_runtime,
	};
	size_t count, begin = 0;
	cleanup(free_p) struct model_thread **list = sorted(model, true, orders[by], &count);

	if (!list)
		return -ENOMEM;
	for (size_t i = 1; by && i <= count; i++) {
		struct model_row *row;

		if (i < count && !order_by(list[i], list[begin], by))
			continue;
		row = APPEND(&model->rows, &model->row_count);
		if (!row)
			return -ENOMEM;
		fill_row(model, row, by, &list[begin], i - begin);
		begin = i;
	}
	if (model->row_count)
		qsort(model->rows, model->row_count, sizeof(*model->rows), by_busy_time);
	return 0;
}
