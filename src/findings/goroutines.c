/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Locks of goroutines. A goroutine that waits for a sync.Mutex has no thread, so the waits of
 * threads say nothing about it: idle threads of Go wait for goroutines, not for locks.
 *
 * A sync.Mutex does not say who holds it. So no holder is named; what is said is which code ran in
 * the function that takes the lock, in goroutines that were not among those that waited.
 */
#include "findings/goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"

#define LEAST_PERCENT 10 /* of the time */
#define LEAST_RUN     5  /* likewise, of what runs meanwhile */
#define LEAST_SAMPLES 5
#define MOST_LOCKS    256

/* Goroutines of a program that wait for one lock in one function. */
struct lock {
	const char *process_comm;
	const char *type; /* "sync.Mutex" */
	const char *object_name;
	int64_t object;
	uint32_t function; /* that takes the lock */
	struct hot_sum sum;
};

static const struct hot_function *function_of(const struct hot *hot, uint32_t node)
{
	return &hot->functions[hot->nodes[node].function];
}

/* "sync.Mutex" of a function that takes one; NULL: it is another function. */
static const char *type_of(const struct hot_function *function)
{
	const char *name = function->name;

	if (!function->named)
		return NULL;
	if (!strncmp(name, "internal/", strlen("internal/")))
		name += strlen("internal/");
	if (!strncmp(name, "sync.(*Mutex).", strlen("sync.(*Mutex).")))
		return "sync.Mutex";
	if (!strncmp(name, "sync.(*RWMutex).", strlen("sync.(*RWMutex).")))
		return "sync.RWMutex";
	return NULL;
}

/* *ret_type is that of the outermost, because a sync.RWMutex has a sync.Mutex in it. */
static uint32_t taker_of(const struct hot *hot, uint32_t node, const char **ret_type)
{
	const char *type = NULL, *next;

	for (; node && (next = type_of(function_of(hot, node))); node = hot->nodes[node].parent)
		type = next;
	*ret_type = type;
	return type && node ? hot->nodes[node].function : 0;
}

static struct lock *find_lock(struct lock *locks, size_t *count, const struct lock *like)
{
	for (size_t i = 0; i < *count; i++)
		if (locks[i].function == like->function && locks[i].object == like->object &&
		    !strcmp(locks[i].process_comm, like->process_comm))
			return &locks[i];
	if (*count == MOST_LOCKS)
		return NULL;
	locks[*count] = *like;
	return &locks[(*count)++];
}

static void add_waits(const struct hot *hot, const struct fibers_group *group, struct lock *locks,
		      size_t *count)
{
	for (size_t i = 0; i < group->wait_count; i++) {
		const struct fibers_wait *wait = &group->waits[i];
		struct lock *lock, like = { .process_comm = group->process_comm,
					    .object_name = wait->object_name,
					    .object = wait->object };

		/* Without an object, it has been woken already. */
		if (wait->state != FIBER_WAITING || !wait->node || !wait->object)
			continue;
		like.function = taker_of(hot, wait->node, &like.type);
		lock = like.function ? find_lock(locks, count, &like) : NULL;
		if (lock)
			hot__add(&lock->sum, &wait->sum);
	}
}

/* The longest wait; .function is 0 if there is none. */
static struct lock longest(const struct model *model)
{
	struct lock *locks = calloc(MOST_LOCKS, sizeof(*locks)), found = {};
	size_t count = 0;

	for (size_t i = 0; locks && i < model->fibers.count; i++)
		add_waits(&model->hot, &model->fibers.groups[i], locks, &count);
	for (size_t i = 0; i < count; i++)
		if (locks[i].sum.ns > found.sum.ns)
			found = locks[i];
	free(locks);
	return found;
}

/* --- what ran meanwhile ----------------------------------------------------------------------- */

/* Running time in a function and what it calls, but for taking the lock. */
struct rest {
	struct hot_sum all;
	uint32_t callee; /* the function called there with most of it; 0: none */
	struct hot_sum in_callee;
};

/* Sums of nodes have those of what they call. Calls of the function by itself are inside. */
static bool is_inside_itself(const struct hot *hot, uint32_t node)
{
	uint32_t function = hot->nodes[node].function;

	while ((node = hot->nodes[node].parent))
		if (hot->nodes[node].function == function)
			return true;
	return false;
}

static void add_node(const struct hot *hot, uint32_t node, struct rest *rest, struct hot_sum *sums)
{
	hot__add(&rest->all, &hot->nodes[node].sums[HOT_RUN]);
	for (uint32_t at = hot->nodes[node].first; at; at = hot->nodes[at].next) {
		const struct hot_sum *sum = &hot->nodes[at].sums[HOT_RUN];

		if (!type_of(function_of(hot, at))) {
			hot__add(&sums[hot->nodes[at].function], sum);
			continue;
		}
		rest->all.ns -= sum->ns;
		rest->all.samples -= sum->samples;
	}
}

static struct rest rest_of(const struct hot *hot, uint32_t function)
{
	struct hot_sum *sums = calloc(hot->function_count, sizeof(*sums));
	struct rest rest = {};

	for (uint32_t node = 1; sums && node < hot->node_count; node++)
		if (hot->nodes[node].function == function && !is_inside_itself(hot, node))
			add_node(hot, node, &rest, sums);
	for (uint32_t i = 1; sums && i < hot->function_count; i++)
		if (sums[i].ns > rest.in_callee.ns && hot->functions[i].named) {
			rest.callee = i;
			rest.in_callee = sums[i];
		}
	free(sums);
	return rest;
}

/* --- words ------------------------------------------------------------------------------------ */

/* "main.stats" of "main.stats+0x4 in app"; the semaphore of a sync.Mutex is its second word. */
static void say_name(struct finding *finding, const struct lock *lock)
{
	const char *name = lock->object_name, *end = name ? strstr(name, " in ") : NULL;
	const char *plus = name ? strchr(name, '+') : NULL;
	bool is_whole = !strcmp(lock->type, "sync.Mutex") && plus &&
			!strncmp(plus, "+0x4 ", strlen("+0x4 "));

	say(finding, "%s %s", end ? "the" : "a", lock->type);
	if (!end)
		return;
	if (plus && plus < end)
		end = plus;
	say(finding, " %s%.*s", is_whole ? "" : "in ",
	    end - name < SAY_OBJECT_COLUMNS ? (int)(end - name) : SAY_OBJECT_COLUMNS, name);
}

static void say_rest(struct finding *finding, const struct analysis *analysis,
		     const struct lock *lock)
{
	struct rest rest = rest_of(&analysis->model->hot, lock->function);

	if (rest.all.samples < LEAST_SAMPLES ||
	    !model__reaches(rest.all.ns, analysis->wall_ns, LEAST_RUN))
		return;
	say(finding, " Goroutines that did not wait ran for %s in ", words__time(rest.all.ns).text);
	say__function(finding, analysis, lock->function);
	if (rest.callee && model__reaches(rest.in_callee.ns, rest.all.ns, 50)) {
		say(finding, ", %.0f %% of it in ",
		    100 * (double)rest.in_callee.ns / (double)rest.all.ns);
		say__function(finding, analysis, rest.callee);
	}
	say(finding, "; Go does not tell who holds a lock.");
}

bool goroutines__put(struct finding *finding, const struct analysis *analysis)
{
	const struct model *model = analysis->model;
	struct lock lock = longest(model);
	int64_t error_ns = hot__error_ns(&lock.sum);
	char at_a_time[32];

	if (!lock.function || lock.sum.samples < LEAST_SAMPLES ||
	    !model__reaches(lock.sum.ns - error_ns, analysis->wall_ns, LEAST_PERCENT))
		return false;
	*finding = (struct finding) { .ns = lock.sum.ns,
				      .of_ns = analysis->wall_ns,
				      .function = lock.function };
	snprintf(at_a_time, sizeof(at_a_time), "%.1f",
		 (double)lock.sum.ns / (double)analysis->wall_ns);
	say(finding, "%s: goroutines waited %s", words__clean(lock.process_comm, 44).text,
	    words__time(lock.sum.ns).text);
	if (error_ns)
		say(finding, " ±%s", words__time(error_ns).text);
	say(finding, " (%s at a time) for ", at_a_time);
	say_name(finding, &lock);
	say(finding, " in ");
	say__function(finding, analysis, lock.function);
	say(finding, ".");
	say_rest(finding, analysis, &lock);
	snprintf(finding->culprits[finding->culprit_count++], FINDING_NAME_SIZE, "%s",
		 lock.process_comm);
	return true;
}
