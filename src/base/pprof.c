/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Field numbers are from profile.proto. */
#include "base/pprof.h"

#include <errno.h>

enum {
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING,
	PROFILE_LOCATION,
	PROFILE_FUNCTION,
	PROFILE_STRING,
	PROFILE_TIME = 9,
	PROFILE_DURATION,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT,
	PROFILE_DEFAULT_TYPE,
};
enum { TYPE_TYPE = 1, TYPE_UNIT };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE, SAMPLE_LABEL };
enum { LABEL_KEY = 1, LABEL_TEXT, LABEL_NUMBER };
enum {
	MAPPING_ID = 1,
	MAPPING_START,
	MAPPING_LIMIT,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID,
	MAPPING_HAS_FUNCTIONS,
	MAPPING_HAS_FILES,
	MAPPING_HAS_LINES,
	MAPPING_HAS_INLINED,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING, LOCATION_ADDRESS, LOCATION_LINE };
enum { LINE_FUNCTION = 1, LINE_LINE, LINE_COLUMN };
enum { FUNCTION_ID = 1, FUNCTION_NAME, FUNCTION_SYSTEM_NAME, FUNCTION_FILE, FUNCTION_START };

static uint64_t string(struct pprof *pprof, const char *text)
{
	uint32_t number = 0;

	if (intern__find(&pprof->strings, text ? text : "", &number))
		pprof->failed = true;
	return number;
}

void pprof__begin(struct pprof *pprof)
{
	*pprof = (struct pprof) {};
	string(pprof, ""); /* the format requires "" as string 0 */
}

void pprof__release(struct pprof *pprof)
{
	proto__release(&pprof->out);
	proto__release(&pprof->message);
	proto__release(&pprof->inner);
	intern__release(&pprof->strings);
}

void pprof__type(struct pprof *pprof, enum pprof_type which, const char *type, const char *unit)
{
	proto__number(&pprof->message, TYPE_TYPE, string(pprof, type));
	proto__number(&pprof->message, TYPE_UNIT, string(pprof, unit));
	proto__message(&pprof->out, which, &pprof->message);
}

void pprof__sample(struct pprof *pprof, const uint64_t *locations, size_t location_count,
		   const uint64_t *values, size_t value_count)
{
	proto__numbers(&pprof->message, SAMPLE_LOCATION, locations, location_count);
	proto__numbers(&pprof->message, SAMPLE_VALUE, values, value_count);
}

void pprof__label(struct pprof *pprof, const char *key, const char *text)
{
	proto__number(&pprof->inner, LABEL_KEY, string(pprof, key));
	proto__number(&pprof->inner, LABEL_TEXT, string(pprof, text));
	proto__message(&pprof->message, SAMPLE_LABEL, &pprof->inner);
}

void pprof__label_number(struct pprof *pprof, const char *key, int number)
{
	proto__number(&pprof->inner, LABEL_KEY, string(pprof, key));
	proto__number_always(&pprof->inner, LABEL_NUMBER, (uint64_t)number);
	proto__message(&pprof->message, SAMPLE_LABEL, &pprof->inner);
}

void pprof__end_sample(struct pprof *pprof)
{
	proto__message(&pprof->out, PROFILE_SAMPLE, &pprof->message);
}

void pprof__location(struct pprof *pprof, uint64_t id, uint64_t mapping, uint64_t address)
{
	proto__number(&pprof->message, LOCATION_ID, id);
	proto__number(&pprof->message, LOCATION_MAPPING, mapping);
	proto__number(&pprof->message, LOCATION_ADDRESS, address);
}

void pprof__line(struct pprof *pprof, uint64_t function, uint64_t line, uint64_t column)
{
	proto__number(&pprof->inner, LINE_FUNCTION, function);
	proto__number(&pprof->inner, LINE_LINE, line);
	proto__number(&pprof->inner, LINE_COLUMN, column);
	proto__message(&pprof->message, LOCATION_LINE, &pprof->inner);
}

void pprof__end_location(struct pprof *pprof)
{
	proto__message(&pprof->out, PROFILE_LOCATION, &pprof->message);
}

void pprof__function(struct pprof *pprof, const struct pprof_function *function)
{
	struct proto *message = &pprof->message;

	proto__number(message, FUNCTION_ID, function->id);
	proto__number(message, FUNCTION_NAME, string(pprof, function->name));
	proto__number(message, FUNCTION_SYSTEM_NAME, string(pprof, function->system_name));
	proto__number(message, FUNCTION_FILE, string(pprof, function->file));
	proto__number(message, FUNCTION_START, function->start_line);
	proto__message(&pprof->out, PROFILE_FUNCTION, message);
}

void pprof__mapping(struct pprof *pprof, const struct pprof_mapping *mapping)
{
	struct proto *message = &pprof->message;

	proto__number(message, MAPPING_ID, mapping->id);
	proto__number(message, MAPPING_START, mapping->start);
	proto__number(message, MAPPING_LIMIT, mapping->limit);
	proto__number(message, MAPPING_FILE, string(pprof, mapping->file));
	proto__number(message, MAPPING_BUILD_ID, string(pprof, mapping->build_id));
	proto__number(message, MAPPING_HAS_FUNCTIONS, mapping->has_functions);
	proto__number(message, MAPPING_HAS_FILES, mapping->has_files);
	proto__number(message, MAPPING_HAS_LINES, mapping->has_lines);
	proto__number(message, MAPPING_HAS_INLINED, mapping->has_lines);
	proto__message(&pprof->out, PROFILE_MAPPING, message);
}

void pprof__head(struct pprof *pprof, const struct pprof_head *head)
{
	uint64_t comment = string(pprof, head->comment);

	proto__number(&pprof->out, PROFILE_TIME, head->time_ns);
	proto__number(&pprof->out, PROFILE_DURATION, head->duration_ns);
	pprof__type(pprof, PPROF_PERIOD_TYPE, head->period_type, "nanoseconds");
	proto__number(&pprof->out, PROFILE_PERIOD, head->period_ns);
	proto__numbers(&pprof->out, PROFILE_COMMENT, &comment, 1);
	proto__number(&pprof->out, PROFILE_DEFAULT_TYPE, string(pprof, head->default_type));
}

int pprof__finish(struct pprof *pprof)
{
	for (size_t i = 0; i < pprof->strings.count; i++)
		proto__clean_text(&pprof->out, PROFILE_STRING, pprof->strings.texts[i]);
	return pprof->failed || proto__failed(&pprof->out) ? -ENOMEM : 0;
}
