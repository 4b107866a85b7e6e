/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for all frames of a recording. Usually they are looked up at its end: then only addresses
 * that matter are looked up, and each only once. Live views cannot wait for the end, and have
 * frames named as they come.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/log.h"
#include "record/samples_internal.h"
#include "symbol/namer.h"
#include "vocabulary/states.h"

#define SAY_EVERY_NS UINT64_C(1000000000)
/* Frames that are named at a time in live views, and variables in all cases. */
#define SOME_FRAMES 256
/* The largest batch for one module. Its tables are read once for each batch. */
#define MOST_FRAMES 4096

struct naming {
	struct samples *samples;
	struct namer *namer;
	struct map functions; /* by hash of module, name and file */
	int64_t last_function;
};

void naming__free(struct naming *naming)
{
	if (!naming)
		return;
	namer__free(naming->namer);
	map__free_values(&naming->functions);
	free(naming);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static int find_function(struct naming *naming, int64_t module, const struct symbol *symbol,
			 struct function **ret)
{
	uint64_t key = hash_text(UINT64_C(0xcbf29ce484222325) ^ (uint64_t)module << 20,
				 symbol->system_name);
	struct function *function;

	key = hash_text(key, symbol->file);
	function = *ret = map__get(&naming->functions, key);
	if (function)
		return 0;
	function = calloc(1, sizeof(*function));
	if (!function || map__put(&naming->functions, key, function)) {
		free(function);
		return -ENOMEM;
	}
	*function = (struct function) { .id = ++naming->last_function, .key = key };
	*ret = function;
	return recording__add_function(naming->samples->recording,
				       &(struct recording_function) {
					       .id = function->id,
					       .module = module,
					       .name = symbol->name,
					       .system_name = symbol->system_name,
					       .file = symbol->file,
					       .start_line = symbol->start_line,
					       .source = name_sources__key(symbol->source),
				       });
}

int naming__leave(struct naming *naming, const struct frame *frame)
{
	int err = 0;

	for (int i = 0; i < frame->function_count && !err; i++) {
		struct function *function = frame->functions[i];

		if (--function->uses)
			continue;
		err = recording__drop(naming->samples->recording, RECORDING_DROP_FUNCTION,
				      function->id);
		free(map__take(&naming->functions, function->key));
	}
	return err;
}

void naming__forget_module(struct naming *naming, const struct code *code)
{
	if (!naming || !naming->namer || code->kind == CODE_KERNEL || code->kind == CODE_RUNTIME)
		return;
	if (code->kind == CODE_JIT)
		namer__leave(naming->namer, NAMER_JIT, code->number);
	else
		namer__leave(naming->namer, NAMER_MODULE, (uint64_t)code->id);
}

#define ROOT_BYTES 32

static struct symbol_module named(const struct code *code, const struct mapper_module *module,
				  char root[ROOT_BYTES])
{
	snprintf(root, ROOT_BYTES, "/proc/%d/root", module->pid);
	return (struct symbol_module) {
		.key = (uint64_t)code->id,
		.fd = module->fd,
		.path = module->path,
		.root = root,
		.build_id = module->build_id,
	};
}

/* Frames of one module. */
struct batch {
	struct naming *naming;
	struct frame *const *frames;
};

static int take_chain(void *context, size_t index, const struct symbol_chain *chain,
		      uint64_t offset)
{
	struct batch *batch = context;
	struct samples *samples = batch->naming->samples;
	struct frame *frame = batch->frames[index];
	int err = 0;

	if (frame->functions)
		return 0;
	frame->functions = calloc((size_t)chain->count, sizeof(struct function *));
	if (!frame->functions)
		return -ENOMEM;
	for (int depth = 0; depth < chain->count && !err; depth++) {
		const struct symbol *symbol = &chain->frames[depth];
		struct recording_line line = {
			.frame = frame->id,
			.depth = depth,
			.line = symbol->line,
			.column = symbol->column,
		};
		struct function *function;

		err = find_function(batch->naming, frame->code->id, symbol, &function);
		if (err)
			return err;
		function->uses++;
		frame->functions[frame->function_count++] = function;
		line.function = function->id;
		err = recording__add_line(samples->recording, &line);
	}
	return err;
}

/* All frames of the batch are in the same module. */
static int name_batch(struct batch *batch, const uint64_t *addresses, size_t count)
{
	const struct code *code = batch->frames[0]->code;
	struct namer_question question = { .kind = NAMER_KERNEL,
					   .addresses = addresses,
					   .count = count };
	struct mapper_module module;
	char root[ROOT_BYTES];

	if (code->kind == CODE_FILE) {
		if (mapper__module(batch->naming->samples->mapper, code->number, &module))
			return 0;
		question.kind = module.is_vdso ? NAMER_VDSO : NAMER_MODULE;
		question.module = named(code, &module, root);
	} else if (code->kind == CODE_JIT) {
		question.kind = NAMER_JIT;
		question.pid = (int)code->number;
	}
	return namer__ask(batch->naming->namer, &question, take_chain, batch);
}

/* Sorts by module, then by address, so that each part of a file is read once. */
static int compare_frames(const void *left, const void *right)
{
	const struct frame *a = *(struct frame *const *)left, *b = *(struct frame *const *)right;

	if (a->code != b->code)
		return a->code->id < b->code->id ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Logs progress at most once a second. */
static void say_how_far(size_t done, size_t count, uint64_t *said_ns)
{
	uint64_t now_ns = clock__now_ns();

	if (now_ns - *said_ns < SAY_EVERY_NS)
		return;
	*said_ns = now_ns;
	log_info("looking up names: %zu of %zu addresses", done, count);
}

/*
 * Names the next `count` frames, module by module, so that each file is read once and its memory
 * can be freed before the next one. Without `said_ns`, no progress is logged.
 */
static int name_frames(struct naming *naming, size_t count, uint64_t *said_ns)
{
	struct samples *samples = naming->samples;
	cleanup(free_p) uint64_t *addresses = calloc(count, sizeof(*addresses));
	struct frame **frames = samples->unnamed;
	int err = 0;

	if (!addresses)
		return -ENOMEM;
	qsort(frames, count, sizeof(*frames), compare_frames);
	for (size_t i = 0; i < count; i++)
		addresses[i] = frames[i]->address;
	for (size_t from = 0, to; from < count && !err; from = to) {
		struct batch batch = { naming, frames + from };

		for (to = from + 1; to < count && to < from + MOST_FRAMES; to++)
			if (frames[to]->code != frames[from]->code)
				break;
		err = name_batch(&batch, addresses + from, to - from);
		if (said_ns)
			say_how_far(to, count, said_ns);
	}
	samples->unnamed_count -= count;
	memmove(frames, frames + count, samples->unnamed_count * sizeof(struct frame *));
	return err;
}

/* Variables of one module. */
struct variable_batch {
	struct samples *samples;
	const struct variable *variables;
	const char *file; /* the name of the module, without its folder */
	bool is_named[SOME_FRAMES];
};

/* "log_lock in orders", "pool+0x28 in orders", or "libc.so.6+0x1d2c80" if `name` is NULL. */
static int put_variable(const struct variable_batch *batch, size_t index, const char *name,
			uint64_t offset)
{
	const struct variable *variable = &batch->variables[index];
	char text[512];

	if (!name)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, batch->file, variable->address);
	else if (offset)
		snprintf(text, sizeof(text), "%.400s+0x%" PRIx64 " in %s", name, offset,
			 batch->file);
	else
		snprintf(text, sizeof(text), "%.400s in %s", name, batch->file);
	return recording__put_object(batch->samples->recording,
				     &(struct recording_object) { .id = variable->object,
								  .kind = variable->kind,
								  .name = text });
}

static int take_variable(void *context, size_t index, const struct symbol_chain *chain,
			 uint64_t offset)
{
	struct variable_batch *batch = context;

	batch->is_named[index] = true;
	return put_variable(batch, index, chain->frames[0].name, offset);
}

/* At most SOME_FRAMES variables, which are all in the same module. */
static int name_variable_batch(struct naming *naming, const struct variable *variables,
			       size_t count)
{
	struct variable_batch batch = { .samples = naming->samples, .variables = variables };
	struct namer_question question = { .kind = NAMER_VARIABLE, .count = count };
	uint64_t addresses[SOME_FRAMES];
	struct mapper_module module;
	char root[ROOT_BYTES];
	const char *slash;
	int err;

	if (mapper__module(naming->samples->mapper, variables->code->number, &module))
		return 0;
	for (size_t i = 0; i < count; i++)
		addresses[i] = variables[i].address;
	slash = strrchr(module.path, '/');
	batch.file = slash ? slash + 1 : module.path;
	question.module = named(variables->code, &module, root);
	question.addresses = addresses;
	err = namer__ask(naming->namer, &question, take_variable, &batch);
	for (size_t i = 0; i < count && !err; i++)
		if (!batch.is_named[i])
			err = put_variable(&batch, i, NULL, 0);
	return err;
}

static int compare_variables(const void *left, const void *right)
{
	const struct variable *a = left, *b = right;

	if (a->code != b->code)
		return a->code->id < b->code->id ? -1 : 1;
	return a->address < b->address ? -1 : a->address > b->address;
}

/* Module by module, from the end of the list. */
static int name_variables(struct naming *naming, uint64_t until_ns)
{
	struct samples *samples = naming->samples;
	struct variable *variables = samples->variables;
	int err = 0;

	if (samples->variable_count)
		qsort(variables, samples->variable_count, sizeof(*variables), compare_variables);
	while (!err && samples->variable_count && clock__now_ns() < until_ns) {
		size_t to = samples->variable_count, from = to - 1;

		while (from && to - from < SOME_FRAMES &&
		       variables[from - 1].code == variables[from].code)
			from--;
		samples->variable_count = from;
		err = name_variable_batch(naming, variables + from, to - from);
		for (size_t i = from; i < to && !err; i++)
			err = places__leave(samples, variables[i].code);
	}
	return err;
}

/* Logs progress, because a download can take minutes and the user is waiting. */
static void say_download(const char *what, long done, long total)
{
	log_info("fetching debug information of '%s': %ld of %ld KiB", what, done / 1024,
		 total / 1024);
}

/* Functions are kept without a namer too. */
static int begin_functions(struct samples *samples)
{
	if (samples->naming)
		return 0;
	samples->naming = calloc(1, sizeof(*samples->naming));
	if (!samples->naming)
		return -ENOMEM;
	samples->naming->samples = samples;
	return 0;
}

static int begin(struct samples *samples, const struct namer_options *options)
{
	int err = begin_functions(samples);

	if (err || samples->naming->namer)
		return err;
	return namer__new(options, &samples->naming->namer);
}

/* CPU time of this process and its helpers. */
static int64_t cpu_ns(void)
{
	return (int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns());
}

static void note_quality(struct samples *samples, int64_t began_ns)
{
	samples->quality.naming_ns += cpu_ns() - began_ns;
	if (samples->naming && samples->naming->namer)
		samples->quality.names = namer__quality(samples->naming->namer);
}

/* --- frames of runtimes ----------------------------------------------------------------------- */

static int compare_objects(const void *left, const void *right)
{
	const struct frame *a = *(struct frame *const *)left, *b = *(struct frame *const *)right;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static int take_object(void *context, size_t index, const struct symbol_chain *chain)
{
	return take_chain(context, index, chain, 0);
}

/* Frames of one process. */
static int name_process(struct naming *naming, struct frame *const *frames, size_t count)
{
	cleanup(free_p) struct runtime_frame *words = calloc(count, sizeof(*words));
	struct batch batch = { naming, frames };

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		words[i] = frames[i]->words;
	return runtimes__name(naming->samples->runtimes, frames[0]->pid, words, count, take_object,
			      &batch);
}

int samples__name_objects(struct samples *samples)
{
	struct frame **frames = samples->objects;
	size_t count = samples->object_count;
	int64_t began_ns;
	int err;

	if (!count || !samples->runtimes)
		return 0;
	began_ns = cpu_ns();
	err = begin_functions(samples);
	qsort(frames, count, sizeof(*frames), compare_objects);
	for (size_t from = 0, to; from < count && !err; from = to) {
		for (to = from + 1; to < count && frames[to]->pid == frames[from]->pid; to++)
			;
		err = name_process(samples->naming, frames + from, to - from);
	}
	samples->object_count = 0;
	samples->quality.naming_ns += cpu_ns() - began_ns;
	return err;
}

int samples__name(struct samples *samples, bool (*is_interrupted)(void))
{
	const struct namer_options options = { .say_download = say_download,
					       .is_interrupted = is_interrupted };
	uint64_t said_ns = clock__now_ns();
	int64_t began_ns = cpu_ns();
	int err = begin(samples, &options);

	if (!err && samples->unnamed_count)
		err = name_frames(samples->naming, samples->unnamed_count, &said_ns);
	if (!err)
		err = name_variables(samples->naming, UINT64_MAX);
	note_quality(samples, began_ns);
	return err;
}

int samples__name_until(struct samples *samples, uint64_t until_ns)
{
	const struct namer_options options = { .no_debuginfod = true };
	int64_t began_ns;
	int err;

	if (!samples->unnamed_count && !samples->variable_count)
		return 0;
	began_ns = cpu_ns();
	err = begin(samples, &options);
	while (!err && samples->unnamed_count && clock__now_ns() < until_ns) {
		size_t left = samples->unnamed_count;

		err = name_frames(samples->naming, left < SOME_FRAMES ? left : SOME_FRAMES, NULL);
	}
	if (!err)
		err = name_variables(samples->naming, until_ns);
	note_quality(samples, began_ns);
	return err;
}
