/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/fibers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "model/fold.h"
#include "model/load.h"

#define MOST_FIBERS (1 << 22) /* of a hostile file */

static const char sql_fibers[] = "SELECT f.process, f.id, f.start, p.comm FROM fiber f"
				 " LEFT JOIN process p ON p.id = f.process";
static const char sql_times[] =
	"SELECT t.process, t.fiber, s.state, s.reason, t.object, o.name, t.stack, t.begin_ns,"
	" t.end_ns, t.ns, t.readings, t.variance FROM fiber_time t JOIN fiber_state s"
	" ON s.id = t.state LEFT JOIN object o ON o.id = t.object"
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
	int64_t all_ns;
};

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

const char *fibers__state_name(enum fibers_state state)
{
	static const char *const names[FIBERS_STATES] = { "runnable", "running", "syscall",
							  "waiting" };

	return names[state];
}

bool fibers__is_runtime(const char *function)
{
	return !strncmp(function, "runtime.", strlen("runtime.")) ||
	       !strncmp(function, "runtime/", strlen("runtime/")) ||
	       strstr(function, ".runtime_") != NULL;
}

void fibers__release(struct fibers *fibers)
{
	for (size_t i = 0; i < fibers->count; i++)
		free(fibers->groups[i].waits);
	free(fibers->groups);
	*fibers = (struct fibers) {};
}

/* --- groups -------------------------------------------------------------------------------------
 */

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

/* --- times --------------------------------------------------------------------------------------
 */

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

/* What a row has inside the cut. */
static struct hot_sum sum_of(struct loading *loading, sqlite3_stmt *row)
{
	const struct model *model = loading->model;
	int64_t begin_ns = sqlite3_column_int64(row, 7), end_ns = sqlite3_column_int64(row, 8);
	int64_t from_ns = begin_ns > model->from_ns ? begin_ns : model->from_ns;
	int64_t to_ns = end_ns < model->to_ns ? end_ns : model->to_ns;
	double part =
		end_ns > begin_ns && to_ns > from_ns
			? ((double)to_ns - (double)from_ns) / ((double)end_ns - (double)begin_ns)
			: 0;
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
	for (int i = 0; name && i < FIBERS_STATES; i++)
		if (!strcmp(name, fibers__state_name((enum fibers_state)i)))
			return i;
	return -1;
}

static int take_time(struct loading *loading, sqlite3_stmt *row)
{
	struct model *model = loading->model;
	const struct fold_stack *stack = fold__stack(loading->fold, sqlite3_column_int64(row, 6));
	int state = state_of((const char *)sqlite3_column_text(row, 2));
	struct hot_sum sum = sum_of(loading, row);
	struct fibers_wait *wait, like = { .state = (enum fibers_state)state };
	uintptr_t group = group_of(loading, row);
	uint64_t key;
	bool fresh;
	int err;

	if (!group || state < 0)
		return 0;
	err = is_new(loading, group, row, &fresh);
	if (err)
		return err;
	model->fibers.groups[group - 1].fibers += fresh;
	hot__add(&model->fibers.groups[group - 1].sums[state], &sum);
	if (state != FIBERS_WAITING && state != FIBERS_SYSCALL)
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

/* --- order --------------------------------------------------------------------------------------
 */

static int64_t total_of(const struct fibers_group *group)
{
	int64_t ns = 0;

	for (int i = 0; i < FIBERS_STATES; i++)
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

static void sort(struct fibers *fibers)
{
	size_t count = 0;

	for (size_t i = 0; i < fibers->count; i++) {
		struct fibers_group *group = &fibers->groups[i];

		if (group->wait_count)
			qsort(group->waits, group->wait_count, sizeof(*group->waits), by_wait);
		/* Not in the cut. */
		if (group->fibers)
			fibers->groups[count++] = *group;
		else
			free(group->waits);
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
	sort(&model->fibers);
	map__release(&loading.processes);
	map__release(&loading.groups);
	map__release(&loading.fibers);
	map__release(&loading.waits);
	map__release(&loading.seen);
	return err;
}
