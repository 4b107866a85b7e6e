/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_heap.h"

#include "report/json_hot.h"

static json_t *figure_json(struct heap_figure figure)
{
	return json_pack("{s:I, s:o}", "estimate", (json_int_t)(figure.value + 0.5), "error",
			 figure.error < 0 ? json_null()
					  : json_integer((json_int_t)(figure.error + 0.5)));
}

static json_t *stacks_json(const struct model *model, const struct heap *heap)
{
	json_t *list = json_array();

	for (size_t i = 0; i < heap->stack_count; i++) {
		const struct heap_stack *stack = &heap->stacks[i];

		json_array_append_new(
			list, json_pack("{s:o, s:o, s:I, s:o}", "bytes", figure_json(stack->bytes),
					"calls", figure_json(stack->calls), "samples",
					(json_int_t)stack->samples, "functions",
					stack->node ? json_hot__functions(&model->hot, stack->node)
						    : json_null()));
	}
	return list;
}

json_t *json_heap__figures(const struct model *model, const struct heap *heap)
{
	return json_pack("{s:o, s:o, s:o, s:b, s:I, s:I, s:f, s:f, s:I, s:I, s:o}", "bytes",
			 figure_json(heap->bytes), "calls", figure_json(heap->calls), "frees",
			 figure_json(heap->frees), "exact", heap->is_exact, "windows",
			 (json_int_t)heap->windows, "slots", (json_int_t)heap->slot_count,
			 "covered_share", heap__covered(heap), "cost_share", heap__cost(heap),
			 "least_calls", (json_int_t)heap__least_calls(heap), "samples",
			 (json_int_t)heap->samples, "stacks", stacks_json(model, heap));
}
