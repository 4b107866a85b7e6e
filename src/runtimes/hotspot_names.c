/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of HotSpot's frames. A frame of the interpreter has a Method (hotspot_method.c). A compiled
 * method tells for each call, and for other places where a thread can stop for the garbage
 * collector, which functions were inlined there: PcDesc says where the description begins
 * ("scope"), and a scope has the number of the method, the position in its bytecode and the scope
 * of its caller.
 */
#include <errno.h>

#include "bpf/hotspot_frames.h"
#include "runtimes/hotspot_method.h"

#define MOST_SCOPE_BYTES 16 /* of three numbers */
#define MOST_SEARCH      32

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
	struct hotspot_numbers numbers = { bytes, sizeof(bytes), 0,
					   hotspot_numbers__least(subject->own) };
	uint32_t sender, number, index;
	struct hotspot_method method;
	uint64_t address;
	int err = remote__read(subject->memory, compiled->scopes + *scope, bytes, sizeof(bytes));

	if (err)
		return err;
	if (!hotspot_numbers__next(&numbers, &sender) ||
	    !hotspot_numbers__next(&numbers, &number) || !hotspot_numbers__next(&numbers, &index) ||
	    !number)
		return -ESTALE;
	err = remote__read_u64(subject->memory, compiled->metadata + 8ULL * (number - 1), &address);
	err = err ?: hotspot_method__open(subject, address, &method);
	/* The index is one more than in the bytecode; 0 is the entry of a synchronized method. */
	err = err ?: hotspot_method__add(subject, &method, index ? index - 1 : 0, names);
	*scope = sender;
	return err;
}

static int name_compiled(struct subject *subject, uint64_t blob, uint32_t position,
			 struct runtime_names *names)
{
	struct compiled compiled = { .blob = blob };
	struct hotspot_method method;
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
	err = hotspot_method__open(subject, compiled.method, &method);
	return err ?: hotspot_method__add(subject, &method, HOTSPOT_NO_INDEX, names);
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
	struct hotspot_method method;
	char class[RUNTIME_MOST_NAME];
	int err;

	if (frame->cookie == RUNTIME_CLASS_COOKIE) {
		err = hotspot_method__class(subject, frame->object, class, sizeof(class));
		if (!err)
			runtime_names__add(ret, class, NULL, 0, 0);
		return err;
	}
	if (frame->cookie & HOTSPOT_OF_BLOB)
		return name_blob(subject, frame, ret);
	err = hotspot_method__open(subject, frame->object, &method);
	if (err)
		return err;
	if (HOTSPOT_COOKIE(method.constant >> 3) != frame->cookie)
		return -ESTALE;
	return hotspot_method__add(subject, &method, frame->position, ret);
}
