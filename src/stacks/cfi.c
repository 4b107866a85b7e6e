/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the FDEs ("descriptions") and CIEs ("common") of .eh_frame and .debug_frame. A section is
 * read once, from its start. A CIE precedes its FDEs, so a search for a CIE looks only at what was
 * already read. The time is linear in the size of the section, whatever the section contains.
 */
#include "stacks/cfi.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

/*
 * Limits, so that a hostile file needs at most half a GB for a moment. libLLVM 19, one of the
 * largest libraries, has 1.1 million places and 0.1 million spans.
 */
#define MOST_SPANS  (2U << 20)
#define MOST_PLACES (8U << 20)
#define MOST_COMMON (1U << 20)

/* The parts of a pointer encoding; dwarf.h has the values. */
#define ENCODING_FORMAT(e) ((e) & 0x0f)
#define ENCODING_BASE(e)   ((e) & 0x70)

struct reader {
	const struct section *section;
	struct frames *frames;
	struct common *commons; /* sorted by offset */
	size_t common_count, common_room;
	const struct common *last; /* the last one looked up, or NULL */
};

/* --- the result ------------------------------------------------------------------------------- */

static int grow(void *array, size_t *room, size_t count, size_t most, size_t size)
{
	size_t wanted = *room ? *room * 2 : 256;
	void *bigger;

	if (count < *room)
		return 0;
	if (count >= most)
		return -EFBIG;
	bigger = reallocarray(*(void **)array, wanted, size);
	if (!bigger)
		return -ENOMEM;
	*(void **)array = bigger;
	*room = wanted;
	return 0;
}

void frames__release(struct frames *frames)
{
	free(frames->spans);
	free(frames->places);
	*frames = (struct frames) {};
}

int frames__add_place(struct frames *frames, const struct span *span, uint64_t address,
		      struct unwind_row row)
{
	struct place *last;
	int err;

	if (frames->place_count > span->first) {
		last = &frames->places[frames->place_count - 1];
		if (!memcmp(&last->row, &row, sizeof(row)))
			return 0;
	}
	err = grow(&frames->places, &frames->place_room, frames->place_count, MOST_PLACES,
		   sizeof(*frames->places));
	if (err)
		return err;
	frames->places[frames->place_count++] = (struct place) { .address = address, .row = row };
	return 0;
}

int frames__add_span(struct frames *frames, const struct span *span)
{
	int err = grow(&frames->spans, &frames->span_room, frames->span_count, MOST_SPANS,
		       sizeof(*frames->spans));

	if (err)
		return err;
	frames->spans[frames->span_count++] = *span;
	return 0;
}

bool frames__clip(const struct frames *frames, struct span *span)
{
	for (size_t i = 0; i < frames->code_count; i++) {
		const struct segment *code = &frames->code[i];

		if (span->begin < code->begin || span->begin >= code->end)
			continue;
		if (span->end > code->end)
			span->end = code->end;
		return true;
	}
	return false;
}

/* --- pointers ------------------------------------------------------------------------------- */

static uint64_t read_format(struct cursor *cursor, uint8_t encoding)
{
	switch (ENCODING_FORMAT(encoding)) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cursor__fixed(cursor, 8);
	case DW_EH_PE_udata4:
		return cursor__fixed(cursor, 4);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cursor__fixed(cursor, 4);
	case DW_EH_PE_udata2:
		return cursor__fixed(cursor, 2);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cursor__fixed(cursor, 2);
	case DW_EH_PE_uleb128:
		return cursor__unsigned(cursor);
	case DW_EH_PE_sleb128:
		return (uint64_t)cursor__signed(cursor);
	default:
		cursor->bad = true;
		return 0;
	}
}

uint64_t cfi__pointer(const struct section *section, struct cursor *cursor, uint8_t encoding)
{
	uint64_t at =
		section->address + (uint64_t)(cursor->at - (const uint8_t *)section->data->d_buf);
	uint64_t value = read_format(cursor, encoding);

	if (encoding & DW_EH_PE_indirect)
		cursor->bad = true;
	switch (ENCODING_BASE(encoding)) {
	case DW_EH_PE_absptr:
		return value;
	case DW_EH_PE_pcrel:
		return value + at;
	case DW_EH_PE_datarel:
		return value + section->data_base;
	default:
		cursor->bad = true;
		return 0;
	}
}

/* --- CIEs ------------------------------------------------------------------------------------- */

/* Reads the augmentation string, and the data of each letter. -EBADMSG for an unknown letter. */
static int read_augmentation(const Dwarf_CIE *cie, struct common *ret)
{
	const uint8_t *data = cie->augmentation_data;
	struct cursor cursor = { .at = data,
				 .end = data + (data ? cie->augmentation_data_size : 0) };

	ret->encoding = DW_EH_PE_absptr;
	for (const char *letter = cie->augmentation; *letter; letter++) {
		if (*letter == 'z')
			ret->is_sized = true;
		else if (*letter == 'R')
			ret->encoding = cursor__byte(&cursor);
		else if (*letter == 'P')
			read_format(&cursor, cursor__byte(&cursor));
		else if (*letter == 'L')
			cursor__byte(&cursor);
		else if (*letter == 'S')
			ret->is_signal = true;
		else if (*letter != 'B' || !ARCH_SIGNS_RETURN) /* signed with key B */
			return -EBADMSG;
	}
	/* Without 'z' there is no size, so the extra data of the FDEs cannot be skipped. */
	if (*cie->augmentation && *cie->augmentation != 'z')
		return -EBADMSG;
	return cursor.bad ? -EBADMSG : 0;
}

static int read_common(struct reader *reader, uint64_t offset, const Dwarf_CIE *cie)
{
	struct common common = {
		.offset = offset,
		.code_align = cie->code_alignment_factor,
		.data_align = cie->data_alignment_factor,
	};
	struct cursor code = { .at = cie->initial_instructions,
			       .end = cie->initial_instructions_end };
	int err;

	if (cie->return_address_register != ARCH_DWARF_RETURN)
		return -EBADMSG;
	err = read_augmentation(cie, &common);
	if (!err && !common.is_signal)
		err = program__run_initial(reader->section, &common, code, &common.begins);
	if (!err)
		err = grow(&reader->commons, &reader->common_room, reader->common_count,
			   MOST_COMMON, sizeof(*reader->commons));
	if (err)
		return err;
	reader->commons[reader->common_count++] = common;
	reader->last = NULL; /* the array may have moved */
	return 0;
}

static int compare_offset(const void *key, const void *element)
{
	const struct common *common = element;
	uint64_t offset = *(const uint64_t *)key;

	return offset < common->offset ? -1 : offset > common->offset;
}

static const struct common *find_common(struct reader *reader, uint64_t offset)
{
	if (reader->last && reader->last->offset == offset)
		return reader->last;
	if (!reader->common_count)
		return NULL;
	reader->last = bsearch(&offset, reader->commons, reader->common_count,
			       sizeof(*reader->commons), compare_offset);
	return reader->last;
}

/* --- FDEs ------------------------------------------------------------------------------------- */

static int run_description(struct reader *reader, const struct common *common, struct cursor code,
			   struct span *span)
{
	struct frames *frames = reader->frames;

	if (common->is_signal)
		return frames__add_place(frames, span, span->begin,
					 (struct unwind_row) { .kind = UNWIND_SIGNAL });
	return program__run(reader->section, common, code, span, frames);
}

static int read_description(struct reader *reader, const Dwarf_FDE *fde)
{
	const struct common *common = find_common(reader, fde->CIE_pointer);
	struct cursor cursor = { .at = fde->start, .end = fde->end };
	struct frames *frames = reader->frames;
	struct span span = { .first = (uint32_t)frames->place_count,
			     .is_debug = reader->section->is_debug };
	uint64_t size;
	int err;

	if (!common)
		return -EBADMSG;
	span.begin = cfi__pointer(reader->section, &cursor, common->encoding);
	size = read_format(&cursor, common->encoding);
	if (common->is_sized)
		cursor__block(&cursor, cursor__unsigned(&cursor));
	if (cursor.bad || __builtin_add_overflow(span.begin, size, &span.end))
		return -EBADMSG;
	/* Linkers leave FDEs of dropped functions: with size 0, or in .debug_frame at address 0. */
	if (!size || (span.is_debug && !span.begin))
		return 0;
	if (!frames__clip(frames, &span))
		return -EBADMSG;
	err = run_description(reader, common, cursor, &span);
	if (err) {
		frames->place_count = span.first;
		return err;
	}
	span.count = (uint32_t)(frames->place_count - span.first);
	return frames__add_span(frames, &span);
}

static void release_reader(struct reader *reader)
{
	free(reader->commons);
}

int cfi__read(const struct section *section, struct frames *frames)
{
	cleanup(release_reader) struct reader reader = { .section = section, .frames = frames };
	Dwarf_Off offset = 0, next;
	Dwarf_CFI_Entry entry;
	int got, err;

	for (; offset < section->data->d_size; offset = next) {
		next = offset;
		got = dwarf_next_cfi(section->ident, section->data, !section->is_debug, offset,
				     &next, &entry);
		if (got > 0)
			break;
		if (got < 0)
			err = -EBADMSG;
		else if (dwarf_cfi_cie_p(&entry))
			err = read_common(&reader, offset, &entry.cie);
		else
			err = read_description(&reader, &entry.fde);
		if (err && err != -EBADMSG)
			return err;
		frames->broken_count += err != 0;
		/* If the size of an entry is invalid, the following entries cannot be found. */
		if (next <= offset)
			break;
	}
	return 0;
}
