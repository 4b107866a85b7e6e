/*
 * Names for all frames of a recording, at its end: by then each address is known to matter, and is
 * looked up once however often it was seen. Who shows what happens now has no end to wait for, and
 * has frames named as they come.
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
/* Frames that are named at a time while somebody looks at what happens now. */
#define SOME_FRAMES 256

struct naming {
	struct samples *samples;
	struct namer *namer;
	struct map functions; /* by hash of module, name and file: ids from 1 */
};

DEFINE_CLEANUP(struct naming *, naming__free)

void naming__free(struct naming *naming)
{
	if (!naming)
		return;
	namer__free(naming->namer);
	map__release(&naming->functions);
	free(naming);
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; text && *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return (hash ^ 0xff) * UINT64_C(0x100000001b3);
}

static int function_id(struct naming *naming, int64_t module, const struct symbol *symbol,
		       int64_t *ret)
{
	uint64_t key = hash_text(UINT64_C(0xcbf29ce484222325) ^ (uint64_t)module << 20,
				 symbol->system_name);
	uintptr_t id;
	int err = 0;

	key = hash_text(key, symbol->file);
	id = (uintptr_t)map__get(&naming->functions, key);
	if (!id) {
		id = naming->functions.count + 1;
		if (map__put(&naming->functions, key, (void *)id))
			return -ENOMEM;
		err = recording__add_function(naming->samples->recording,
					      &(struct recording_function) {
						      .id = (int64_t)id,
						      .module = module,
						      .name = symbol->name,
						      .system_name = symbol->system_name,
						      .file = symbol->file,
						      .start_line = symbol->start_line,
					      });
	}
	*ret = (int64_t)id;
	return err;
}

#define ROOT_BYTES 32

static struct symbol_module named(const struct mapper_module *module, char root[ROOT_BYTES])
{
	snprintf(root, ROOT_BYTES, "/proc/%d/root", module->pid);
	return (struct symbol_module) {
		.key = module->id,
		.fd = module->fd,
		.path = module->path,
		.root = root,
		.build_id = module->build_id,
	};
}

/* Frames of one module. */
struct batch {
	struct naming *naming;
	const size_t *frames; /* indices into samples->frames */
};

static int take_chain(void *context, size_t index, const struct symbol_chain *chain,
		      uint64_t offset)
{
	struct batch *batch = context;
	struct samples *samples = batch->naming->samples;
	size_t frame = batch->frames[index];
	int err = 0;

	for (int depth = 0; depth < chain->count && !err; depth++) {
		const struct symbol *symbol = &chain->frames[depth];
		struct recording_line line = {
			.frame = (int64_t)frame + 1,
			.depth = depth,
			.line = symbol->line,
			.column = symbol->column,
		};

		err = function_id(batch->naming, samples->frames[frame].module, symbol,
				  &line.function);
		if (!err)
			err = recording__add_line(samples->recording, &line);
	}
	return err;
}

/* All of them are in the module of the first. */
static int name_batch(struct batch *batch, const uint64_t *addresses, size_t count)
{
	const struct place *place = &batch->naming->samples->frames[batch->frames[0]];
	struct namer_question question = { .kind = NAMER_KERNEL,
					   .addresses = addresses,
					   .count = count };
	struct mapper_module module;
	char root[ROOT_BYTES];

	if (place->module >= 0) {
		if (mapper__module(batch->naming->samples->mapper, (uint32_t)place->module,
				   &module))
			return 0;
		question.kind = module.is_vdso ? NAMER_VDSO : NAMER_MODULE;
		question.module = named(&module, root);
	} else if (place->module != MODULE_KERNEL) {
		question.kind = NAMER_JIT;
		question.pid = (int)place->pid;
	}
	return namer__ask(batch->naming->namer, &question, take_chain, batch);
}

/* For sorting: by module, and those that were seen first come first. */
static int compare_frames(const void *left, const void *right, void *context)
{
	const struct samples *samples = context;
	size_t a = *(const size_t *)left, b = *(const size_t *)right;
	int64_t x = samples->frames[a].module, y = samples->frames[b].module;

	if (x != y)
		return x < y ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* Once a second, while somebody waits for it. */
static void say_how_far(const struct samples *samples, size_t done, uint64_t *said_ns)
{
	uint64_t now_ns = clock__now_ns();

	if (now_ns - *said_ns < SAY_EVERY_NS)
		return;
	*said_ns = now_ns;
	log_info("looking up names: %zu of %zu addresses", done, samples->frame_count);
}

/*
 * The next `count` frames that were not looked up, module by module: so each file is read once, and
 * the memory that it takes can be given back before the next. Without `said_ns` nothing is said.
 */
static int name_frames(struct naming *naming, size_t count, uint64_t *said_ns)
{
	struct samples *samples = naming->samples;
	cleanup(free_p) size_t *order = calloc(count, sizeof(*order));
	cleanup(free_p) uint64_t *addresses = calloc(count, sizeof(*addresses));
	size_t first = samples->named;
	int err = 0;

	if (!order || !addresses)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		order[i] = first + i;
	qsort_r(order, count, sizeof(*order), compare_frames, samples);
	for (size_t i = 0; i < count; i++)
		addresses[i] = samples->frames[order[i]].address;
	for (size_t from = 0, to; from < count && !err; from = to) {
		struct batch batch = { naming, order + from };

		for (to = from + 1; to < count && to < from + SOME_FRAMES; to++)
			if (samples->frames[order[to]].module !=
			    samples->frames[order[from]].module)
				break;
		err = name_batch(&batch, addresses + from, to - from);
		if (said_ns)
			say_how_far(samples, first + to, said_ns);
	}
	samples->named = first + count;
	return err;
}

/* What is known of a variable. */
struct found {
	char name[400];
	uint64_t offset;
};

static int take_variable(void *context, size_t index, const struct symbol_chain *chain,
			 uint64_t offset)
{
	struct found *found = context;

	snprintf(found->name, sizeof(found->name), "%s", chain->frames[0].name);
	found->offset = offset;
	return 0;
}

/* "log_lock in orders", "pool+0x28 in orders", or "libc.so.6+0x1d2c80" of what has no name. */
static int name_variable(struct naming *naming, const struct variable *variable)
{
	const struct place *place = &variable->place;
	struct namer_question question = { .kind = NAMER_VARIABLE,
					   .addresses = &place->address,
					   .count = 1 };
	struct mapper_module module;
	struct found found = {};
	char root[ROOT_BYTES], text[512];
	const char *path;
	int err;

	if (mapper__module(naming->samples->mapper, (uint32_t)place->module, &module))
		return 0;
	question.module = named(&module, root);
	err = namer__ask(naming->namer, &question, take_variable, &found);
	if (err)
		return err;
	path = strrchr(module.path, '/');
	path = path ? path + 1 : module.path;
	if (!*found.name)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, path, place->address);
	else if (found.offset)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64 " in %s", found.name, found.offset,
			 path);
	else
		snprintf(text, sizeof(text), "%s in %s", found.name, path);
	return recording__put_object(
		naming->samples->recording,
		&(struct recording_object) { .id = variable->object,
					     .kind = states__object_kind(OBJECT_FUTEX),
					     .name = text });
}

static int name_variables(struct naming *naming, uint64_t until_ns)
{
	struct samples *samples = naming->samples;
	int err = 0;

	while (!err && samples->named_variables < samples->variable_count &&
	       clock__now_ns() < until_ns)
		err = name_variable(naming, &samples->variables[samples->named_variables++]);
	return err;
}

/* A download can take minutes: somebody is waiting at a terminal. */
static void say_download(const char *what, long done, long total)
{
	log_info("fetching debug information of '%s': %ld of %ld KiB", what, done / 1024,
		 total / 1024);
}

static int begin(struct samples *samples, const struct namer_options *options)
{
	cleanup(naming__free_p) struct naming *naming = NULL;
	int err;

	if (samples->naming)
		return 0;
	naming = calloc(1, sizeof(*naming));
	if (!naming)
		return -ENOMEM;
	naming->samples = samples;
	err = namer__new(options, &naming->namer);
	if (!err)
		samples->naming = TAKE(naming);
	return err;
}

/* CPU time of this process and its helpers. */
static int64_t cpu_ns(void)
{
	return (int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns());
}

static void note_quality(struct samples *samples, int64_t began_ns)
{
	samples->quality.naming_ns += cpu_ns() - began_ns;
	if (samples->naming)
		samples->quality.names = namer__quality(samples->naming->namer);
}

int samples__name(struct samples *samples, bool (*is_interrupted)(void))
{
	const struct namer_options options = { .say_download = say_download,
					       .is_interrupted = is_interrupted };
	uint64_t said_ns = clock__now_ns();
	int64_t began_ns = cpu_ns();
	int err = begin(samples, &options);

	if (!err && samples->named < samples->frame_count)
		err = name_frames(samples->naming, samples->frame_count - samples->named, &said_ns);
	if (!err)
		err = name_variables(samples->naming, UINT64_MAX);
	note_quality(samples, began_ns);
	return err;
}

int samples__name_some(struct samples *samples, uint64_t until_ns)
{
	const struct namer_options options = { .no_debuginfod = true };
	int64_t began_ns;
	int err;

	if (samples->named == samples->frame_count &&
	    samples->named_variables == samples->variable_count)
		return 0;
	began_ns = cpu_ns();
	err = begin(samples, &options);
	while (!err && samples->named < samples->frame_count && clock__now_ns() < until_ns) {
		size_t left = samples->frame_count - samples->named;

		err = name_frames(samples->naming, left < SOME_FRAMES ? left : SOME_FRAMES, NULL);
	}
	if (!err)
		err = name_variables(samples->naming, until_ns);
	note_quality(samples, began_ns);
	return err;
}
