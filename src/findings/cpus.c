/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Idle time of CPUs comes from /proc/stat, in steps of a tick. Ready time beside an idle CPU comes
 * from the hooks, and is exact for threads that may use every CPU. Of a thread that may use one CPU
 * only, it is known that others were of no use to it.
 */
#include "findings/cpus.h"

#include "base/words.h"

#define SPARE_PERCENT     10 /* of the ready time */
#define PINNED_PERCENT    50 /* of the ready time */
#define READY_PERCENT     10 /* of the wall time of a CPU */
#define BUSY_IDLE_PERCENT 20 /* a CPU that is idle for less is busy */
#define IDLE_PERCENT      50
#define LEAST_WALL_NS     500000000 /* 50 ticks of 10 ms */

static struct by_cpu_line sum_of(const struct by_cpu *by_cpu)
{
	struct by_cpu_line sum = {};

	for (size_t i = 0; i < by_cpu->line_count; i++) {
		sum.ready_ns += by_cpu->lines[i].ready_ns;
		sum.spare_ns += by_cpu->lines[i].spare_ns;
		sum.pinned_ns += by_cpu->lines[i].pinned_ns;
		sum.confined_ns += by_cpu->lines[i].confined_ns;
	}
	return sum;
}

/* The CPU for which threads were ready longest, and the other one that was idle longest. */
static const struct by_cpu_line *find_busiest(const struct by_cpu *by_cpu,
					      const struct by_cpu_line **ret_idlest)
{
	const struct by_cpu_line *busiest = NULL;

	*ret_idlest = NULL;
	for (size_t i = 0; i < by_cpu->line_count; i++)
		if (!busiest || by_cpu->lines[i].ready_ns > busiest->ready_ns)
			busiest = &by_cpu->lines[i];
	for (size_t i = 0; i < by_cpu->line_count; i++)
		if (&by_cpu->lines[i] != busiest &&
		    (!*ret_idlest || by_cpu->lines[i].idle_ns > (*ret_idlest)->idle_ns))
			*ret_idlest = &by_cpu->lines[i];
	return busiest;
}

void cpus__say_spare(const struct by_cpu *by_cpu, char *text, size_t size)
{
	const struct by_cpu_line sum = sum_of(by_cpu);

	if (!model__reaches(sum.spare_ns, sum.ready_ns, SPARE_PERCENT))
		return;
	words__say(text, size,
		   "threads were ready for %s; for %s of that (%s), their CPU was busy and another"
		   " one, which they may use, was idle",
		   words__time(sum.ready_ns).text, words__time(sum.spare_ns).text,
		   words__about(sum.spare_ns, sum.ready_ns).text);
}

/* Whether `from` is a CPU that is never idle, for which threads are ready, unlike `to`. */
static bool is_uneven(const struct by_cpu_line *from, const struct by_cpu_line *to, int64_t wall_ns)
{
	return wall_ns >= LEAST_WALL_NS && model__reaches(from->ready_ns, wall_ns, READY_PERCENT) &&
	       !model__reaches(from->idle_ns, wall_ns, BUSY_IDLE_PERCENT) &&
	       model__reaches(to->idle_ns, wall_ns, IDLE_PERCENT);
}

void cpus__say_imbalance(const struct by_cpu *by_cpu, int64_t wall_ns, char *text, size_t size)
{
	const struct by_cpu_line *idlest, *busiest = find_busiest(by_cpu, &idlest);

	if (!busiest || !idlest || !is_uneven(busiest, idlest, wall_ns))
		return;
	words__say(text, size, "%s was idle for %s of the time, ",
		   words__clean(idlest->name, 16).text,
		   words__about(idlest->idle_ns, wall_ns).text);
	words__say(text, size, "%s for %s; threads were ready for %s on %s",
		   words__clean(busiest->name, 16).text,
		   words__about(busiest->idle_ns, wall_ns).text,
		   words__time(busiest->ready_ns).text, words__clean(busiest->name, 16).text);
	if (model__reaches(busiest->pinned_ns, busiest->ready_ns, PINNED_PERCENT))
		words__say(text, size, ", %s of that in threads that may use no other CPU",
			   words__about(busiest->pinned_ns, busiest->ready_ns).text);
}

/* A group whose threads may use one CPU only, which is always busy, unlike another one. */
static void say_pinned(const struct by_cpu *by_cpu, int64_t ready_ns, int64_t wall_ns, char *text,
		       size_t size)
{
	const struct by_cpu_line *idlest, *busiest = find_busiest(by_cpu, &idlest);

	if (!busiest || !idlest || !is_uneven(busiest, idlest, wall_ns) ||
	    !model__reaches(busiest->pinned_ns, ready_ns, PINNED_PERCENT))
		return;
	words__say(text, size, "; %s of it in threads that may use no CPU but %s, while %s",
		   words__about(busiest->pinned_ns, ready_ns).text,
		   words__clean(busiest->name, 16).text, words__clean(idlest->name, 16).text);
	words__say(text, size, " was idle for %s of the time",
		   words__about(idlest->idle_ns, wall_ns).text);
}

void cpus__say_group(const struct model *model, const struct model_group *group, char *text,
		     size_t size)
{
	struct by_cpu_line sum;
	struct by_cpu by_cpu;

	if (model->cut || by_cpu__find(model, group, &by_cpu))
		return;
	sum = sum_of(&by_cpu);
	if (model__reaches(sum.spare_ns, sum.ready_ns, SPARE_PERCENT))
		words__say(text, size,
			   "; for %s of the ready time, its CPU was busy and another one, which it"
			   " may use, was idle",
			   words__about(sum.spare_ns, sum.ready_ns).text);
	else
		say_pinned(&by_cpu, sum.ready_ns, model->wall_ns, text, size);
	by_cpu__release(&by_cpu);
}
