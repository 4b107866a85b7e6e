/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/flame_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define TO_VALUE(index)   ((void *)((uintptr_t)(index) + 1))
#define FROM_VALUE(value) ((uint32_t)((uintptr_t)(value) - 1))
#define MOST_NAME         4096

static uint64_t key_of(uint64_t a, uint64_t b)
{
	return map__mix(map__mix(0, a), b);
}

int flame_profile__begin(struct flame_profile *flame, const char *title, const char *service)
{
	struct profile_thread *thread;
	struct profile *profile;

	*flame = (struct flame_profile) {};
	profile = flame->profile = calloc(1, sizeof(*flame->profile));
	if (!profile)
		return -ENOMEM;
	profile->texts.clean = true;
	profile->target = texts__keep(&profile->texts, title);
	profile->version = profile->kernel = profile->command = "";
	thread = APPEND(&profile->threads, &profile->thread_count);
	if (!thread || !profile->target)
		return -ENOMEM;
	thread->process = PROFILE_NONE;
	thread->comm = texts__keep(&profile->texts, service);
	return thread->comm ? 0 : -ENOMEM;
}

void flame_profile__release(struct flame_profile *flame)
{
	profile__free(flame->profile);
	map__release(&flame->frames);
	map__release(&flame->nodes);
	map__release(&flame->modules);
	*flame = (struct flame_profile) {};
}

int flame_profile__add_module(struct flame_profile *flame, uint64_t module, const char *kind,
			      const char *path)
{
	struct profile *profile = flame->profile;
	struct code_module *added;

	if (map__get(&flame->modules, module))
		return 0;
	added = APPEND(&profile->code.modules, &profile->code.module_count);
	if (!added)
		return -ENOMEM;
	added->id = (int64_t)profile->code.module_count;
	added->kind = texts__repeat(&profile->texts, kind);
	added->path = texts__keep(&profile->texts, path);
	if (!added->kind || !added->path)
		return -ENOMEM;
	return map__put(&flame->modules, module, TO_VALUE(profile->code.module_count - 1));
}

static int find_module(struct flame_profile *flame, uint64_t module, uint32_t *ret)
{
	void *value = map__get(&flame->modules, module);
	int err = 0;

	if (!value)
		err = flame_profile__add_module(flame, module, "?", "?");
	if (!err)
		*ret = FROM_VALUE(map__get(&flame->modules, module));
	return err;
}

static int add_line(struct flame_profile *flame, uint32_t module, const char *name,
		    const char *file, uint32_t line, bool is_named)
{
	struct profile *profile = flame->profile;
	struct code_function *function =
		APPEND(&profile->code.functions, &profile->code.function_count);
	struct code_line *added = APPEND(&profile->code.lines, &profile->code.line_count);

	if (!function || !added)
		return -ENOMEM;
	function->module = module;
	function->name = function->system_name = texts__repeat(&profile->texts, name);
	function->file = file && *file ? texts__repeat(&profile->texts, file) : NULL;
	function->named = is_named;
	*added = (struct code_line) { (uint32_t)(profile->code.function_count - 1), line, 0 };
	return profile->texts.failed ? -ENOMEM : 0;
}

/* As in reports: "libc.so.6+0x1234". */
static int add_substitute(struct flame_profile *flame, uint32_t module, uint64_t offset)
{
	const char *path = flame->profile->code.modules[module].path;
	const char *slash = strrchr(path, '/');
	char name[MOST_NAME];

	snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, MOST_NAME - 32, slash ? slash + 1 : path,
		 offset);
	return add_line(flame, module, name, NULL, 0, false);
}

int flame_profile__add_frame(struct flame_profile *flame, uint64_t module, uint64_t offset,
			     const struct flame_function *functions, size_t count)
{
	struct profile *profile = flame->profile;
	uint64_t key = key_of(module, offset);
	struct code_frame *frame;
	uint32_t index;
	int err = find_module(flame, module, &index);

	if (err || map__get(&flame->frames, key))
		return err;
	frame = APPEND(&profile->code.frames, &profile->code.frame_count);
	if (!frame)
		return -ENOMEM;
	*frame = (struct code_frame) {
		.module = index,
		.address = offset,
		.first_line = (uint32_t)profile->code.line_count,
		.line_count = count ? (uint32_t)count : 1,
		.is_kernel = !strcmp(profile->code.modules[index].kind, "kernel"),
	};
	for (size_t i = 0; i < count && !err; i++)
		err = add_line(flame, index, functions[i].name, functions[i].file,
			       functions[i].line, true);
	if (!err && !count)
		err = add_substitute(flame, index, offset);
	return err ?: map__put(&flame->frames, key, TO_VALUE(profile->code.frame_count - 1));
}

int flame_profile__descend(struct flame_profile *flame, uint64_t module, uint64_t offset,
			   uint32_t *stack)
{
	struct code *code = &flame->profile->code;
	int err = flame_profile__add_frame(flame, module, offset, NULL, 0);
	uint32_t frame = err ? 0 : FROM_VALUE(map__get(&flame->frames, key_of(module, offset)));
	uint64_t key = key_of(*stack, frame);
	const struct code_stack *parent = *stack == PROFILE_NONE ? NULL : &code->stacks[*stack];
	struct code_stack added = { .parent = *stack, .frame = frame };
	struct code_stack *place;
	void *known = err ? NULL : map__get(&flame->nodes, key);

	if (err)
		return err;
	if (known) {
		*stack = FROM_VALUE(known);
		return 0;
	}
	added.depth = parent ? parent->depth + 1 : 0;
	added.height = (parent ? parent->height : 0) + code->frames[frame].line_count;
	if (added.height >= CODE_MOST_DEPTH)
		return -EMLINK;
	if (code->stack_count >= PROFILE_MOST_NODES)
		return -E2BIG;
	place = APPEND(&code->stacks, &code->stack_count);
	if (!place)
		return -ENOMEM;
	*place = added;
	*stack = (uint32_t)(code->stack_count - 1);
	return map__put(&flame->nodes, key, TO_VALUE(*stack));
}

static int find_state(struct flame_profile *flame, const struct flame_sample *sample, uint32_t *ret)
{
	struct profile *profile = flame->profile;
	const char *key = sample->kind == KIND_DELAYING || sample->kind == KIND_UNDECIDED ||
					  sample->kind == KIND_IDLE
				  ? kinds__words(sample->kind)->key
				  : NULL;
	struct profile_state *state;
	uint32_t i = 0;

	for (; i < profile->state_count; i++) {
		state = &profile->states[i];
		if (state->kind == key && !strcmp(state->cause, sample->cause) &&
		    !strcmp(state->state, sample->state))
			break;
	}
	*ret = i;
	if (i < profile->state_count)
		return 0;
	state = APPEND(&profile->states, &profile->state_count);
	if (!state)
		return -ENOMEM;
	state->id = (int)i + 1;
	state->state = texts__repeat(&profile->texts, sample->state);
	state->cause = texts__repeat(&profile->texts, sample->cause);
	state->kind = key;
	state->is_run = sample->kind == KIND_RUN;
	state->look = states__look(sample->state, sample->cause, sample->kind);
	return state->state && state->cause ? 0 : -ENOMEM;
}

int flame_profile__add_sample(struct flame_profile *flame, const struct flame_sample *sample)
{
	struct profile *profile = flame->profile;
	struct profile_sample *added;
	uint64_t left_ns = INT64_MAX;
	uint32_t state;
	int err = find_state(flame, sample, &state);

	if (err)
		return err;
	left_ns -= flame->total_ns;
	added = APPEND(&profile->samples, &profile->sample_count);
	if (!added)
		return -ENOMEM;
	*added = (struct profile_sample) {
		.state = state,
		.stack = sample->stack,
		.waker_stack = PROFILE_NONE,
		.by = PROFILE_NONE,
		.first = PROFILE_NONE,
		.weight_ns = (int64_t)(sample->ns < left_ns ? sample->ns : left_ns),
		.count = sample->n < UINT32_MAX ? (uint32_t)sample->n : UINT32_MAX,
		.none = sample->none,
		.end = sample->end,
	};
	flame->total_ns += (uint64_t)added->weight_ns;
	profile->sums_of += sample->n;
	return 0;
}
