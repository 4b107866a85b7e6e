/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_hot.h"

#include "base/json.h"

/* Limits on the call paths of one wait, heaviest first, and on the frames of a path. */
#define PATHS_MOST  5
#define FRAMES_MOST 2048

static json_t *number(int64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text ? json__text(text) : json_null();
}

static json_t *reasons_json(const struct hot *hot, bool cut)
{
	json_t *list = json_array();

	for (size_t i = 0; i < hot->reason_count; i++)
		if (hot->reasons[i].cut == cut)
			json_array_append_new(list, json_pack("{s:o, s:I}", "reason",
							      json__text(hot->reasons[i].words),
							      "samples",
							      (json_int_t)hot->reasons[i].samples));
	return list;
}

static json_t *sums_json(const struct hot *hot)
{
	json_t *list = json_array();

	for (int i = KIND_RUN; i <= KIND_IDLE; i++) {
		const struct hot_sum *sum = &hot->sampled[i];

		json_array_append_new(list, json_pack("{s:s, s:I, s:I, s:I, s:I}", "kind",
						      kinds__words(i)->key, "samples",
						      (json_int_t)sum->samples, "weight_ns",
						      (json_int_t)sum->ns, "error_ns",
						      (json_int_t)hot__error_ns(sum), "ledger_ns",
						      (json_int_t)hot->ledger_ns[i]));
	}
	return list;
}

json_t *json_hot__samples(const struct model *model)
{
	const struct hot *hot = &model->hot;
	char text[1024];
	const char *why = hot__why_none(model, text, sizeof(text));

	return json_pack("{s:I, s:o, s:o, s:I, s:o, s:o, s:I, s:I, s:I, s:o}", "count",
			 (json_int_t)hot->samples, "why_none", text_or_null(why), "tick_ns",
			 hot->tick_ns ? number(hot->tick_ns) : json_null(), "whole",
			 (json_int_t)hot->whole, "cut", reasons_json(hot, true), "none",
			 reasons_json(hot, false), "frames", (json_int_t)hot->frames,
			 "unnamed_frames", (json_int_t)hot->unnamed, "torn", (json_int_t)hot->torn,
			 "kinds", sums_json(hot));
}

static void put_sum(json_t *object, const char *what, const char *kind, const struct hot_sum *sum)
{
	char key[64];

	snprintf(key, sizeof(key), "%s_%s_ns", what, kind);
	json_object_set_new(object, key, number(sum->ns));
	snprintf(key, sizeof(key), "%s_%s_error_ns", what, kind);
	json_object_set_new(object, key, number(hot__error_ns(sum)));
}

json_t *json_hot__function(const struct model *model, size_t i)
{
	static const char *const kinds[HOT_KINDS] = { "run", "wait" };
	const struct hot *hot = &model->hot;
	const struct hot_function *function = &hot->functions[hot->ranks[HOT_KINDS][i]];
	bool unnamed = !function->named && function->module;
	json_t *one = json_pack("{s:o, s:o, s:b, s:o, s:o}", "function",
				unnamed ? json_null() : json__text(function->name), "module",
				text_or_null(function->module), "kernel", function->kernel, "file",
				text_or_null(function->file), "line",
				function->line ? number(function->line) : json_null());

	for (int kind = 0; kind < HOT_KINDS; kind++) {
		put_sum(one, "self", kinds[kind], &function->self[kind]);
		put_sum(one, "total", kinds[kind], &function->total[kind]);
	}
	json_object_set_new(
		one, "self_samples",
		number(function->self[HOT_RUN].samples + function->self[HOT_WAIT].samples));
	json_object_set_new(
		one, "samples",
		number(function->total[HOT_RUN].samples + function->total[HOT_WAIT].samples));
	return one;
}

json_t *json_hot__functions(const struct hot *hot, uint32_t node)
{
	uint32_t path[FRAMES_MOST];
	json_t *names = json_array();
	size_t count = 0;

	for (; node && count < FRAMES_MOST; node = hot->nodes[node].parent)
		path[count++] = hot->nodes[node].function;
	while (count)
		json_array_append_new(names, json__text(hot->functions[path[--count]].name));
	return names;
}

static json_t *path_json(const struct hot *hot, const struct hot_cell *cell)
{
	return json_pack("{s:I, s:I, s:I, s:o}", "weight_ns", (json_int_t)cell->sum.ns, "error_ns",
			 (json_int_t)hot__error_ns(&cell->sum), "samples",
			 (json_int_t)cell->sum.samples, "functions",
			 json_hot__functions(hot, cell->place));
}

static json_t *paths_json(const struct hot *hot, const struct hot_cells *cells, uint32_t owner,
			  struct hot_sum *ret_whole)
{
	json_t *list = json_array();
	size_t count;
	const struct hot_cell *cell = hot__find(cells, owner, &count, ret_whole);

	for (size_t i = 0; i < count && i < PATHS_MOST; i++)
		json_array_append_new(list, path_json(hot, &cell[i]));
	return list;
}

json_t *json_hot__wait(const struct model *model, size_t i)
{
	const struct model_blame *blame = &model->blames[i];
	const struct model_wait *wait = blame->first;
	const struct model_thread *by = model__has_culprit(wait->state) ? wait->by : NULL;
	struct hot_sum whole, waker;
	json_t *stacks = paths_json(&model->hot, &model->hot.paths, blame->owner, &whole);
	json_t *object;

	if (!whole.samples) {
		json_decref(stacks);
		return NULL;
	}
	object = wait->object_kind ? json_pack("{s:o, s:o}", "kind", json__text(wait->object_kind),
					       "name", text_or_null(wait->object_name))
				   : json_null();
	return json_pack("{s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:I, s:o, s:o}",
			 "waiters", json__text(wait->waiter->group->name), "cause",
			 json__text(wait->state->cause), "kind",
			 model__kind_name(wait->state->kind), "object", object, "by_name",
			 text_or_null(by ? by->group->name : NULL), "evidence",
			 json__text(by || wait->first ? wait->evidence : "none"), "first_name",
			 text_or_null(wait->first ? wait->first->group->name : NULL), "ns",
			 (json_int_t)blame->ns, "samples", (json_int_t)whole.samples, "weight_ns",
			 (json_int_t)whole.ns, "error_ns", (json_int_t)hot__error_ns(&whole),
			 "stacks", stacks, "waker_stacks",
			 paths_json(&model->hot, &model->hot.wakers, blame->owner, &waker));
}
