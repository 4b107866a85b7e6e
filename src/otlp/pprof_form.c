/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pyroscope keeps one profile of a series and a moment and drops others when it merges blocks. A
 * series has no label for the host, so every profile must have a moment of its own: see
 * profile_load.c.
 */
#include "otlp/pprof_form.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/pprof.h"
#include "base/vec.h"
#include "vocabulary/states.h"

/* Fields of push/v1/push.proto and types/v1/types.proto. */
enum { REQUEST_SERIES = 1 };
enum { SERIES_LABEL = 1, SERIES_SAMPLE };
enum { LABEL_NAME = 1, LABEL_VALUE };
enum { SAMPLE_PROFILE = 1, SAMPLE_ID };

/* Locations up to SLOT_COUNT are the outermost frames, one for each slot. */
#define FIRST_PLACE (SLOT_COUNT + 1)

struct writer {
	const struct sampled *sampled;
	struct pprof out;
	struct sampled_code code;
	char names[SLOT_COUNT][64]; /* of outermost frames; "": not used */
	uint64_t *way;
	size_t way_room;
};

static void writer__release(struct writer *writer)
{
	pprof__release(&writer->out);
	sampled__release_code(&writer->code);
	free(writer->way);
}

static int reserve_way(struct writer *writer, size_t length)
{
	while (writer->way_room < length) {
		uint64_t *added = APPEND(&writer->way, &writer->way_room);

		if (!added)
			return -ENOMEM;
	}
	return 0;
}

static int add_sample(struct writer *writer, const struct sampled_row *row)
{
	const struct state_words *words = states__words(row->sample->slot);
	const uint64_t values[] = { row->sample->n, row->sample->ns };
	size_t depth = row->stack ? row->stack->depth : 0;
	char *name = writer->names[row->sample->slot];
	int err = reserve_way(writer, depth + 1);

	if (err)
		return err;
	for (size_t i = 0; i < depth; i++) {
		uint64_t place;

		err = sampled__find_place(writer->sampled, &writer->code, row->stack, i, &place);
		if (err)
			return err;
		writer->way[depth - 1 - i] = FIRST_PLACE + place;
	}
	writer->way[depth] = row->sample->slot;
	snprintf(name, sizeof(writer->names[0]), "%s.%s", words->state, words->cause);
	pprof__sample(&writer->out, writer->way, depth + 1, values, 2);
	pprof__end_sample(&writer->out);
	return 0;
}

static void add_code(struct writer *writer)
{
	const struct sampled *sampled = writer->sampled;
	struct pprof *out = &writer->out;

	for (size_t i = 0; i < writer->code.count; i++) {
		const struct sampled_place *place = &writer->code.places[i];
		bool has_module = place->module != SAMPLED_NO_MODULE;

		pprof__location(out, FIRST_PLACE + i, has_module ? place->module + 1 : 0,
				place->offset);
		pprof__end_location(out);
	}
	for (size_t i = 0; writer->code.limits && i < sampled->module_count; i++)
		if (writer->code.limits[i])
			pprof__mapping(out, &(struct pprof_mapping) {
						    .id = i + 1,
						    .limit = writer->code.limits[i],
						    .file = sampled__file(&sampled->modules[i]),
						    .build_id = sampled->modules[i].build_id,
					    });
	for (size_t i = 0; i < SLOT_COUNT; i++) {
		if (!*writer->names[i])
			continue;
		pprof__location(out, i, 0, 0);
		pprof__line(out, i, 0, 0);
		pprof__end_location(out);
		pprof__function(out,
				&(struct pprof_function) { .id = i, .name = writer->names[i] });
	}
}

int pprof_form__encode(const struct sampled *sampled, struct sampled_range range, uint64_t time_ns,
		       const char *version, struct proto *ret)
{
	cleanup(writer__release) struct writer writer = { .sampled = sampled };
	char comment[128];
	int err = 0;

	pprof__begin(&writer.out);
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "samples", "count");
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "wall", "nanoseconds");
	for (size_t i = 0; i < range.count && !err; i++)
		err = add_sample(&writer, &sampled->rows[range.first + i]);
	if (err)
		return err;
	add_code(&writer);
	snprintf(comment, sizeof(comment), "gapless %.100s", version);
	pprof__head(&writer.out, &(struct pprof_head) { .time_ns = time_ns,
							.duration_ns = sampled->duration_ns,
							.comment = comment,
							.period_type = "wall",
							.default_type = "wall" });
	err = pprof__finish(&writer.out);
	if (err)
		return err;
	*ret = writer.out.out;
	writer.out.out = (struct proto) {};
	return 0;
}

/* --- requests --- */

struct parts {
	struct proto label, sample, series;
};

static void parts__release(struct parts *parts)
{
	proto__release(&parts->label);
	proto__release(&parts->sample);
	proto__release(&parts->series);
}

static void add_label(struct parts *parts, const char *name, const char *value)
{
	if (!*value)
		return;
	proto__text(&parts->label, LABEL_NAME, name);
	proto__clean_text(&parts->label, LABEL_VALUE, value);
	proto__message(&parts->series, SERIES_LABEL, &parts->label);
}

int pprof_form__add(const struct pprof_form_series *series, struct proto *request)
{
	cleanup(parts__release) struct parts parts = {};
	cleanup(free_p) char *packed = NULL;
	char id[40]; /* as a UUID of version 8, whose bits are free */
	size_t packed_bytes;
	int err = gzip__pack(series->profile->bytes, series->profile->size, &packed, &packed_bytes);

	if (err)
		return err;
	/* Sorted by name. */
	add_label(&parts, "__name__", "wall");
	add_label(&parts, "namespace", series->namespace_name);
	add_label(&parts, "service_name", series->service);
	add_label(&parts, "state", series->state);
	snprintf(id, sizeof(id),
		 "%08" PRIx64 "-%04" PRIx64 "-8%03" PRIx64 "-8%03" PRIx64 "-%012" PRIx64,
		 series->host_id >> 32, series->host_id >> 16 & 0xffff, series->host_id & 0xfff,
		 series->time_ns >> 48 & 0xfff, series->time_ns & UINT64_C(0xffffffffffff));
	proto__bytes(&parts.sample, SAMPLE_PROFILE, packed, packed_bytes);
	proto__text(&parts.sample, SAMPLE_ID, id);
	proto__message(&parts.series, SERIES_SAMPLE, &parts.sample);
	proto__message(request, REQUEST_SERIES, &parts.series);
	return proto__failed(request) ? -ENOMEM : 0;
}
