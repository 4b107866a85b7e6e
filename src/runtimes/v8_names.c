/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a function is called, and where it is. A name is what V8 shows in its own profiles: the one
 * that the function has, else the one that V8 inferred from an assignment.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "runtimes/v8.h"

/* In a ScopeInfo, in words from the flags on. */
#define SCOPE_WORDS     8 /* where they begin */
#define SCOPE_VARIABLES 2
#define SCOPE_POSITION  3 /* if the first variable is after it */
#define MOST_IN_PLACE   75
#define MOST_VARIABLES  (1U << 16)
#define NAME_WORDS      7 /* that are looked at behind the variables */
#define SCRIPT_NAME     16

#define ANONYMOUS "(anonymous)"

struct said {
	char name[RUNTIME_MOST_NAME];
	int32_t begin; /* position in the script; −1: unknown */
};

static bool is_string(const struct v8 *v8, uint64_t object)
{
	int type = v8__type(v8, object);

	return type >= 0 && type < v8->types[V8_TYPE_NONSTRING];
}

static int32_t position_of(uint64_t begin, uint64_t end)
{
	return v8__is_number(begin) && v8__is_number(end) && begin <= end && end <= INT64_MAX
		       ? (int32_t)(begin >> 32)
		       : -1;
}

/*
 * Behind the variables of a scope come the name of the function and a number, the inferred name
 * and, in older versions, the position. A number may precede them.
 */
static void read_scope(const struct v8 *v8, uint64_t scope, struct said *said)
{
	uint32_t first = v8->layout->scope_first, at;
	uint64_t words[NAME_WORDS], count, position[2];

	count = v8__word(v8, scope, SCOPE_WORDS + 8 * SCOPE_VARIABLES);
	if (!v8__is_number(count) || count >> 32 > MOST_VARIABLES)
		return;
	count >>= 32;
	/* The names of many variables are in a table of their own. */
	if (count >= MOST_IN_PLACE && !is_string(v8, v8__word(v8, scope, SCOPE_WORDS + 8 * first)))
		first += 1 + (uint32_t)count;
	else
		first += 2 * (uint32_t)count;
	if (v8__read(v8, scope, SCOPE_WORDS + 8 * first, words, sizeof(words)))
		return;
	for (at = 0; at < 3 && !is_string(v8, words[at]); at++)
		;
	if (at == 3)
		return;
	(void)v8_text__read(v8, words[at], said->name, sizeof(said->name));
	if (!said->name[0] && is_string(v8, words[at + 2]))
		(void)v8_text__read(v8, words[at + 2], said->name, sizeof(said->name));
	if (v8->layout->scope_first <= SCOPE_POSITION)
		said->begin = position_of(words[at + 3], words[at + 4]);
	else if (!v8__read(v8, scope, SCOPE_WORDS + 8 * SCOPE_POSITION, position, sizeof(position)))
		said->begin = position_of(position[0], position[1]);
}

int v8_function__id(const struct v8 *v8, uint64_t function)
{
	uint32_t id;

	return v8__read(v8, function, v8->layout->shared_flags + 4u, &id, sizeof(id))
		       ? -1
		       : (int)V8_COOKIE_ID(V8_COOKIE(0, id, 0));
}

int v8_function__name(struct v8 *v8, const struct v8_place *place, struct runtime_names *ret)
{
	struct said said = { .begin = -1 };
	char file[RUNTIME_MOST_NAME] = "";
	int line = 0, first_line = 0;
	uint64_t name, script;

	if (!v8__is(v8, place->function, V8_TYPE_SHARED))
		return -ESTALE;
	name = v8__word(v8, place->function, v8->layout->shared_name);
	if (v8__is(v8, name, V8_TYPE_SCOPE))
		read_scope(v8, name, &said);
	else if (is_string(v8, name))
		(void)v8_text__read(v8, name, said.name, sizeof(said.name));
	script = v8__word(v8, place->function, v8->layout->shared_script);
	if (v8__is(v8, script, V8_TYPE_SCRIPT)) {
		if (v8_text__read(v8, v8__word(v8, script, SCRIPT_NAME), file, sizeof(file)))
			file[0] = '\0';
		line = v8_lines__find(v8, script, place->position);
		first_line = v8_lines__find(v8, script, said.begin);
	}
	runtime_names__add(ret, said.name[0] ? said.name : ANONYMOUS, file, line, first_line);
	return 0;
}
