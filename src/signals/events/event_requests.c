/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/events/event_requests.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/words.h"
#include "core/uprobes.h"
#include "signals/events/event_format.h"

#define FORMAT_BYTES 65536
#define MOST_NAMES   4096
#define TWICE        "this is asked for twice"
#define NAME_BYTES   (2 * EVENT_WORDS_SPEC + 3 * EVENT_WORDS_BYTES)

/* An operation in words. */
struct operation {
	char name[NAME_BYTES];
	char key[EVENT_WORDS_BYTES];
	bool key_is_pointer, key_is_signed;
};

static struct {
	struct events_knobs knobs;
	struct event_words_point points[EVENTS_TRACED];
	struct event_requests_probe probes[2 * EVENTS_PAIRS];
	struct operation operations[EVENTS_OPERATIONS];
	size_t specs, point_count, probe_count, events, pairs;
} table;

void event_requests__clear(void)
{
	memset(&table, 0, sizeof(table));
}

/* Truncates; names are long only if somebody plays tricks. */
__attribute__((format(printf, 2, 3))) static void say(char why[EVENT_REQUESTS_WHY],
						      const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, EVENT_REQUESTS_WHY, format, args);
	va_end(args);
}

static int fail(int err, char why[EVENT_REQUESTS_WHY], const char *text, const char *reason)
{
	say(why, "'%s': %s", words__clean(text, 200).text, reason);
	return err;
}

/* --- tracefs -------------------------------------------------------------------------------- */

static void free_names(const char **names)
{
	for (size_t i = 0; names[i]; i++)
		free((void *)names[i]);
	free(names);
}

/* The names in a folder, up to a NULL; NULL: it cannot be read. */
static const char **list_names(const char *path)
{
	cleanup(closedir_p) DIR *folder = opendir(path);
	const char **names = folder ? calloc(MOST_NAMES + 1, sizeof(*names)) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	while (names && count < MOST_NAMES && (entry = readdir(folder)))
		if (entry->d_name[0] != '.' && (names[count] = strdup(entry->d_name)))
			count++;
	return names;
}

/* Says which event is meant: the nearest name in the folder, with `before` in front of it. */
static void suggest(const char *folder, const char *typed, const char *before, char *why)
{
	const char **names = list_names(folder), *near;

	if (!names)
		return;
	near = parse__nearest(typed, names);
	if (near)
		words__say(why, EVENT_REQUESTS_WHY, "; did you mean '%s%s'?", before, near);
	else
		words__say(why, EVENT_REQUESTS_WHY, " [see 'ls %s']", folder);
	free_names(names);
}

static int say_unknown(const struct event_words_point *point, const char *tracefs, char *why)
{
	char folder[PATH_MAX], before[EVENT_WORDS_BYTES + 1] = "";
	const char **names;

	snprintf(folder, sizeof(folder), "%s/events/%s", tracefs, point->group);
	names = list_names(folder);
	say(why, "this kernel has no %s '%s%s%s'", names ? "event" : "group of events",
	    point->group, names ? ":" : "", names ? point->name : "");
	if (names)
		snprintf(before, sizeof(before), "%s:", point->group);
	else
		snprintf(folder, sizeof(folder), "%s/events", tracefs);
	suggest(folder, names ? point->name : point->group, before, why);
	if (names)
		free_names(names);
	return -ENOENT;
}

static int read_format(const struct event_words_point *point, const char *tracefs,
		       struct event_format *ret, char *why)
{
	cleanup(free_p) char *text = calloc(1, FORMAT_BYTES + 1);
	cleanup(fclose_p) FILE *file = NULL;
	char path[PATH_MAX];
	size_t size;
	int err;

	if (!text)
		return -ENOMEM;
	if (!tracefs) {
		say(why, "events need tracefs, which is not mounted or not readable [as root, "
			 "'mount -t tracefs nodev /sys/kernel/tracing']");
		return -ENODEV;
	}
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", tracefs, point->group, point->name);
	file = fopen(path, "re");
	if (!file && (errno == ENOENT || errno == ENOTDIR))
		return say_unknown(point, tracefs, why);
	if (!file) {
		err = -errno;
		say(why, "cannot read '%s': %s", path, strerror(-err));
		return err;
	}
	size = fread(text, 1, FORMAT_BYTES + 1, file);
	err = ferror(file) ? -EIO : size > FORMAT_BYTES || strlen(text) != size ? -EBADMSG : 0;
	if (!err)
		err = event_format__parse(text, ret);
	if (err)
		say(why, "'%s' is not understood: %s", path, strerror(-err));
	return err;
}

/* --- fields --------------------------------------------------------------------------------- */

static int say_no_field(const struct event_words_point *point, const struct event_format *format,
			const char *name, char *why)
{
	say(why, "'%s:%s' has no field '%s' [it has", point->group, point->name, name);
	for (size_t i = 0; i < format->count; i++)
		words__say(why, EVENT_REQUESTS_WHY, "%s %s", i ? "," : "", format->fields[i].name);
	words__say(why, EVENT_REQUESTS_WHY, "%s]", format->count ? "" : " none");
	return -ENOENT;
}

/* `name` "": none. A value must be a number, a key may be a text. */
static int find_field(const struct event_words_point *point, const struct event_format *format,
		      const char *name, bool is_value, const struct event_field **ret, char *why)
{
	static const struct event_field none = {};
	const struct event_field *field = *name ? event_format__find(format, name) : &none;

	if (!field)
		return say_no_field(point, format, name, why);
	if (*name && (field->where.kind == EVENTS_NO_FIELD ||
		      (is_value && field->where.kind >= EVENTS_TEXT))) {
		say(why, "the field '%s' of '%s:%s' is '%s' (%u bytes), which is %s", name,
		    point->group, point->name, field->type, field->where.size,
		    is_value ? "not a number" : "neither a number nor a text");
		return -ENOTSUP;
	}
	*ret = field;
	return 0;
}

/* --- the table ------------------------------------------------------------------------------ */

static size_t find_point(const struct event_words_point *point)
{
	size_t i = 0;

	while (i < table.point_count && (strcmp(table.points[i].group, point->group) ||
					 strcmp(table.points[i].name, point->name)))
		i++;
	return i;
}

/* How many more specs the tracepoint has room for. */
static size_t room_at(const struct event_words_point *point)
{
	const struct events_point *at = &table.knobs.points[find_point(point)];
	size_t used = 0;

	if (find_point(point) == table.point_count)
		return EVENTS_AT_ONE;
	while (used < EVENTS_AT_ONE && at->specs[used])
		used++;
	return EVENTS_AT_ONE - used;
}

/* An end goes in front: what ends at an event began before. */
int event_requests__add_spec(struct events_knobs *knobs, size_t *specs, size_t point,
			     const struct events_spec *spec)
{
	__u8 *list = knobs->points[point].specs;
	size_t used = 0;

	while (used < EVENTS_AT_ONE && list[used])
		used++;
	if (used == EVENTS_AT_ONE || *specs == EVENTS_SPECS)
		return -E2BIG;
	knobs->specs[(*specs)++] = *spec;
	if (spec->role == EVENTS_ENDS) {
		memmove(list + 1, list, used);
		used = 0;
	}
	list[used] = (__u8)*specs;
	return 0;
}

static void add_spec(const struct event_words_point *point, const struct events_spec *spec)
{
	size_t number = find_point(point);

	if (number == table.point_count)
		table.points[table.point_count++] = *point;
	(void)event_requests__add_spec(&table.knobs, &table.specs, number, spec);
}

static int say_too_many(const char *text, const char *what, unsigned most, char *why)
{
	char reason[64];

	snprintf(reason, sizeof(reason), "more than %u %s", most, what);
	return fail(-E2BIG, why, text, reason);
}

/* The name says what is asked for, so it is different from all others. */
static void name_event(const struct event_words *words, const struct event_field *key,
		       struct operation *ret)
{
	*ret = (struct operation) { .key_is_pointer = key->is_pointer,
				    .key_is_signed = key->where.kind == EVENTS_SIGNED };
	words__say(ret->name, sizeof(ret->name), "%s:%s%s%s%s%s", words->point.group,
		   words->point.name, *words->value ? " " : "", words->value,
		   *words->key ? " by " : "", words->key);
	words__say(ret->key, sizeof(ret->key), "%s", words->key);
}

/* Forgets the operation if another one has the same name. */
static bool is_there_already(unsigned operation)
{
	char *name = table.operations[operation].name;

	for (unsigned i = 0; i < operation; i++)
		if (!strcmp(table.operations[i].name, name)) {
			*name = '\0';
			return true;
		}
	return false;
}

int event_requests__add(const char *text, const char *tracefs, char why[EVENT_REQUESTS_WHY])
{
	cleanup(free_p) struct event_format *format = calloc(1, sizeof(*format));
	const struct event_field *key = NULL, *value = NULL;
	struct events_spec spec;
	struct event_words words;
	const char *reason;
	int err;

	if (!format)
		return fail(-ENOMEM, why, text, strerror(ENOMEM));
	if (event_words__parse(text, &words, &reason))
		return fail(-EINVAL, why, text, reason);
	if (table.events == EVENTS_SINGLES)
		return say_too_many(text, "events", EVENTS_SINGLES, why);
	if (!room_at(&words.point))
		return say_too_many(text, "requests for one event", EVENTS_AT_ONE, why);
	err = read_format(&words.point, tracefs, format, why);
	if (!err)
		err = find_field(&words.point, format, words.key, false, &key, why);
	if (!err)
		err = find_field(&words.point, format, words.value, true, &value, why);
	if (err)
		return err;
	spec = (struct events_spec) { .key = key->where,
				      .value = value->where,
				      .role = EVENTS_COUNTED,
				      .operation = (__u32)table.events };
	name_event(&words, key, &table.operations[table.events]);
	if (is_there_already((unsigned)table.events))
		return fail(-EINVAL, why, text, TWICE);
	table.events++;
	add_spec(&words.point, &spec);
	return 0;
}

static bool is_text(const struct event_field *field)
{
	return field->where.kind >= EVENTS_TEXT;
}

/* The number of an argument, "arg1" to "arg6"; 0: it is not one. */
static unsigned argument_of(const char *field)
{
	bool is_one = !strncmp(field, "arg", 3) && field[3] >= '1' &&
		      field[3] <= '0' + USDT_MOST_ARGUMENTS && !field[4];

	return is_one ? (unsigned)(field[3] - '0') : 0;
}

/* Checks the form; whether there is such a function is known when the target is. */
static int find_probe_end(const struct event_words_point *point, const char *field,
			  struct event_field *ret, char *why)
{
	struct uprobe_spec spec;
	bool is_usdt = point->kind == EVENT_WORDS_USDT;

	*ret = (struct event_field) {};
	snprintf(ret->name, sizeof(ret->name), "%s", field);
	snprintf(ret->type, sizeof(ret->type), "an argument");
	if (is_usdt ? uprobes__parse_usdt(point->spec, &spec) : uprobes__parse(point->spec, &spec))
		return fail(-EINVAL, why, point->spec,
			    is_usdt ? "not a probe [like 'usdt:python:gc__start']"
				    : "not a function [like 'function:libc:malloc']");
	if (*field && !argument_of(field))
		return fail(-EINVAL, why, field, "not an argument of a function [arg1 to arg6]");
	ret->where.kind = *field ? EVENTS_UNSIGNED : EVENTS_NO_FIELD;
	return 0;
}

/* Looks up both ends. */
static int find_ends(const struct event_words_pair *words, const char *tracefs,
		     struct event_format *format, struct event_field ret[2], char *why)
{
	const struct event_field *field;
	int err = 0;

	for (int i = 0; i < 2 && !err; i++) {
		const struct event_words_point *point = &words->points[i];

		if (point->kind != EVENT_WORDS_TRACEPOINT) {
			err = find_probe_end(point, words->fields[i], &ret[i], why);
			continue;
		}
		err = read_format(point, tracefs, format, why);
		if (!err)
			err = find_field(point, format, words->fields[i], false, &field, why);
		if (!err)
			ret[i] = *field;
	}
	if (err || is_text(&ret[0]) == is_text(&ret[1]))
		return err;
	say(why, "'%s' is '%s', but '%s' is '%s': they are never equal", ret[0].name, ret[0].type,
	    ret[1].name, ret[1].type);
	return -ENOTSUP;
}

static void say_point(const struct event_words_point *point, char *ret, size_t size)
{
	if (point->kind == EVENT_WORDS_TRACEPOINT)
		words__say(ret, size, "%s:%s", point->group, point->name);
	else
		words__say(ret, size, "%s", point->spec);
}

static void name_pair(const struct event_words_pair *words, struct operation *ret)
{
	static const char *const outcomes[] = {
		[EVENTS_PAIRED] = "",
		[EVENTS_BEGUN_AGAIN] = ": begun again before the end",
		[EVENTS_NOT_BEGUN] = ": end without a begin",
		[EVENTS_OPEN] = ": no end until the recording ended",
	};
	bool is_same = !strcmp(words->fields[0], words->fields[1]);

	for (int i = 0; i < EVENTS_OUTCOMES; i++) {
		ret[i] = (struct operation) {};
		say_point(&words->points[0], ret[i].name, sizeof(ret[i].name));
		words__say(ret[i].name, sizeof(ret[i].name), " -> ");
		say_point(&words->points[1], ret[i].name, sizeof(ret[i].name));
		words__say(ret[i].name, sizeof(ret[i].name), " by %s%s%s%s",
			   *words->fields[0] ? words->fields[0] : "thread", is_same ? "" : "=",
			   is_same ? "" : words->fields[1], outcomes[i]);
	}
}

static void add_end(const struct event_words_point *point, const struct event_field *field,
		    __u32 role, __u32 operation)
{
	if (point->kind == EVENT_WORDS_TRACEPOINT)
		add_spec(point, &(struct events_spec) { .key = field->where,
							.role = role,
							.operation = operation });
	else
		table.probes[table.probe_count++] =
			(struct event_requests_probe) { .point = *point,
							.argument = argument_of(field->name),
							.role = role,
							.operation = operation };
}

int event_requests__add_pair(const char *text, const char *tracefs, char why[EVENT_REQUESTS_WHY])
{
	cleanup(free_p) struct event_format *format = calloc(1, sizeof(*format));
	unsigned operation = EVENTS_SINGLES + EVENTS_OUTCOMES * (unsigned)table.pairs;
	struct event_words_pair words;
	struct event_field fields[2];
	const char *reason;
	int err;

	if (!format)
		return fail(-ENOMEM, why, text, strerror(ENOMEM));
	if (event_words__parse_pair(text, &words, &reason))
		return fail(-EINVAL, why, text, reason);
	if (table.pairs == EVENTS_PAIRS)
		return say_too_many(text, "pairs", EVENTS_PAIRS, why);
	/* Both ends may be the same event. */
	if (room_at(&words.points[0]) < 2 || room_at(&words.points[1]) < 2)
		return say_too_many(text, "requests for one event", EVENTS_AT_ONE - 1, why);
	err = find_ends(&words, tracefs, format, fields, why);
	if (err)
		return err;
	name_pair(&words, &table.operations[operation]);
	if (is_there_already(operation))
		return fail(-EINVAL, why, text, TWICE);
	table.pairs++;
	for (int i = 0; i < 2; i++)
		add_end(&words.points[i], &fields[i], i ? EVENTS_ENDS : EVENTS_BEGINS, operation);
	return 0;
}

bool event_requests__has_pairs(void)
{
	return table.pairs;
}

const struct events_knobs *event_requests__knobs(size_t *ret_specs)
{
	*ret_specs = table.specs;
	return &table.knobs;
}

const struct event_requests_probe *event_requests__probe(size_t number)
{
	return number < table.probe_count ? &table.probes[number] : NULL;
}

const struct event_words_point *event_requests__point(size_t number)
{
	return number < table.point_count ? &table.points[number] : NULL;
}

const char *event_requests__operation(unsigned operation)
{
	return operation < EVENTS_OPERATIONS && *table.operations[operation].name
		       ? table.operations[operation].name
		       : NULL;
}

const char *event_requests__key(unsigned operation)
{
	return operation < EVENTS_OPERATIONS ? table.operations[operation].key : "";
}

void event_requests__name_object(const __u64 numbers[2], char *ret, size_t size)
{
	__u64 number = (numbers[1] & ~EVENTS_IS_TEXT) - 1;
	const struct operation *operation =
		&table.operations[number < EVENTS_OPERATIONS ? number : 0];

	if (numbers[1] & EVENTS_IS_TEXT && !numbers[0])
		snprintf(ret, size, "%s: other", operation->key);
	else if (numbers[1] & EVENTS_IS_TEXT)
		snprintf(ret, size, "%s: name lost (%#llx)", operation->key, numbers[0]);
	else if (operation->key_is_pointer)
		snprintf(ret, size, "%s=%#llx", operation->key, numbers[0]);
	else if (operation->key_is_signed)
		snprintf(ret, size, "%s=%lld", operation->key, (long long)numbers[0]);
	else
		snprintf(ret, size, "%s=%llu", operation->key, numbers[0]);
}
