/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/fibers.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "model/fold.h"
#include "model/load.h"

#define MOST_FIBERS (1 << 22) /* of a hostile file */
#define MOST_EXACT  1024      /* likewise, of a group */

static const char sql_fibers[] = "SELECT f.process, f.id, f.start, p.comm FROM fiber f"
				 " LEFT JOIN process p ON p.id = f.process";
static const char sql_times[] =
	"SELECT t.process, t.fiber, s.state, s.reason, t.object, o.name, t.stack, t.begin_ns,"
	" t.end_ns, t.ns, t.readings, t.variance FROM fiber_time t JOIN fiber_state s"
	" ON s.id = t.state LEFT JOIN object o ON o.id = t.object"
	" WHERE t.end_ns > ?1 AND t.begin_ns < ?2";
static const char sql_exact[] =
	"SELECT t.process, t.fiber, s.state, s.reason, t.begin_ns, t.end_ns, t.ns, t.changes"
	" FROM fiber_exact t JOIN fiber_state s ON s.id = t.state"
	" WHERE t.end_ns > ?1 AND t.begin_ns < ?2";
static const char sql_runs[] =
	"SELECT h.process, s.fiber, sum(s.weight_ns), count(*),"
	" sum(1.0 * s.weight_ns * s.weight_ns) FROM sample s JOIN thread h ON h.id = s.thread"
	" JOIN state a ON a.id = s.state WHERE s.fiber > 0 AND a.state = 'run' AND s.flags & 2"
	" AND s.time_ns > ?1 AND s.time_ns <= ?2 GROUP BY 1, 2";

struct loading {
	struct fold *fold;
	struct model *model;
	struct map processes; /* that have threads in the model's totals */
	struct map groups;    /* (process name, function) → group + 1 */
	struct map fibers;    /* (process, number) → group + 1 */
	struct map waits;     /* → wait + 1 */
	struct map seen;      /* (wait, process, number) */
	struct map readings;  /* (process, number) → how many have it */
	int64_t all_ns;
};

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

bool fibers__is_runtime(const char *function)
{
	return !strncmp(function, "runtime.", strlen("runtime.")) ||
	       !strncmp(function, "runtime/", strlen("runtime/")) ||
	       strstr(function, ".runtime_") != NULL;
}

static void release_group(struct fibers_group *group)
{
	free(group->waits);
	free(group->exact);
}

void fibers__release(struct fibers *fibers)
{
	for (size_t i = 0; i < fibers->count; i++)
		release_group(&fibers->groups[i]);
	free(fibers->groups);
	*fibers = (struct fibers) {};
}

/* --- groups ----------------------------------------------------------------------------------- */

static uint64_t key_of(int64_t process, int64_t fiber)
{
	return map__mix(map__mix(0, (uint64_t)process), (uint64_t)fiber);
}

static int note_processes(struct loading *loading)
{
	const struct model *model = loading->model;

	for (size_t i = 0; i < model->thread_count; i++)
		if (model->threads[i].measured && model->threads[i].process > 0 &&
		    map__put(&loading->processes, (uint64_t)model->threads[i].process,
			     (void *)(uintptr_t)1))
			return -ENOMEM;
	return 0;
}

static const char *name_of(const struct hot *hot, uint32_t node)
{
	const struct hot_function *function = &hot->functions[hot->nodes[node].function];

	return node && function->named ? function->name : NULL;
}

static int find_group(struct loading *loading, const char *start, const char *comm, uintptr_t *ret)
{
	struct fibers *fibers = &loading->model->fibers;
	uint64_t key = map__mix_text(map__mix_text(0, comm), start ? start : "");
	struct fibers_group *group;

	*ret = (uintptr_t)map__get(&loading->groups, key);
	if (*ret)
		return 0;
	group = APPEND(&fibers->groups, &fibers->count);
	if (!group)
		return -ENOMEM;
	*group = (struct fibers_group) {
		.start = start,
		.process_comm = comm,
		/* The function main.main is called by one of the runtime. */
		.is_internal = start && fibers__is_runtime(start) && strcmp(start, "runtime.main"),
	};
	*ret = fibers->count;
	return map__put(&loading->groups, key, (void *)*ret);
}

static int load_fibers(struct loading *loading, sqlite3 *db)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(loading->model, db, sql_fibers, &row), rc = SQLITE_DONE;

	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		int64_t process = sqlite3_column_int64(row, 0);
		const struct fold_stack *stack =
			fold__stack(loading->fold, sqlite3_column_int64(row, 2));
		uintptr_t group;

		if (!map__get(&loading->processes, (uint64_t)process))
			continue;
		if (loading->fibers.count >= MOST_FIBERS)
			return -E2BIG;
		err = find_group(loading, name_of(&loading->model->hot, stack ? stack->node : 0),
				 load__name(loading->model, row, 3), &group);
		if (!err)
			err = map__put(&loading->fibers,
				       key_of(process, sqlite3_column_int64(row, 1)),
				       (void *)group);
	}
	return err ? err : load__error(rc);
}

/* The group of a goroutine; 0: it is of a process that is left out. */
static uintptr_t group_of(const struct loading *loading, sqlite3_stmt *row)
{
	return (uintptr_t)map__get(&loading->fibers, key_of(sqlite3_column_int64(row, 0),
							    sqlite3_column_int64(row, 1)));
}

/* --- times ------------------------------------------------------------------------------------ */

/* The nearest function that is not of the runtime, from the innermost one on. */
static uint32_t own_node(const struct hot *hot, uint32_t leaf)
{
	for (uint32_t node = leaf; node; node = hot->nodes[node].parent) {
		const char *name = name_of(hot, node);

		if (name && !fibers__is_runtime(name))
			return node;
	}
	return leaf;
}

static int find_wait(struct loading *loading, uintptr_t at, const struct fibers_wait *like,
		     struct fibers_wait **ret, uint64_t *ret_key)
{
	struct fibers_group *group = &loading->model->fibers.groups[at - 1];
	uint64_t key = map__mix(map__mix(0, at), (uint64_t)like->state);
	uintptr_t known;

	key = map__mix_text(key, like->reason ? like->reason : "");
	key = map__mix(map__mix(key, (uint64_t)like->object), like->node);
	known = (uintptr_t)map__get(&loading->waits, key);
	if (!known) {
		struct fibers_wait *wait = APPEND(&group->waits, &group->wait_count);

		known = group->wait_count;
		if (!wait || map__put(&loading->waits, key, (void *)known))
			return -ENOMEM;
		*wait = *like;
	}
	*ret = &group->waits[known - 1];
	*ret_key = key;
	return 0;
}

/* Whether the goroutine of this row is new to what has the key. */
static int is_new(struct loading *loading, uint64_t key, sqlite3_stmt *row, bool *ret)
{
	key = map__mix(key, key_of(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1)));
	*ret = !map__get(&loading->seen, key);
	if (loading->seen.count >= MOST_FIBERS)
		return -E2BIG;
	return *ret ? map__put(&loading->seen, key, (void *)(uintptr_t)1) : 0;
}

/* How much of a row is inside the cut. */
static double part_of(const struct model *model, int64_t begin_ns, int64_t end_ns)
{
	int64_t from_ns = begin_ns > model->from_ns ? begin_ns : model->from_ns;
	int64_t to_ns = end_ns < model->to_ns ? end_ns : model->to_ns;

	return end_ns > begin_ns && to_ns > from_ns
		       ? ((double)to_ns - (double)from_ns) / ((double)end_ns - (double)begin_ns)
		       : 0;
}

static struct hot_sum sum_of(struct loading *loading, sqlite3_stmt *row)
{
	double part =
		part_of(loading->model, sqlite3_column_int64(row, 7), sqlite3_column_int64(row, 8));
	double ns = (double)sqlite3_column_int64(row, 9) * part;
	int64_t readings = sqlite3_column_int64(row, 10);

	return (struct hot_sum) {
		.ns = load__amount(ns < 1e18 ? (int64_t)ns : 0, LOAD_MOST, &loading->all_ns),
		.samples = readings > 0 && readings < INT32_MAX ? readings : 0,
		.variance = load__variance(row, 11) * part,
	};
}

static int state_of(const char *name)
{
	for (int i = 0; name && i < FIBER_STATES; i++)
		if (!strcmp(name, runtime__fiber_state((enum fiber_state)i)))
			return i;
	return -1;
}

static int count_readings(struct loading *loading, struct fibers_group *group, sqlite3_stmt *row,
			  int64_t readings)
{
	uint64_t key = key_of(sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 1));

	readings += (int64_t)(uintptr_t)map__get(&loading->readings, key);
	if (readings > group->readings)
		group->readings = readings;
	return map__put(&loading->readings, key, (void *)(uintptr_t)readings);
}

static int take_time(struct loading *loading, sqlite3_stmt *row)
{
	struct model *model = loading->model;
	const struct fold_stack *stack = fold__stack(loading->fold, sqlite3_column_int64(row, 6));
	int state = state_of((const char *)sqlite3_column_text(row, 2));
	struct hot_sum sum = sum_of(loading, row);
	struct fibers_wait *wait, like = { .state = (enum fiber_state)state };
	uintptr_t group = group_of(loading, row);
	uint64_t key;
	bool fresh;
	int err;

	if (!group || state < 0)
		return 0;
	err = is_new(loading, group, row, &fresh);
	if (err)
		return err;
	err = count_readings(loading, &model->fibers.groups[group - 1], row, sum.samples);
	if (err)
		return err;
	model->fibers.groups[group - 1].fibers += fresh;
	hot__add(&model->fibers.groups[group - 1].sums[state], &sum);
	if (state != FIBER_WAITING && state != FIBER_SYSCALL)
		return 0;
	like.reason = load__text(model, row, 3);
	like.object = sqlite3_column_int64(row, 4);
	like.object_name = load__text(model, row, 5);
	like.node = own_node(&model->hot, stack ? stack->node : 0);
	err = find_wait(loading, group, &like, &wait, &key);
	if (!err)
		err = is_new(loading, key, row, &fresh);
	if (err)
		return err;
	wait->fibers += fresh;
	hot__add(&wait->sum, &sum);
	return 0;
}

static struct fibers_exact *find_exact(struct fibers_group *group, enum fiber_state state,
				       const char *reason)
{
	struct fibers_exact *exact;

	for (size_t i = 0; i < group->exact_count; i++) {
		exact = &group->exact[i];
		if (exact->state == state &&
		    !strcmp(exact->reason ? exact->reason : "", reason ? reason : ""))
			return exact;
	}
	if (group->exact_count >= MOST_EXACT)
		return NULL;
	exact = APPEND(&group->exact, &group->exact_count);
	if (exact)
		*exact = (struct fibers_exact) { .state = state, .reason = reason };
	return exact;
}

static int take_exact(struct loading *loading, sqlite3_stmt *row)
{
	int64_t begin_ns = sqlite3_column_int64(row, 4), end_ns = sqlite3_column_int64(row, 5);
	int state = state_of((const char *)sqlite3_column_text(row, 2));
	double part = part_of(loading->model, begin_ns, end_ns);
	double ns = (double)sqlite3_column_int64(row, 6) * part;
	uintptr_t at = group_of(loading, row);
	struct fibers_group *group;
	struct fibers_exact *exact;
	bool fresh;
	int err;

	if (!at || state < 0 || part <= 0)
		return 0;
	group = &loading->model->fibers.groups[at - 1];
	exact = find_exact(group, (enum fiber_state)state, load__text(loading->model, row, 3));
	if (!exact)
		return -ENOMEM;
	err = is_new(loading, at, row, &fresh);
	if (err)
		return err;
	group->fibers += fresh;
	exact->ns += load__amount(ns < 1e18 ? (int64_t)ns : 0, LOAD_MOST, &loading->all_ns);
	exact->changes += (int64_t)((double)load__index(row, 7) * part);
	loading->model->fibers.has_exact = true;
	return 0;
}

int64_t fibers__exact_ns(const struct fibers_group *group, enum fiber_state state,
			 int64_t *ret_changes)
{
	int64_t ns = 0, changes = 0;

	for (size_t i = 0; i < group->exact_count; i++)
		if (group->exact[i].state == state) {
			ns += group->exact[i].ns;
			changes += group->exact[i].changes;
		}
	if (ret_changes)
		*ret_changes = changes;
	return ns;
}

static int take_run(struct loading *loading, sqlite3_stmt *row)
{
	const struct hot_sum sum = {
		.ns = load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &loading->all_ns),
		.samples = load__index(row, 3),
		.variance = load__variance(row, 4),
	};
	uintptr_t group = group_of(loading, row);

	if (group)
		hot__add(&loading->model->fibers.groups[group - 1].run, &sum);
	return 0;
}

static int load_each(struct loading *loading, sqlite3 *db, const char *sql,
		     int (*take)(struct loading *loading, sqlite3_stmt *row))
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(loading->model, db, sql, &row), rc = SQLITE_DONE;

	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
		err = take(loading, row);
	return err ? err : load__error(rc);
}

/* --- errors ----------------------------------------------------------------------------------- */

/* The most readings that a goroutine of the same process has: about as many as there were. */
static int64_t readings_of(const struct fibers *fibers, const struct fibers_group *group)
{
	int64_t most = 1;

	for (size_t i = 0; i < fibers->count; i++)
		if (!strcmp(fibers->groups[i].process_comm, group->process_comm) &&
		    fibers->groups[i].readings > most)
			most = fibers->groups[i].readings;
	return most;
}

/*
 * If n readings agree, the variance between them is 0. By the rule of three, up to 3/n of the time
 * can still have been otherwise: those that keep step may never be seen in a state.
 */
static void widen(struct hot_sum *sum, int64_t readings)
{
	double least = 3.0 / 2 * (double)sum->ns / (double)readings;

	sum->variance = fmax(sum->variance, least * least);
}

static void widen_all(struct fibers *fibers)
{
	for (size_t i = 0; i < fibers->count; i++) {
		struct fibers_group *group = &fibers->groups[i];
		int64_t readings = readings_of(fibers, group);

		for (int state = 0; state < FIBER_STATES; state++)
			widen(&group->sums[state], readings);
		for (size_t k = 0; k < group->wait_count; k++)
			widen(&group->waits[k].sum, readings);
	}
}

/* --- order ------------------------------------------------------------------------------------ */

static int64_t total_of(const struct fibers_group *group)
{
	int64_t ns = 0;

	for (int i = 0; i < FIBER_STATES; i++)
		ns += group->sums[i].ns;
	return ns;
}

static int by_time(const void *left, const void *right)
{
	const struct fibers_group *a = left, *b = right;
	int64_t x = total_of(a), y = total_of(b);

	if (a->is_internal != b->is_internal)
		return a->is_internal ? 1 : -1;
	if (x != y)
		return x < y ? 1 : -1;
	return strcmp(a->start ? a->start : "", b->start ? b->start : "");
}

static int by_wait(const void *left, const void *right)
{
	const struct fibers_wait *a = left, *b = right;

	if (a->sum.ns != b->sum.ns)
		return a->sum.ns < b->sum.ns ? 1 : -1;
	return (a->node > b->node) - (a->node < b->node);
}

static int by_exact(const void *left, const void *right)
{
	const struct fibers_exact *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->state > b->state) - (a->state < b->state);
}

static void sort(struct fibers *fibers)
{
	size_t count = 0;

	for (size_t i = 0; i < fibers->count; i++) {
		struct fibers_group *group = &fibers->groups[i];

		if (group->wait_count)
			qsort(group->waits, group->wait_count, sizeof(*group->waits), by_wait);
		if (group->exact_count)
			qsort(group->exact, group->exact_count, sizeof(*group->exact), by_exact);
		/* Not in the cut. */
		if (group->fibers)
			fibers->groups[count++] = *group;
		else
			release_group(group);
	}
	fibers->count = count;
	if (count)
		qsort(fibers->groups, count, sizeof(*fibers->groups), by_time);
}

int fibers__load(struct fold *fold, struct model *model, sqlite3 *db)
{
	struct loading loading = { .fold = fold, .model = model };
	int err;

	/* Older recordings have no such tables. */
	if (!load__is_answered(db, sql_times) || !load__is_answered(db, sql_runs))
		return 0;
	err = note_processes(&loading);
	if (!err)
		err = load_fibers(&loading, db);
	if (!err && model->fibers.count)
		err = load_each(&loading, db, sql_times, take_time);
	if (!err && model->fibers.count)
		err = load_each(&loading, db, sql_runs, take_run);
	if (!err && model->fibers.count && load__is_answered(db, sql_exact))
		err = load_each(&loading, db, sql_exact, take_exact);
	widen_all(&model->fibers);
	sort(&model->fibers);
	map__release(&loading.processes);
	map__release(&loading.groups);
	map__release(&loading.fibers);
	map__release(&loading.waits);
	map__release(&loading.seen);
	map__release(&loading.readings);
	return err;
}
