/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether it is a leak only its author knows. What is said: a group asked the kernel for more
 * memory than it gave back, and touched it, and in which function most of that was. Memory that is
 * freed and used again is touched only once.
 */
#include "findings/grown.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/words.h"

#define LEAST_BYTES (1 << 20)
#define LEAST_RATE  (1 << 18) /* bytes a second */
#define LEAST_SHARE 50        /* percent of what was asked for, or of what was touched */
#define MOST_TRIED  16

static const struct {
	const char *operation;
	int sign;
} changes[] = { { "mmap", 1 }, { "brk", 1 }, { "munmap", -1 }, { "brk back", -1 } };

/* The group that asked for most, less what it gave back; NULL: none. */
static const struct model_group *find_grown(const struct model *model,
					    const struct signals_signal *memory, int64_t *ret_bytes)
{
	cleanup(free_p) int64_t *bytes = calloc(model->group_count + 1, sizeof(*bytes));
	const struct model_group *most = NULL;
	int size = signals__measure(memory, "size");

	for (size_t i = 0; bytes && size >= 0 && i < memory->series_count; i++) {
		const struct signals_series *series = &memory->series[i];
		const char *operation = memory->rows[series->row].operation;

		for (size_t j = 0; series->thread && series->thread->group &&
				   j < sizeof(changes) / sizeof(*changes);
		     j++)
			if (!strcmp(operation, changes[j].operation))
				bytes[series->thread->group - model->groups] +=
					changes[j].sign * series->sum.sum[size];
	}
	*ret_bytes = LEAST_BYTES - 1;
	for (size_t i = 0; bytes && i < model->group_count; i++) {
		if (bytes[i] <= *ret_bytes || !answers__is_target(&model->groups[i]))
			continue;
		*ret_bytes = bytes[i];
		most = &model->groups[i];
	}
	return most;
}

static uint32_t caller_of(struct analysis *analysis, const struct model_growth *growth)
{
	return growth->node ? analysis__path(analysis, growth->node)->caller : 0;
}

/* What the group touched; below the function, if it is not 0. */
static int64_t touched_bytes(struct analysis *analysis, const struct model_group *group,
			     uint32_t function)
{
	const struct model *model = analysis->model;
	int64_t bytes = 0;

	for (size_t i = 0; i < model->growth_count; i++)
		if (model->growths[i].thread && model->growths[i].thread->group == group &&
		    (!function || caller_of(analysis, &model->growths[i]) == function))
			bytes += model->growths[i].bytes;
	return bytes;
}

static void say_function(struct finding *finding, struct analysis *analysis,
			 const struct model_group *group, int64_t touched)
{
	const struct model *model = analysis->model;

	/* One of the largest must be in a function that has half of all. */
	for (size_t i = 0, tried = 0; i < model->growth_count && tried < MOST_TRIED; i++) {
		const struct model_growth *growth = &model->growths[i];
		uint32_t function = caller_of(analysis, growth);
		int64_t bytes;

		if (!function || !growth->thread || growth->thread->group != group)
			continue;
		tried++;
		bytes = touched_bytes(analysis, group, function);
		if (!model__reaches(bytes, touched, LEAST_SHARE))
			continue;
		say(finding, ", %s of that in ", words__about(bytes, touched).text);
		say__function(finding, analysis, function);
		finding->function = function;
		return;
	}
}

bool grown__put(struct finding *finding, struct analysis *analysis)
{
	const struct model *model = analysis->model;
	const struct signals_signal *memory = signals__of(&model->signals, ROLE_MEMORY);
	int64_t asked = 0, touched;
	const struct model_group *most = memory ? find_grown(model, memory, &asked) : NULL;

	touched = most ? touched_bytes(analysis, most, 0) : 0;
	if (!most || (double)asked * 1e9 < (double)LEAST_RATE * (double)model->wall_ns ||
	    !model__reaches(touched, asked, LEAST_SHARE))
		return false;
	*finding = (struct finding) { .group = most };
	say__group(finding, most);
	say(finding,
	    " asked for %s of memory more than it gave back, and touched about %s of new memory",
	    words__bytes(asked).text, words__bytes(touched).text);
	say_function(finding, analysis, most, touched);
	say(finding, ".");
	return true;
}
