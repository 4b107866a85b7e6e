/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns spans of places into the tables of bpf/unwind.h: sorts the spans, resolves overlaps, cuts
 * them into blocks, and packs the rows of the blocks into pages.
 *
 * If FDEs overlap, code belongs to the FDE with the last begin before it, as in the search of the
 * C++ runtime (.eh_frame_hdr). If two FDEs begin at the same address, the first one wins.
 * .debug_frame covers only what .eh_frame does not.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "stacks/cfi.h"

struct table {
	struct rows rows;
	size_t row_page_room;
	unsigned last_used; /* rows in the last page */
	/* The block being filled. is_open: it has rows. */
	bool is_open;
	uint64_t number;
	uint64_t end; /* of the code that has rows in this block */
	unsigned count;
	struct unwind_row block[UNWIND_BLOCK_BYTES];
};

/* --- overlaps ------------------------------------------------------------------------------- */

static int compare_spans(const void *left, const void *right)
{
	const struct span *a = left, *b = right;

	if (a->begin != b->begin)
		return a->begin < b->begin ? -1 : 1;
	if (a->is_debug != b->is_debug)
		return a->is_debug ? 1 : -1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static void drop_same_begins(struct frames *frames)
{
	size_t kept = 0;

	for (size_t i = 0; i < frames->span_count; i++)
		if (!kept || frames->spans[kept - 1].begin != frames->spans[i].begin)
			frames->spans[kept++] = frames->spans[i];
	frames->span_count = kept;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Afterwards the spans are sorted; a span that lost all of its code has begin ≥ end. */
static void resolve_overlaps(struct frames *frames)
{
	uint64_t next = UINT64_MAX, next_eh = UINT64_MAX, end_eh = 0;

	qsort(frames->spans, frames->span_count, sizeof(*frames->spans), compare_spans);
	drop_same_begins(frames);
	for (size_t i = frames->span_count; i--;) {
		struct span *span = &frames->spans[i];

		span->end = least(span->end, span->is_debug ? next : next_eh);
		next = span->begin;
		if (!span->is_debug)
			next_eh = span->begin;
	}
	for (size_t i = 0; i < frames->span_count; i++) {
		struct span *span = &frames->spans[i];

		if (!span->is_debug)
			end_eh = span->end;
		else if (span->begin < end_eh)
			span->begin = end_eh;
	}
}

/* --- blocks --------------------------------------------------------------------------------- */

static int add_page(struct table *table)
{
	struct rows *rows = &table->rows;
	size_t wanted = table->row_page_room ? table->row_page_room * 2 : 4;
	struct unwind_page *bigger;

	if (rows->row_page_count == table->row_page_room) {
		bigger = reallocarray(rows->row_pages, wanted, sizeof(*bigger));
		if (!bigger)
			return -ENOMEM;
		rows->row_pages = bigger;
		table->row_page_room = wanted;
	}
	memset(&rows->row_pages[rows->row_page_count++], 0, sizeof(struct unwind_page));
	table->last_used = 0;
	return 0;
}

static void add_row(struct table *table, uint64_t address, struct unwind_row row)
{
	row.pc = address & (UNWIND_BLOCK_BYTES - 1);
	if (table->count) {
		const struct unwind_row *last = &table->block[table->count - 1];

		if (last->kind == row.kind && last->bp == row.bp && last->link == row.link &&
		    last->offset == row.offset)
			return;
	}
	table->block[table->count++] = row;
}

/* Code between the last row and `address`, in the same block, has no FDE. */
static void add_gap(struct table *table, uint64_t address)
{
	if (table->end < address)
		add_row(table, table->end, (struct unwind_row) { .kind = UNWIND_NONE });
}

/* The block has more rows than fit into a page; real code never has so many. Cuts them. */
static void shorten(struct table *table)
{
	struct unwind_row *last = &table->block[UNWIND_PAGE_ROWS - 1];

	*last = (struct unwind_row) { .pc = last->pc, .kind = UNWIND_UNSUPPORTED };
	table->count = UNWIND_PAGE_ROWS - (last[-1].kind == UNWIND_UNSUPPORTED);
	table->rows.broken_count++;
}

/* Completes the block: puts its rows into a page that has room for all. */
static int close_block(struct table *table)
{
	struct rows *rows = &table->rows;
	struct unwind_block *block;
	struct unwind_page *page;

	if (!table->is_open)
		return 0;
	add_gap(table, (table->number + 1) << UNWIND_BLOCK_BITS);
	if (table->count > UNWIND_PAGE_ROWS)
		shorten(table);
	if ((!rows->row_page_count || table->last_used + table->count > UNWIND_PAGE_ROWS) &&
	    add_page(table))
		return -ENOMEM;
	page = &rows->row_pages[rows->row_page_count - 1];
	memcpy(&page->rows[table->last_used], table->block, table->count * sizeof(*table->block));
	block = &rows->block_pages[table->number / UNWIND_PAGE_BLOCKS]
			 .blocks[table->number % UNWIND_PAGE_BLOCKS];
	block->page = (uint32_t)(rows->row_page_count - 1);
	block->first = (uint16_t)table->last_used;
	block->count = (uint16_t)table->count;
	table->last_used += table->count;
	rows->row_count += table->count;
	for (unsigned i = 0; i < table->count; i++)
		rows->unsupported_count += table->block[i].kind == UNWIND_UNSUPPORTED;
	table->is_open = false;
	return 0;
}

/* [begin, end) has this row. It follows all ranges added before. */
static int add_range(struct table *table, uint64_t begin, uint64_t end, struct unwind_row row)
{
	while (begin < end) {
		uint64_t number = begin >> UNWIND_BLOCK_BITS;

		if (!table->is_open || number != table->number) {
			if (close_block(table))
				return -ENOMEM;
			table->is_open = true;
			table->number = number;
			table->end = number << UNWIND_BLOCK_BITS;
			table->count = 0;
		}
		add_gap(table, begin);
		add_row(table, begin, row);
		begin = table->end = least(end, (number + 1) << UNWIND_BLOCK_BITS);
	}
	return 0;
}

static int add_span(struct table *table, const struct frames *frames, const struct span *span)
{
	const struct place *places = &frames->places[span->first];

	for (uint32_t i = 0; i < span->count; i++) {
		uint64_t begin = places[i].address, end = span->end;

		if (begin < span->begin)
			begin = span->begin;
		if (i + 1 < span->count)
			end = least(end, places[i + 1].address);
		if (add_range(table, begin, end, places[i].row))
			return -ENOMEM;
	}
	return 0;
}

static int add_block_pages(struct rows *rows, uint64_t end)
{
	size_t count = ((end - 1) >> UNWIND_BLOCK_BITS) / UNWIND_PAGE_BLOCKS + 1;

	rows->block_pages = calloc(count, sizeof(*rows->block_pages));
	if (!rows->block_pages)
		return -ENOMEM;
	rows->block_page_count = count;
	return 0;
}

/* Frees the memory that the growing array does not use. */
static void trim(struct rows *rows)
{
	void *smaller =
		reallocarray(rows->row_pages, rows->row_page_count, sizeof(*rows->row_pages));

	if (smaller)
		rows->row_pages = smaller;
}

static void release_table(struct table *table)
{
	rows__release(&table->rows);
}

int cfi_table__build(struct frames *frames, struct rows *ret)
{
	cleanup(release_table) struct table table = {};
	uint64_t end = 0;

	if (!frames->span_count)
		return -ENODATA;
	resolve_overlaps(frames);
	/* Blocks for all of the code, so that code without an FDE is known to have no rows. */
	for (size_t i = 0; i < frames->code_count; i++)
		if (frames->code[i].end > end)
			end = frames->code[i].end;
	if (add_block_pages(&table.rows, end))
		return -ENOMEM;
	table.rows.broken_count = frames->broken_count;
	for (size_t i = 0; i < frames->span_count; i++)
		if (add_span(&table, frames, &frames->spans[i]))
			return -ENOMEM;
	if (close_block(&table))
		return -ENOMEM;
	trim(&table.rows);
	*ret = table.rows;
	table.rows = (struct rows) {};
	return 0;
}
