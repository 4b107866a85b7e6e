/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of methods. A Method leads to its ConstMethod, which has the lines, and to the constant
 * pool, which has its name, its class and the file. Lines are a stream behind the bytecode: each
 * entry says how far its position and its line are from those of the entry before.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/hotspot_frames.h"
#include "runtimes/hotspot_method.h"

#define MOST_SYMBOL     250
#define MOST_NUMBER     5 /* bytes of a number */
#define LINE_BYTES      256
#define MOST_LINE_BYTES 65536
#define LINE_LONG       0xff
#define HAS_LINES       1  /* the first of ConstMethod's flags */
#define LEAST_SHIFTED   20 /* since this version, no byte of a number is 0 */

/* --- numbers -------------------------------------------------------------------------------- */

/* A number of up to five bytes of 6 bits; only the last one is below 192. */
bool hotspot_numbers__next(struct hotspot_numbers *numbers, uint32_t *ret)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < MOST_NUMBER; i++) {
		uint32_t byte;

		if (numbers->at >= numbers->size || numbers->bytes[numbers->at] < numbers->least)
			return false;
		byte = numbers->bytes[numbers->at++];
		sum += (byte - numbers->least) << 6 * i;
		if (byte < 192)
			break;
	}
	*ret = sum;
	return true;
}

static bool next_signed(struct hotspot_numbers *numbers, int64_t *ret)
{
	uint32_t number;

	if (!hotspot_numbers__next(numbers, &number))
		return false;
	*ret = (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
	return true;
}

uint32_t hotspot_numbers__least(const struct hotspot *hotspot)
{
	return hotspot->major >= LEAST_SHIFTED;
}

/* --- methods -------------------------------------------------------------------------------- */

static int read_symbol(struct subject *subject, uint64_t symbol, char *to, size_t size)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t bytes;
	int err = hotspot__read_field(subject, hotspot, symbol, HOTSPOT_SYMBOL_BYTES, &bytes);

	if (err)
		return err;
	bytes = bytes < size ? bytes : size - 1;
	err = remote__read(subject->memory, symbol + hotspot->fields[HOTSPOT_SYMBOL_TEXT].value, to,
			   bytes);
	if (err)
		return err;
	to[bytes] = '\0';
	return 0;
}

/* A text in the constant pool. Entries can have their lowest bit set. */
static int read_constant(struct subject *subject, uint64_t pool, uint64_t index, char *to,
			 size_t size)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t symbol;
	int err = remote__read_u64(subject->memory,
				   pool + hotspot->sizes[HOTSPOT_SIZE_OF_CONSTANT_POOL] + 8 * index,
				   &symbol);

	return err ?: read_symbol(subject, symbol & ~1ULL, to, size);
}

int hotspot_method__constant(struct subject *subject, uint64_t pool, uint64_t index, char *to,
			     size_t size)
{
	return read_constant(subject, pool, index, to, size);
}

int hotspot_method__class(struct subject *subject, uint64_t class, char *to, size_t size)
{
	char name[MOST_SYMBOL];
	uint64_t symbol;
	int err = hotspot__read_field(subject, subject->own, class, HOTSPOT_KLASS_NAME, &symbol);

	err = err ?: read_symbol(subject, symbol, name, sizeof(name));
	if (err)
		return err;
	hotspot__tidy_class(name);
	snprintf(to, size, "%s", name);
	return 0;
}

int hotspot_method__open(struct subject *subject, uint64_t address, struct hotspot_method *ret)
{
	const struct hotspot *hotspot = subject->own;
	int err = hotspot__read_field(subject, hotspot, address, HOTSPOT_METHOD_CONST,
				      &ret->constant);

	err = err
		      ?: hotspot__read_field(subject, hotspot, ret->constant, HOTSPOT_CONST_POOL,
					     &ret->pool);
	return err
		       ?: hotspot__read_field(subject, hotspot, ret->pool, HOTSPOT_POOL_HOLDER,
					      &ret->holder);
}

/* Class.method. Its class has '/' where the language has dots. */
static int read_function(struct subject *subject, const struct hotspot_method *method, char *to,
			 size_t size)
{
	const struct hotspot *hotspot = subject->own;
	char class[MOST_SYMBOL], name[MOST_SYMBOL];
	uint64_t symbol, index;
	int err =
		hotspot__read_field(subject, hotspot, method->holder, HOTSPOT_KLASS_NAME, &symbol);

	err = err ?: read_symbol(subject, symbol, class, sizeof(class));
	err = err
		      ?: hotspot__read_field(subject, hotspot, method->constant, HOTSPOT_CONST_NAME,
					     &index);
	err = err ?: read_constant(subject, method->pool, index, name, sizeof(name));
	if (err)
		return err;
	hotspot__tidy_class(class);
	snprintf(to, size, "%s.%s", class, name);
	return 0;
}

/* The name of the source file, without folders; "" if the class does not tell. */
static void read_file(struct subject *subject, const struct hotspot_method *method, char *to,
		      size_t size)
{
	const struct hotspot *hotspot = subject->own;
	bool in_pool = hotspot->fields[HOTSPOT_POOL_FILE].is_found;
	uint64_t index = 0;

	*to = '\0';
	if (!in_pool && !hotspot->fields[HOTSPOT_KLASS_FILE].is_found)
		return;
	if (hotspot__read_field(subject, hotspot, in_pool ? method->pool : method->holder,
				in_pool ? HOTSPOT_POOL_FILE : HOTSPOT_KLASS_FILE, &index) ||
	    !index || read_constant(subject, method->pool, index, to, size))
		*to = '\0';
}

/* --- lines ---------------------------------------------------------------------------------- */

struct lines {
	int64_t index, line; /* where the stream has come to */
	int64_t wanted;      /* position in the bytecode */
	int64_t found_index, found, first;
};

/* One entry. `ret_over`: it was the end. False: there are not enough bytes. */
static bool next_line(struct hotspot_numbers *numbers, struct lines *lines, bool *ret_over)
{
	int64_t index, line;
	unsigned char byte;

	if (numbers->at >= numbers->size)
		return false;
	byte = numbers->bytes[numbers->at++];
	*ret_over = !byte;
	if (*ret_over)
		return true;
	if (byte == LINE_LONG) {
		if (!next_signed(numbers, &index) || !next_signed(numbers, &line))
			return false;
	} else {
		index = byte >> 3;
		line = byte & 7;
	}
	lines->index += index;
	lines->line += line;
	if (lines->first < 0)
		lines->first = lines->line;
	/* Entries need not be sorted: the last one before the position counts. */
	if (lines->index <= lines->wanted && lines->index >= lines->found_index) {
		lines->found_index = lines->index;
		lines->found = lines->line;
	}
	return true;
}

/* The stream has no length, so it is read in pieces up to its end. */
static void walk_lines(struct subject *subject, uint64_t address, struct lines *lines)
{
	unsigned char bytes[LINE_BYTES];
	uint64_t done = 0;

	while (done < MOST_LINE_BYTES) {
		struct hotspot_numbers numbers = { bytes, sizeof(bytes), 0,
						   hotspot_numbers__least(subject->own) };
		bool is_over = false;
		size_t whole = 0;

		while (numbers.size &&
		       remote__read(subject->memory, address + done, bytes, numbers.size))
			numbers.size /= 2;
		while (next_line(&numbers, lines, &is_over) && !is_over)
			whole = numbers.at;
		if (is_over || !whole)
			return;
		done += whole;
	}
}

static void find_line(struct subject *subject, const struct hotspot_method *method, uint64_t index,
		      struct lines *lines)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t flags, code_bytes;

	*lines = (struct lines) { .wanted = (int64_t)index, .first = -1 };
	if (hotspot__read_field(subject, hotspot, method->constant, HOTSPOT_CONST_FLAGS, &flags) ||
	    !(flags & HAS_LINES) ||
	    hotspot__read_field(subject, hotspot, method->constant, HOTSPOT_CONST_CODE_BYTES,
				&code_bytes))
		return;
	walk_lines(subject,
		   method->constant + hotspot->sizes[HOTSPOT_SIZE_OF_CONST_METHOD] + code_bytes,
		   lines);
}

int hotspot_method__add(struct subject *subject, const struct hotspot_method *method,
			uint64_t index, struct runtime_names *names)
{
	char function[RUNTIME_MOST_NAME], file[RUNTIME_MOST_NAME];
	struct lines lines;
	int err = read_function(subject, method, function, sizeof(function));

	if (err)
		return err;
	read_file(subject, method, file, sizeof(file));
	find_line(subject, method, index == HOTSPOT_NO_INDEX ? 0 : index, &lines);
	runtime_names__add(names, function, file, index == HOTSPOT_NO_INDEX ? 0 : (int)lines.found,
			   (int)lines.first);
	return 0;
}

/* --- names of classes ----------------------------------------------------------------------- */

/* Ends `text` where digits follow one of the words that the JDK numbers. */
static void cut_number(char *text)
{
	static const char *const words[] = {
		"$$Lambda$",
		"GeneratedMethodAccessor",
		"GeneratedConstructorAccessor",
		"GeneratedSerializationConstructorAccessor",
		"$Proxy",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		char *word = strstr(text, words[i]);
		char *digits = word ? word + strlen(words[i]) : NULL;

		if (!word || !*digits || digits[strspn(digits, "0123456789")])
			continue;
		*digits = '\0';
		/* "Shop$$Lambda$" is written as since version 21: "Shop$$Lambda". */
		if (!i)
			digits[-1] = '\0';
		return;
	}
}

void hotspot__tidy_class(char *name)
{
	char *mark = strstr(name, "+0x");

	if (!mark)
		mark = strstr(name, "/0x");
	if (mark && !mark[3 + strspn(mark + 3, "0123456789abcdefABCDEF")])
		*mark = '\0';
	mark = strrchr(name, '/');
	if (mark && mark[1] && !mark[1 + strspn(mark + 1, "0123456789")])
		*mark = '\0';
	cut_number(name);
	for (char *at = name; *at; at++)
		if (*at == '/')
			*at = '.';
}
