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
#include "base/log.h"
#include "ledger/samples_internal.h"
#include "ledger/states.h"
#include "symbol/symbol.h"

#define SAY_EVERY_NS UINT64_C(1000000000)

struct naming {
	struct samples *samples;
	struct symbols *symbols;
	struct map functions; /* by hash of module, name and file: ids from 1 */
};

DEFINE_CLEANUP(struct naming *, naming__free)

void naming__free(struct naming *naming)
{
	if (!naming)
		return;
	symbols__free(naming->symbols);
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

static int look_up_file(struct naming *naming, const struct place *place, struct symbol_chain *ret)
{
	struct mapper_module module;
	struct symbol_module file;
	char root[ROOT_BYTES];

	if (mapper__module(naming->samples->mapper, (uint32_t)place->module, &module))
		return 0;
	if (module.is_vdso)
		return symbols__in_vdso(naming->symbols, place->address, ret);
	file = named(&module, root);
	return symbols__in_module(naming->symbols, &file, place->address, ret);
}

static int look_up(struct naming *naming, const struct place *place, struct symbol_chain *ret)
{
	ret->count = 0;
	if (place->module == MODULE_KERNEL)
		return symbols__in_kernel(naming->symbols, place->address, ret);
	if (place->module < 0)
		return symbols__in_jit(naming->symbols, (int)place->pid, place->address, ret);
	return look_up_file(naming, place, ret);
}

static int name_frame(struct naming *naming, size_t index)
{
	struct samples *samples = naming->samples;
	const struct place *place = &samples->frames[index];
	struct symbol_chain chain;
	int err = look_up(naming, place, &chain);

	for (int depth = 0; depth < chain.count && !err; depth++) {
		const struct symbol *symbol = &chain.frames[depth];
		struct recording_line line = {
			.frame = (int64_t)index + 1,
			.depth = depth,
			.line = symbol->line,
			.column = symbol->column,
		};

		err = function_id(naming, place->module, symbol, &line.function);
		if (!err)
			err = recording__add_line(samples->recording, &line);
	}
	return err;
}

/* "log_lock in orders", "pool+0x28 in orders", or "libc.so.6+0x1d2c80" of what has no name. */
static int name_variable(struct naming *naming, const struct variable *variable)
{
	const struct place *place = &variable->place;
	struct mapper_module module;
	struct symbol_module file;
	char root[ROOT_BYTES], text[512];
	const char *name, *path;
	uint64_t offset;
	int err;

	if (mapper__module(naming->samples->mapper, (uint32_t)place->module, &module))
		return 0;
	file = named(&module, root);
	err = symbols__variable(naming->symbols, &file, place->address, &name, &offset);
	if (err == -ENOMEM)
		return err;
	path = strrchr(module.path, '/');
	path = path ? path + 1 : module.path;
	if (err)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64, path, place->address);
	else if (offset)
		snprintf(text, sizeof(text), "%s+0x%" PRIx64 " in %s", name, offset, path);
	else
		snprintf(text, sizeof(text), "%s in %s", name, path);
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
static void say_progress(void *context, const char *what, long done, long total)
{
	log_info("fetching debug information of '%s': %ld of %ld KiB", what, done / 1024,
		 total / 1024);
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

static int begin(struct samples *samples, const struct symbols_options *options)
{
	cleanup(naming__free_p) struct naming *naming = NULL;
	int err;

	if (samples->naming)
		return 0;
	naming = calloc(1, sizeof(*naming));
	if (!naming)
		return -ENOMEM;
	naming->samples = samples;
	err = symbols__new(options, &naming->symbols);
	if (!err)
		samples->naming = TAKE(naming);
	return err;
}

int samples__name(struct samples *samples)
{
	const struct symbols_options options = { .progress = say_progress };
	uint64_t began_ns = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID), said_ns = clock__now_ns();
	int err = begin(samples, &options);

	while (!err && samples->named < samples->frame_count) {
		err = name_frame(samples->naming, samples->named++);
		say_how_far(samples, samples->named, &said_ns);
	}
	if (!err)
		err = name_variables(samples->naming, UINT64_MAX);
	samples->quality.naming_ns +=
		(int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns);
	return err;
}

int samples__name_some(struct samples *samples, uint64_t until_ns)
{
	const struct symbols_options options = { .no_debuginfod = true };
	uint64_t began_ns;
	int err;

	if (samples->named == samples->frame_count &&
	    samples->named_variables == samples->variable_count)
		return 0;
	began_ns = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID);
	err = begin(samples, &options);
	while (!err && samples->named < samples->frame_count && clock__now_ns() < until_ns)
		err = name_frame(samples->naming, samples->named++);
	if (!err)
		err = name_variables(samples->naming, until_ns);
	samples->quality.naming_ns +=
		(int64_t)(clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) - began_ns);
	return err;
}
