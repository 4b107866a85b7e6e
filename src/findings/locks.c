/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Convoys, locks that are held for long, and thundering herds.
 *
 * The signal has for each lock the time of all waits and the time in which somebody waited (the sum
 * of the turns). Their quotient is the average length of the queue, and the average turn is how
 * long the lock was kept from the waiters each time. A turn is a hold only if the object is a lock
 * and not a condition, so both words need an operation with a holder.
 *
 * Threads at a barrier, and workers that get equally small tasks, also run briefly between two
 * wakings. In a herd, one thread of each waking does the work, and the others do not.
 */
#include "findings/locks.h"

#include <string.h>

#include "base/words.h"
#include "findings/signal_words.h"

#define OBJECT_COLUMNS 100
#define NAME_COLUMNS   20

#define LEAST_WAITS          20 /* fewer can be chance */
#define LEAST_CONVOY_PERCENT 50 /* of the wall time: somebody waits */
#define LEAST_LONG_PERCENT   10
#define LEAST_QUEUE          1.5 /* threads wait, on average while any does */
#define MOST_CONVOY_NS       10000000
#define LEAST_LONG_NS        10000000
#define LEAST_LONG_WAITS     3
#define MOSTLY_PERCENT       50
#define LEAST_WAKINGS        10
#define LEAST_WOKEN          3.0 /* threads, on average by one call */

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

static double ratio(int64_t a, int64_t b)
{
	return b > 0 ? (double)a / (double)b : 0;
}

/* Whether a turn is the time that somebody held it: of a futex alone, that is not known. */
static bool has_holder(const struct signals_lock *lock)
{
	static const char *const without[] = { "futex", "futex_waitv", "semop", "rwsem read",
					       "percpu rwsem" };

	for (size_t i = 0; i < sizeof(without) / sizeof(*without); i++)
		if (!strcmp(lock->row->operation, without[i]))
			return false;
	return true;
}

/* Of each waking, about one thread found something to do. */
static bool is_herd(const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;
	double worked = ratio(count - lock->in_vain, lock->wakings);

	return lock->wakings >= LEAST_WAKINGS && ratio(count, lock->wakings) >= LEAST_WOKEN &&
	       model__reaches(lock->in_vain, count, MOSTLY_PERCENT) && worked >= 0.5 &&
	       worked <= 1.5;
}

/* In a cut, held_ns and by_waiters_ns are still of the whole recording. */
static bool is_convoy(const struct model *model, const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;

	return lock->threads > 1 && count >= LEAST_WAITS &&
	       lock->turn_ns / count <= MOST_CONVOY_NS &&
	       ratio(lock->wait_ns, lock->turn_ns) >= LEAST_QUEUE &&
	       model__reaches(lock->turn_ns, model->wall_ns, LEAST_CONVOY_PERCENT) &&
	       lock->by_waiters_ns &&
	       model__reaches(lock->by_waiters_ns, lock->held_ns, MOSTLY_PERCENT) &&
	       (model->cut || model__reaches(lock->held_ns, lock->wait_ns, MOSTLY_PERCENT));
}

static bool is_long(const struct model *model, const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;

	return count >= LEAST_LONG_WAITS && lock->turn_ns / count >= LEAST_LONG_NS &&
	       model__reaches(lock->turn_ns, model->wall_ns, LEAST_LONG_PERCENT);
}

enum lock_shape findings_locks__shape(const struct model *model,
				      const struct signals_signal *signal,
				      const struct signals_lock *lock)
{
	if (is_herd(lock))
		return LOCK_HERD;
	if (!has_holder(lock))
		return LOCK_PLAIN;
	if (is_convoy(model, lock))
		return LOCK_CONVOY;
	return is_long(model, lock) ? LOCK_LONG : LOCK_PLAIN;
}

const char *findings_locks__word(enum lock_shape shape)
{
	static const char *const words[] = { "", "convoy", "held long", "thundering herd" };

	return words[shape];
}

static void say_name(struct finding *finding, const struct signals_lock *lock)
{
	say(finding, "%s %s", words__clean(lock->row->operation, NAME_COLUMNS).text,
	    words__clean(lock->object->name, OBJECT_COLUMNS).text);
}

/* "4 threads (mostly threads convoy-*)" */
static void say_waiters(struct finding *finding, const struct signals_lock *lock)
{
	char who[512] = "";

	say(finding, "%s", words__count((int64_t)lock->threads, "threads").text);
	if (model__reaches(lock->part.group_size, lock->part.size, MOSTLY_PERCENT) &&
	    signal_words__who(lock->part.group, lock->part.thread, who, sizeof(who)))
		say(finding, " (%s%s)", lock->threads > 1 ? "mostly " : "", who);
}

static void say_convoy(struct finding *finding, const struct model *model,
		       const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;

	say(finding, "Convoy at ");
	say_name(finding, lock);
	say(finding, ": ");
	say_waiters(finding, lock);
	say(finding,
	    " hand it to each other; somebody waited for it %s of the time, %.1f at once on average "
	    "(%s at most). Each turn keeps it from them for only %s on average, but a wait takes "
	    "%s.",
	    words__share(lock->turn_ns, model->wall_ns).text, ratio(lock->wait_ns, lock->turn_ns),
	    words__number(lock->most_waiters).text, words__time(lock->turn_ns / count).text,
	    words__time(lock->wait_ns / count).text);
}

/* The longest turn has no row of its own if the measure is missing. */
static int64_t longest_turn(const struct signals_signal *signal, const struct signals_lock *lock)
{
	int turn = signals__measure(signal, "turn");

	return turn < 0 ? 0 : lock->part.sum.max[turn];
}

static void say_long(struct finding *finding, const struct model *model,
		     const struct signals_signal *signal, const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;

	say(finding, "Held long: ");
	say_name(finding, lock);
	say(finding,
	    " was kept from its waiters for %s at a time on average, %s at most (%s), %s of ",
	    words__time(lock->turn_ns / count).text, words__time(longest_turn(signal, lock)).text,
	    words__count(count, "waits").text, words__share(lock->turn_ns, model->wall_ns).text);
	say(finding, "the time; waited for by ");
	say_waiters(finding, lock);
	say(finding, ".");
}

static void say_herd(struct finding *finding, const struct signals_lock *lock)
{
	int64_t count = lock->part.sum.count;

	say(finding, "Thundering herd at ");
	say_name(finding, lock);
	say(finding, ": ");
	say_waiters(finding, lock);
	say(finding,
	    " were woken %s, %.1f at once on average; %s of the %s waits followed a waking after "
	    "which the thread used at most 50 µs of CPU time and waited again.",
	    words__count(lock->wakings, "times").text, ratio(count, lock->wakings),
	    words__number(lock->in_vain).text, words__number(count).text);
}

size_t findings_locks__make(const struct model *model, struct finding *findings, size_t count,
			    size_t most)
{
	const struct signals_signal *signal = signals__of(&model->signals, ROLE_LOCKS);

	for (size_t i = 0; signal && i < signal->lock_count; i++) {
		const struct signals_lock *lock = &signal->locks[i];
		enum lock_shape shape = findings_locks__shape(model, signal, lock);
		struct finding *finding = &findings[count];

		if (count == most)
			break;
		if (shape == LOCK_PLAIN)
			continue;
		*finding = (struct finding) { .ns = lock->wait_ns,
					      .of_ns = signal->sum.sum[signal->main] };
		if (shape == LOCK_CONVOY)
			say_convoy(finding, model, lock);
		else if (shape == LOCK_LONG)
			say_long(finding, model, signal, lock);
		else
			say_herd(finding, lock);
		return count + 1;
	}
	return count;
}
