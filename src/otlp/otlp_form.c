/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of opentelemetry/proto/profiles/v1development/profiles.proto. The first entry of each
 * table of the dictionary is empty, so that the index 0 is none.
 */
#include "otlp/otlp_form.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/intern.h"
#include "base/vec.h"
#include "vocabulary/states.h"

enum { REQUEST_RESOURCE = 1, REQUEST_DICTIONARY };
enum { RESOURCE_RESOURCE = 1, RESOURCE_SCOPE };
enum { ATTRIBUTES = 1 };
enum { SCOPE_SCOPE = 1, SCOPE_PROFILE };
enum { SCOPE_NAME = 1, SCOPE_VERSION };
enum {
	PROFILE_TYPE = 1,
	PROFILE_SAMPLE,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_ID = 7,
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES, SAMPLE_VALUES = 4 };
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_LINK,
	TABLE_STRING,
	TABLE_ATTRIBUTE,
	TABLE_STACK,
};
enum { MAPPING_LIMIT = 2, MAPPING_FILE = 4, MAPPING_ATTRIBUTES };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS, LOCATION_ATTRIBUTES = 4 };
enum { STACK_LOCATIONS = 1 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE };
enum { ANY_STRING = 1 };

#define ID_BYTES 16

/* The attributes that samples, mappings and locations have. */
enum key { KEY_STATE, KEY_CAUSE, KEY_BUILD_ID, KEY_FRAME_TYPE, KEYS };

static const char *const keys[KEYS] = {
	[KEY_STATE] = "state",
	[KEY_CAUSE] = "cause",
	[KEY_BUILD_ID] = "process.executable.build_id.gnu",
	[KEY_FRAME_TYPE] = "profile.frame.type",
};

struct values {
	struct intern texts;
	uint64_t *indexes; /* in the table of attributes */
	size_t count;
};

struct writer {
	const struct sampled *sampled;
	const struct otlp_form_context *context;
	struct encoding_scratch scratch;
	struct proto request, dictionary, resource, scope, profile, message, inner;
	struct intern strings;
	struct values values[KEYS];
	uint64_t attributes; /* in the table */
	struct sampled_code code;
	struct map stacks; /* by the stack's number: its index */
	uint64_t stack_count;
	uint64_t *way;
	size_t way_room;
	bool failed;
};

static void writer__release(struct writer *writer)
{
	struct proto *protos[] = { &writer->request, &writer->dictionary, &writer->resource,
				   &writer->scope,   &writer->profile,    &writer->message,
				   &writer->inner };

	for (size_t i = 0; i < sizeof(protos) / sizeof(*protos); i++)
		proto__release(protos[i]);
	for (size_t i = 0; i < KEYS; i++) {
		intern__release(&writer->values[i].texts);
		free(writer->values[i].indexes);
	}
	encoding__release(&writer->scratch);
	intern__release(&writer->strings);
	sampled__release_code(&writer->code);
	map__release(&writer->stacks);
	free(writer->way);
}

/* --- dictionary --- */

static uint64_t string(struct writer *writer, const char *text)
{
	uint32_t number = 0;

	if (intern__find(&writer->strings, text, &number))
		writer->failed = true;
	return number;
}

/* The index of an attribute, which is added if it is new. */
static uint64_t attribute(struct writer *writer, enum key key, const char *value)
{
	struct values *values = &writer->values[key];
	uint32_t number = 0;
	uint64_t *index;

	if (intern__find(&values->texts, value, &number)) {
		writer->failed = true;
		return 0;
	}
	if (number < values->count)
		return values->indexes[number];
	index = APPEND(&values->indexes, &values->count);
	if (!index) {
		writer->failed = true;
		return 0;
	}
	*index = ++writer->attributes;
	proto__clean_text(&writer->scratch.value, ANY_STRING, value);
	proto__number(&writer->scratch.attribute, ATTRIBUTE_KEY, string(writer, keys[key]));
	proto__message(&writer->scratch.attribute, ATTRIBUTE_VALUE, &writer->scratch.value);
	proto__message(&writer->dictionary, TABLE_ATTRIBUTE, &writer->scratch.attribute);
	return *index;
}

/* The index of a stack, which is added if it is new. */
static uint64_t stack_index(struct writer *writer, const struct fact_stack *stack)
{
	uint64_t known = (uintptr_t)map__get(&writer->stacks, stack->stack);
	uint64_t *way;

	if (known)
		return known;
	while (writer->way_room < stack->depth) {
		way = APPEND(&writer->way, &writer->way_room);
		if (!way) {
			writer->failed = true;
			return 0;
		}
	}
	/* Innermost first; location 0 is none. */
	way = writer->way + stack->depth;
	for (size_t i = 0; i < stack->depth; i++) {
		if (sampled__find_place(writer->sampled, &writer->code, stack, i, --way))
			writer->failed = true;
		++*way;
	}
	proto__numbers(&writer->inner, STACK_LOCATIONS, writer->way, stack->depth);
	proto__message(&writer->dictionary, TABLE_STACK, &writer->inner);
	writer->stack_count++;
	if (map__put(&writer->stacks, stack->stack, (void *)(uintptr_t)writer->stack_count))
		writer->failed = true;
	return writer->stack_count;
}

static void add_locations(struct writer *writer)
{
	for (size_t i = 0; i < writer->code.count; i++) {
		const struct sampled_place *place = &writer->code.places[i];
		bool has_module = place->module != SAMPLED_NO_MODULE;
		bool is_kernel =
			has_module && sampled__is_kernel(&writer->sampled->modules[place->module]);
		uint64_t type = attribute(writer, KEY_FRAME_TYPE, is_kernel ? "kernel" : "native");

		proto__number(&writer->message, LOCATION_MAPPING,
			      has_module ? place->module + 1 : 0);
		proto__number(&writer->message, LOCATION_ADDRESS, place->offset);
		proto__numbers(&writer->message, LOCATION_ATTRIBUTES, &type, 1);
		proto__message(&writer->dictionary, TABLE_LOCATION, &writer->message);
	}
}

/* Modules that are not used are empty entries, so that the index of a mapping is its module's. */
static void add_mappings(struct writer *writer)
{
	for (size_t i = 0; writer->code.limits && i < writer->sampled->module_count; i++) {
		const struct fact_module *module = &writer->sampled->modules[i];

		if (writer->code.limits[i]) {
			uint64_t build_id = 0;

			proto__number(&writer->message, MAPPING_LIMIT, writer->code.limits[i]);
			proto__number(&writer->message, MAPPING_FILE,
				      string(writer, sampled__file(module)));
			if (*module->build_id)
				build_id = attribute(writer, KEY_BUILD_ID, module->build_id);
			proto__numbers(&writer->message, MAPPING_ATTRIBUTES, &build_id,
				       build_id != 0);
		}
		proto__message(&writer->dictionary, TABLE_MAPPING, &writer->message);
	}
}

static void begin_dictionary(struct writer *writer)
{
	static const unsigned int tables[] = { TABLE_MAPPING, TABLE_LOCATION,  TABLE_FUNCTION,
					       TABLE_LINK,    TABLE_ATTRIBUTE, TABLE_STACK };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		proto__message(&writer->dictionary, tables[i], &writer->message);
	string(writer, "");
}

static void end_dictionary(struct writer *writer)
{
	add_locations(writer);
	add_mappings(writer);
	for (size_t i = 0; i < writer->strings.count; i++)
		proto__clean_text(&writer->dictionary, TABLE_STRING, writer->strings.texts[i]);
	proto__message(&writer->request, REQUEST_DICTIONARY, &writer->dictionary);
}

/* --- profiles --- */

static void add_type(struct writer *writer, unsigned int field)
{
	proto__number(&writer->message, TYPE_TYPE, string(writer, "wall"));
	proto__number(&writer->message, TYPE_UNIT, string(writer, "nanoseconds"));
	proto__message(&writer->profile, field, &writer->message);
}

static void add_sample(struct writer *writer, const struct sampled_row *row)
{
	const struct state_words *words = states__words(row->sample->slot);
	const uint64_t attributes[] = { attribute(writer, KEY_STATE, words->state),
					attribute(writer, KEY_CAUSE, words->cause) };

	if (row->stack)
		proto__number(&writer->message, SAMPLE_STACK, stack_index(writer, row->stack));
	proto__numbers(&writer->message, SAMPLE_ATTRIBUTES, attributes, 2);
	proto__numbers(&writer->message, SAMPLE_VALUES, &row->sample->ns, 1);
	proto__message(&writer->profile, PROFILE_SAMPLE, &writer->message);
}

/* Unique: the host and a moment of its own. */
static void add_id(struct writer *writer, uint64_t time_ns)
{
	const uint64_t numbers[] = { writer->sampled->host_id, time_ns };
	unsigned char id[ID_BYTES];

	for (size_t i = 0; i < ID_BYTES; i++)
		id[i] = (unsigned char)(numbers[i / 8] >> (56 - 8 * (i % 8)));
	proto__bytes(&writer->profile, PROFILE_ID, id, sizeof(id));
}

static void add_resource(struct writer *writer, const struct sampled_row *row)
{
	const struct otlp_form_context *context = writer->context;
	char name[EXPOSITION_LABEL_BYTES];

	exposition__clean(row->service, name);
	encoding__attribute(&writer->scratch, &writer->message, ATTRIBUTES, "service.name", name);
	exposition__clean(row->namespace_name, name);
	encoding__attribute(&writer->scratch, &writer->message, ATTRIBUTES, "k8s.namespace.name",
			    name);
	for (size_t i = 0; i < context->host_count; i++)
		encoding__attribute(&writer->scratch, &writer->message, ATTRIBUTES,
				    context->host[i].key, context->host[i].value);
	proto__message(&writer->resource, RESOURCE_RESOURCE, &writer->message);
	proto__text(&writer->message, SCOPE_NAME, "gapless");
	proto__text(&writer->message, SCOPE_VERSION, context->version);
	proto__message(&writer->scope, SCOPE_SCOPE, &writer->message);
}

static void add_profile(struct writer *writer, struct sampled_range range, uint64_t time_ns)
{
	const struct sampled_row *rows = writer->sampled->rows + range.first;

	add_resource(writer, rows);
	add_type(writer, PROFILE_TYPE);
	for (size_t i = 0; i < range.count; i++)
		add_sample(writer, &rows[i]);
	proto__fixed64(&writer->profile, PROFILE_TIME, time_ns);
	proto__number(&writer->profile, PROFILE_DURATION, writer->sampled->duration_ns);
	add_type(writer, PROFILE_PERIOD_TYPE);
	add_id(writer, time_ns);
	proto__message(&writer->scope, SCOPE_PROFILE, &writer->profile);
	proto__message(&writer->resource, RESOURCE_SCOPE, &writer->scope);
	proto__message(&writer->request, REQUEST_RESOURCE, &writer->resource);
}

int otlp_form__encode(const struct sampled *sampled, struct sampled_range range, uint64_t time_ns,
		      const struct otlp_form_context *context, struct proto *ret,
		      size_t *ret_profiles)
{
	cleanup(writer__release) struct writer writer = { .sampled = sampled, .context = context };
	size_t profiles = 0;

	begin_dictionary(&writer);
	while (range.count) {
		size_t run = sampled__run(sampled, range, false);

		add_profile(&writer, (struct sampled_range) { range.first, run },
			    time_ns + profiles++);
		range.first += run;
		range.count -= run;
	}
	end_dictionary(&writer);
	if (writer.failed || proto__failed(&writer.request))
		return -ENOMEM;
	*ret = writer.request;
	writer.request = (struct proto) {};
	*ret_profiles = profiles;
	return 0;
}
