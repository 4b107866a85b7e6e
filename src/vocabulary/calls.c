/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vocabulary/calls.h"

#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vocabulary/calls.def"
#include "vocabulary/slots.h"

#define NAME_BYTES 32

#define CHOICE true
#define NEED   false

#define CALL_WORDS(name, class, arguments, by_choice) { name, CLASS_##class, arguments, by_choice },

static const struct call_words {
	const char *name;
	enum ledger_class class;
	const char *arguments;
	bool by_choice;
} words[] = { CALLS(CALL_WORDS) };

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/*
 * Calls that older versions of libseccomp do not know. Calls added since Linux 5.1 have the same
 * number on all architectures.
 */
static const struct {
	const char *name;
	int number;
} young[] = { { "futex_wake", 454 }, { "futex_wait", 455 }, { "futex_requeue", 456 } };

int calls__number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number < 0 && i < COUNT(young); i++)
		if (!strcmp(young[i].name, name))
			number = young[i].number;
	return number;
}

/* Above CALL_NUMBERS (a cast negative number) if this architecture has no such syscall. */
static uint32_t number_of(const char *name)
{
	return (uint32_t)calls__number(name);
}

const char *calls__name(uint32_t number)
{
	static char unknown[NAME_BYTES];
	static const char *names[CALL_NUMBERS]; /* cache, never freed */

	if (number == CALL_32BIT)
		return "(32-bit call)";
	if (number < CALL_NUMBERS && !names[number])
		names[number] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
	for (size_t i = 0; number < CALL_NUMBERS && !names[number] && i < COUNT(young); i++)
		if (young[i].number == (int)number)
			names[number] = young[i].name;
	if (number < CALL_NUMBERS && names[number])
		return names[number];
	snprintf(unknown, sizeof(unknown), "syscall_%u", number);
	return unknown;
}

bool calls__is_by_choice(const char *name)
{
	for (size_t i = 0; i < COUNT(words); i++)
		if (!strcmp(words[i].name, name))
			return words[i].by_choice;
	return false;
}

/* NULL if the call is not in calls.def. */
static const struct call_words *find(uint32_t number)
{
	static const struct call_words *found[CALL_NUMBERS];
	static bool is_filled;

	for (size_t i = 0; i < COUNT(words) && !is_filled; i++)
		if (number_of(words[i].name) < CALL_NUMBERS)
			found[number_of(words[i].name)] = &words[i];
	is_filled = true;
	return number < CALL_NUMBERS ? found[number] : NULL;
}

const char *calls__arguments(uint32_t number)
{
	const struct call_words *call = find(number);

	return call ? call->arguments : "";
}

void calls__classes(uint8_t classes[CALL_NUMBERS])
{
	for (uint32_t i = 0; i < CALL_NUMBERS; i++)
		classes[i] = (uint8_t)(find(i) ? find(i)->class : CLASS_OTHER);
}

#define TALK_WORDS(name, talk, bytes) { name, TALK_##talk, BYTES_##bytes },

static const struct {
	const char *name;
	enum ledger_talk talk;
	enum ledger_bytes bytes;
} talks_of[] = { CALLS_TALK(TALK_WORDS) };

void calls__talks(uint8_t talks[CALL_NUMBERS])
{
	memset(talks, TALK_NONE, CALL_NUMBERS);
	for (size_t i = 0; i < COUNT(talks_of); i++)
		if (number_of(talks_of[i].name) < CALL_NUMBERS)
			talks[number_of(talks_of[i].name)] = (uint8_t)talks_of[i].talk;
}

void calls__bytes(uint8_t bytes[CALL_NUMBERS])
{
	memset(bytes, BYTES_NONE, CALL_NUMBERS);
	for (size_t i = 0; i < COUNT(talks_of); i++)
		if (number_of(talks_of[i].name) < CALL_NUMBERS)
			bytes[number_of(talks_of[i].name)] = (uint8_t)talks_of[i].bytes;
}

static struct call_shape shape_of(const struct call_words *call)
{
	struct call_shape shape = { .idle = call->by_choice };
	int paths = 0;

	for (uint8_t i = 0; call->arguments[i]; i++) {
		char argument = call->arguments[i];

		if ((argument == 'f' || argument == 'd') && !shape.fd)
			shape.fd = i + 1;
		if (argument == 'p' && paths < CALL_PATHS)
			shape.path[paths++] = i + 1;
	}
	return shape;
}

void calls__shapes(struct call_shape ret[CALL_NUMBERS])
{
	for (uint32_t i = 0; i < CALL_NUMBERS; i++)
		ret[i] = find(i) ? shape_of(find(i)) : (struct call_shape) {};
}
