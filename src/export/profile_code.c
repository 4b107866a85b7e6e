/* The code of a profile: modules, functions, frames, and the tree of stacks. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/profile_rows.h"

static int take_module(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_module *module =
		APPEND_ROW(&loader->modules, row, &profile->modules, &profile->module_count);
	int err;

	if (!module)
		return -ENOMEM;
	module->id = sqlite3_column_int64(row, 0);
	err = rows__name(loader, row, 1, &module->kind);
	if (!err)
		err = rows__name(loader, row, 2, &module->path);
	return err ? err : rows__text(loader, row, 3, &module->build_id);
}

/* Where code is whose module is not there: one for all. */
static int find_module(struct loader *loader, int64_t id, uint32_t *ret)
{
	struct profile *profile = loader->profile;
	struct profile_module *module;

	*ret = rows__find(&loader->modules, id);
	if (*ret != PROFILE_NONE)
		return 0;
	if (!loader->has_unknown_module) {
		module = APPEND(&profile->modules, &profile->module_count);
		if (!module)
			return -ENOMEM;
		module->kind = module->path = "?";
		loader->has_unknown_module = true;
	}
	*ret = (uint32_t)(profile->module_count - 1);
	return 0;
}

static int take_function(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_function *function =
		APPEND_ROW(&loader->functions, row, &profile->functions, &profile->function_count);
	int err;

	if (!function)
		return -ENOMEM;
	function->start_line = rows__number(row, 5);
	err = find_module(loader, sqlite3_column_int64(row, 1), &function->module);
	if (!err)
		err = rows__name(loader, row, 2, &function->name);
	if (!err)
		err = rows__text(loader, row, 3, &function->system_name);
	if (!function->system_name)
		function->system_name = function->name;
	return err ? err : rows__text(loader, row, 4, &function->file);
}

static int take_frame(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_frame *frame =
		APPEND_ROW(&loader->frames, row, &profile->frames, &profile->frame_count);
	int err;

	if (!frame)
		return -ENOMEM;
	err = find_module(loader, sqlite3_column_int64(row, 1), &frame->module);
	if (err)
		return err;
	frame->address = (uint64_t)sqlite3_column_int64(row, 2);
	frame->is_kernel = !strcmp(profile->modules[frame->module].kind, "kernel");
	return 0;
}

/* Rows come by frame, then depth. */
static int take_line(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	uint32_t at = rows__find(&loader->frames, sqlite3_column_int64(row, 0));
	uint32_t function = rows__find(&loader->functions, sqlite3_column_int64(row, 1));
	struct profile_frame *frame;
	struct profile_line *line;

	/* A frame without lines gets a name below. */
	if (at == PROFILE_NONE || function == PROFILE_NONE)
		return 0;
	frame = &profile->frames[at];
	if (!frame->line_count)
		frame->first_line = (uint32_t)profile->line_count;
	if (++frame->line_count > PROFILE_MOST_DEPTH)
		return -EBADMSG;
	line = APPEND(&profile->lines, &profile->line_count);
	if (!line)
		return -ENOMEM;
	*line = (struct profile_line) { function, rows__number(row, 2), rows__number(row, 3) };
	return 0;
}

/*
 * A frame without a name gets a function of its own, so that it never vanishes: as in the view
 * `frames` and in reports.
 */
static int name_frame(struct loader *loader, struct profile_frame *frame)
{
	struct profile *profile = loader->profile;
	const struct profile_module *module = &profile->modules[frame->module];
	const char *slash = strrchr(module->path, '/');
	const char *base = slash ? slash + 1 : module->path;
	struct profile_function *function = APPEND(&profile->functions, &profile->function_count);
	struct profile_line *line = APPEND(&profile->lines, &profile->line_count);
	char name[PROFILE_MOST_TEXT];

	if (!function || !line)
		return -ENOMEM;
	snprintf(name, sizeof(name), "%.*s+0x%" PRIx64, PROFILE_MOST_TEXT - 32, base,
		 frame->address);
	function->module = frame->module;
	function->name = function->system_name = texts__keep(loader->texts, name);
	line->function = (uint32_t)(profile->function_count - 1);
	frame->first_line = (uint32_t)(profile->line_count - 1);
	frame->line_count = 1;
	return function->name ? 0 : -ENOMEM;
}

static int name_frames(struct loader *loader)
{
	struct profile *profile = loader->profile;

	for (size_t i = 0; i < profile->frame_count; i++) {
		int err =
			profile->frames[i].line_count ? 0 : name_frame(loader, &profile->frames[i]);

		if (err)
			return err;
	}
	return 0;
}

/* The frame of stacks whose own is not there: one for all. */
static int find_unknown_frame(struct loader *loader, uint32_t *ret)
{
	struct profile *profile = loader->profile;
	struct profile_frame *frame;
	int err = 0;

	if (!loader->unknown_frame) {
		frame = APPEND(&profile->frames, &profile->frame_count);
		if (!frame)
			return -ENOMEM;
		err = find_module(loader, 0, &frame->module);
		if (!err)
			err = name_frame(loader, frame);
		loader->unknown_frame = profile->frame_count;
	}
	*ret = (uint32_t)(loader->unknown_frame - 1);
	return err;
}

static int take_stack(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	int64_t parent = sqlite3_column_int64(row, 1);
	uint32_t above = parent ? rows__find(&loader->stacks, parent) : PROFILE_NONE;
	uint32_t frame = rows__find(&loader->frames, sqlite3_column_int64(row, 2));
	struct profile_stack *stack;
	uint32_t *height;
	int err = 0;

	profile->torn += (parent && above == PROFILE_NONE) || frame == PROFILE_NONE;
	if (frame == PROFILE_NONE)
		err = find_unknown_frame(loader, &frame);
	if (err)
		return err;
	stack = APPEND_ROW(&loader->stacks, row, &profile->stacks, &profile->stack_count);
	height = APPEND(&loader->heights, &loader->height_count);
	if (!stack || !height)
		return -ENOMEM;
	stack->parent = above;
	stack->frame = frame;
	stack->depth = above == PROFILE_NONE ? 0 : profile->stacks[above].depth + 1;
	*height = profile->frames[frame].line_count +
		  (above == PROFILE_NONE ? 0 : loader->heights[above]);
	return *height > PROFILE_MOST_DEPTH ? -EBADMSG : 0;
}

int profile_code__load(struct loader *loader)
{
	int err = rows__each(loader, "SELECT id, kind, path, build_id FROM module ORDER BY id",
			     take_module);

	if (!err)
		err = rows__each(loader,
				 "SELECT id, module, name, system_name, file, start_line"
				 " FROM function ORDER BY id",
				 take_function);
	if (!err)
		err = rows__each(loader, "SELECT id, module, address FROM frame ORDER BY id",
				 take_frame);
	if (!err)
		err = rows__each(loader,
				 "SELECT frame, function, line, column FROM frame_line"
				 " ORDER BY frame, depth",
				 take_line);
	if (!err)
		err = name_frames(loader);
	if (!err)
		err = rows__each(loader, "SELECT id, parent, frame FROM stack ORDER BY id",
				 take_stack);
	return err;
}
