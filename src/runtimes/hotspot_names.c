/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of HotSpot's frames. A Method leads to its ConstMethod, which has the lines, and to the
 * constant pool, which has its name, its class and the file. A compiled method tells for each call,
 * and for other places where a thread can stop for the garbage collector, which functions were
 * inlined there: PcDesc says where the description begins ("scope"), and a scope has the number of
 * the method, the position in its bytecode and the scope of its caller.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/hotspot_frames.h"
#include "runtimes/hotspot.h"

#define MOST_SYMBOL      250
#define MOST_SCOPE_BYTES 16 /* of three numbers */
#define MOST_NUMBER      5  /* bytes of a number */
#define LINE_BYTES       256
#define MOST_LINE_BYTES  65536
#define LINE_LONG        0xff
#define HAS_LINES        1  /* the first of ConstMethod's flags */
#define LEAST_SHIFTED    20 /* since this version, no byte of a number is 0 */
#define MOST_SEARCH      32

/* A Method, and what its names are read from. */
struct method {
	uint64_t constant, pool, holder;
};

/* --- numbers -------------------------------------------------------------------------------- */

/* Bytes of a stream that have been read. */
struct numbers {
	const unsigned char *bytes;
	size_t size, at;
	uint32_t least; /* of a byte */
};

/* A number of up to five bytes of 6 bits; only the last one is below 192. */
static bool next_number(struct numbers *numbers, uint32_t *ret)
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

static bool next_signed(struct numbers *numbers, int64_t *ret)
{
	uint32_t number;

	if (!next_number(numbers, &number))
		return false;
	*ret = (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
	return true;
}

static uint32_t least_byte(const struct hotspot *hotspot)
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

static int open_method(struct subject *subject, uint64_t address, struct method *ret)
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
static int read_function(struct subject *subject, const struct method *method, char *to,
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
static void read_file(struct subject *subject, const struct method *method, char *to, size_t size)
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
static bool next_line(struct numbers *numbers, struct lines *lines, bool *ret_over)
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
		struct numbers numbers = { bytes, sizeof(bytes), 0, least_byte(subject->own) };
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

static void find_line(struct subject *subject, const struct method *method, uint64_t index,
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

/* `index`: HOTSPOT_NO_INDEX if it is not known. */
static int add_method(struct subject *subject, const struct method *method, uint64_t index,
		      struct runtime_names *names)
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

/* --- compiled methods ----------------------------------------------------------------------- */

/* The parts of a compiled method. */
struct compiled {
	uint64_t blob, method;
	uint64_t scopes, metadata; /* addresses */
	uint64_t pcs;
	uint32_t pc_count;
};

static int read_offset(struct subject *subject, uint64_t blob, enum hotspot_field_id id,
		       uint64_t base, uint64_t *ret)
{
	uint64_t offset;
	int err = hotspot__read_field(subject, subject->own, blob, id, &offset);

	if (!err)
		*ret = base + offset;
	return err;
}

/*
 * The numbers of methods in scopes are places in this table. It has been in the blob, in the blob's
 * data, and behind the relocations in a part that is not in the blob.
 */
static int find_metadata(struct subject *subject, struct compiled *compiled)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t base = compiled->blob;
	int err = 0;

	if (hotspot->fields[HOTSPOT_METADATA_OFFSET].is_found) {
		if (hotspot->fields[HOTSPOT_IMMUTABLE].is_found)
			err = read_offset(subject, compiled->blob, HOTSPOT_BLOB_DATA_OFFSET, base,
					  &base);
		return err
			       ?: read_offset(subject, compiled->blob, HOTSPOT_METADATA_OFFSET,
					      base, &compiled->metadata);
	}
	if (!hotspot->fields[HOTSPOT_BLOB_MUTABLE].is_found ||
	    !hotspot->fields[HOTSPOT_BLOB_RELOCATION].is_found)
		return -ENOTSUP;
	err = hotspot__read_field(subject, hotspot, compiled->blob, HOTSPOT_BLOB_MUTABLE, &base);
	return err
		       ?: read_offset(subject, compiled->blob, HOTSPOT_BLOB_RELOCATION, base,
				      &compiled->metadata);
}

/* Descriptions are in the blob, or in a part of their own behind the table of places. */
static int find_scopes(struct subject *subject, struct compiled *compiled)
{
	const struct hotspot *hotspot = subject->own;
	bool is_apart = hotspot->fields[HOTSPOT_IMMUTABLE].is_found;
	uint64_t base = compiled->blob, end, blob = compiled->blob;
	int err = 0;

	if (is_apart)
		err = hotspot__read_field(subject, hotspot, blob, HOTSPOT_IMMUTABLE, &base);
	err = err ?: read_offset(subject, blob, HOTSPOT_PCS_OFFSET, base, &compiled->pcs);
	if (err)
		return err;
	if (hotspot->fields[HOTSPOT_SCOPES_OFFSET].is_found)
		err = read_offset(subject, blob, HOTSPOT_SCOPES_OFFSET, base, &compiled->scopes);
	else if (hotspot->fields[HOTSPOT_SCOPES].is_found)
		err = hotspot__read_field(subject, hotspot, blob, HOTSPOT_SCOPES,
					  &compiled->scopes);
	else
		err = -ENOTSUP;
	if (err)
		return err;
	if (is_apart)
		end = compiled->scopes;
	else if (!hotspot->fields[HOTSPOT_PCS_END_OFFSET].is_found)
		return -ENOTSUP;
	else
		err = read_offset(subject, blob, HOTSPOT_PCS_END_OFFSET, base, &end);
	if (err)
		return err;
	if (end < compiled->pcs || end - compiled->pcs > INT32_MAX)
		return -ESTALE;
	compiled->pc_count =
		(uint32_t)((end - compiled->pcs) / hotspot->sizes[HOTSPOT_SIZE_OF_PC_DESC]);
	return 0;
}

static int read_pc(struct subject *subject, const struct compiled *compiled, uint32_t i,
		   enum hotspot_field_id id, int32_t *ret)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t value;
	int err = hotspot__read_field(subject, hotspot,
				      compiled->pcs + i * hotspot->sizes[HOTSPOT_SIZE_OF_PC_DESC],
				      id, &value);

	if (!err)
		*ret = (int32_t)value;
	return err;
}

/* The scope of the first place at or after `position`; 0: there is none. */
static uint32_t find_scope(struct subject *subject, const struct compiled *compiled,
			   uint32_t position)
{
	uint32_t low = 0, high = compiled->pc_count;
	int32_t value;

	for (int i = 0; i < MOST_SEARCH && low < high; i++) {
		uint32_t middle = low + (high - low) / 2;

		if (read_pc(subject, compiled, middle, HOTSPOT_PC_OFFSET, &value))
			return 0;
		if (value < 0 || (uint32_t)value < position)
			low = middle + 1;
		else
			high = middle;
	}
	if (low >= compiled->pc_count ||
	    read_pc(subject, compiled, low, HOTSPOT_PC_SCOPE, &value) || value < 0)
		return 0;
	return (uint32_t)value;
}

/* Adds the function of one scope and sets *scope to that of its caller; 0: there is none. */
static int add_scope(struct subject *subject, const struct compiled *compiled, uint32_t *scope,
		     struct runtime_names *names)
{
	unsigned char bytes[MOST_SCOPE_BYTES];
	struct numbers numbers = { bytes, sizeof(bytes), 0, least_byte(subject->own) };
	uint32_t sender, number, index;
	struct method method;
	uint64_t address;
	int err = remote__read(subject->memory, compiled->scopes + *scope, bytes, sizeof(bytes));

	if (err)
		return err;
	if (!next_number(&numbers, &sender) || !next_number(&numbers, &number) ||
	    !next_number(&numbers, &index) || !number)
		return -ESTALE;
	err = remote__read_u64(subject->memory, compiled->metadata + 8ULL * (number - 1), &address);
	err = err ?: open_method(subject, address, &method);
	/* The index is one more than in the bytecode; 0 is the entry of a synchronized method. */
	err = err ?: add_method(subject, &method, index ? index - 1 : 0, names);
	*scope = sender;
	return err;
}

static int name_compiled(struct subject *subject, uint64_t blob, uint32_t position,
			 struct runtime_names *names)
{
	struct compiled compiled = { .blob = blob };
	struct method method;
	uint32_t scope = 0;
	int err = hotspot__read_field(subject, subject->own, blob, HOTSPOT_COMPILED_METHOD,
				      &compiled.method);

	if (err)
		return err;
	/* Without scopes, the method itself is still known. */
	if (!find_scopes(subject, &compiled) && !find_metadata(subject, &compiled))
		scope = find_scope(subject, &compiled, position);
	while (scope && names->count < RUNTIME_MOST_INLINE)
		if (add_scope(subject, &compiled, &scope, names))
			break;
	if (names->count)
		return 0;
	err = open_method(subject, compiled.method, &method);
	return err ?: add_method(subject, &method, HOTSPOT_NO_INDEX, names);
}

/* --- frames --------------------------------------------------------------------------------- */

static int name_blob(struct subject *subject, const struct runtime_frame *frame,
		     struct runtime_names *names)
{
	const struct hotspot *hotspot = subject->own;
	char text[RUNTIME_MOST_NAME];
	uint64_t bytes, number;
	bool is_method;
	int err = hotspot__read_field(subject, hotspot, frame->object, HOTSPOT_BLOB_HEADER, &bytes);

	if (err)
		return err;
	is_method = bytes == hotspot->sizes[HOTSPOT_SIZE_OF_NMETHOD];
	err = hotspot__read_field(subject, hotspot, frame->object,
				  is_method ? HOTSPOT_COMPILE_ID : HOTSPOT_BLOB_NAME, &number);
	if (err)
		return err;
	if (HOTSPOT_COOKIE(number) != HOTSPOT_COOKIE(frame->cookie))
		return -ESTALE;
	if (is_method)
		return name_compiled(subject, frame->object, frame->position, names);
	err = remote__read_text(subject->memory, number, text, sizeof(text));
	if (err < 0)
		return err;
	runtime_names__add(names, text, NULL, 0, 0);
	return 0;
}

int hotspot__name(struct subject *subject, const struct runtime_frame *frame,
		  struct runtime_names *ret)
{
	struct method method;
	int err;

	if (frame->cookie & HOTSPOT_OF_BLOB)
		return name_blob(subject, frame, ret);
	err = open_method(subject, frame->object, &method);
	if (err)
		return err;
	if (HOTSPOT_COOKIE(method.constant >> 3) != frame->cookie)
		return -ESTALE;
	return add_method(subject, &method, frame->position, ret);
}

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
