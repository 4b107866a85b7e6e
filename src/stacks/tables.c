/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/tables.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf/unwind.h"

#define ELEMENT_BYTES 4096 /* the size of a map element that holds a page */
#define MOST_TRIES    100
#define TRY_AGAIN_US  200

/* A loaded module. */
struct table {
	struct module *module;
	size_t block_pages, row_pages;
};

struct tables {
	int pages_fd, asked_fd;
	uint64_t budget_bytes, bytes;
	struct table *list;
	size_t count, capacity;
	struct quality *quality;
};

int tables__new(int pages_fd, int asked_fd, uint64_t budget_bytes, struct quality *quality,
		struct tables **ret)
{
	struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return -ENOMEM;
	*tables = (struct tables) {
		.pages_fd = pages_fd,
		.asked_fd = asked_fd,
		.budget_bytes = budget_bytes,
		.quality = quality,
	};
	*ret = tables;
	return 0;
}

void tables__free(struct tables *tables)
{
	if (!tables)
		return;
	free(tables->list);
	free(tables);
}

int tables__update(int map_fd, const void *key, const void *value)
{
	int err = 0;

	for (int i = 0; i < MOST_TRIES; i++) {
		err = bpf_map_update_elem(map_fd, key, value, BPF_ANY);
		if (err != -ENOMEM && err != -EBUSY)
			break;
		usleep(TRY_AGAIN_US);
	}
	return err;
}

static uint64_t bytes_of(const struct table *table)
{
	return (table->block_pages + table->row_pages) * (uint64_t)ELEMENT_BYTES;
}

/* Deletes blocks first: a block in the map must never point to missing rows. */
static void take_out(struct tables *tables, const struct table *table)
{
	uint64_t key;

	for (size_t i = 0; i < table->block_pages; i++) {
		key = UNWIND_KEY(table->module->id, (uint32_t)i);
		bpf_map_delete_elem(tables->pages_fd, &key);
	}
	for (size_t i = 0; i < table->row_pages; i++) {
		key = UNWIND_KEY(table->module->id, UNWIND_ROWS | (uint32_t)i);
		bpf_map_delete_elem(tables->pages_fd, &key);
	}
}

/* Adds blocks last: a block in the map must never point to missing rows. */
static int put_in(struct tables *tables, const struct table *table, const struct rows *rows)
{
	uint64_t key;
	int err = 0;

	for (size_t i = 0; !err && i < table->row_pages; i++) {
		key = UNWIND_KEY(table->module->id, UNWIND_ROWS | (uint32_t)i);
		err = tables__update(tables->pages_fd, &key, &rows->row_pages[i]);
	}
	for (size_t i = 0; !err && i < table->block_pages; i++) {
		key = UNWIND_KEY(table->module->id, (uint32_t)i);
		err = tables__update(tables->pages_fd, &key, &rows->block_pages[i]);
	}
	if (err)
		take_out(tables, table);
	return err;
}

/* Removes a module. The kernel half may request it again. */
static void unload(struct tables *tables, struct table *table)
{
	struct module *module = table->module;
	uint64_t key = UNWIND_ASKED(UNWIND_NEED_MODULE, module->id);

	take_out(tables, table);
	tables->bytes -= bytes_of(table);
	*table = tables->list[--tables->count];
	/* In this order: when the kernel half can ask again, it must be MODULE_KNOWN. */
	module->state = MODULE_KNOWN;
	bpf_map_delete_elem(tables->asked_fd, &key);
}

/* Evicts the least recently used module. false: there is none left. */
static bool evict(struct tables *tables)
{
	struct table *oldest = NULL;

	for (size_t i = 0; i < tables->count; i++) {
		struct table *table = &tables->list[i];

		if (!oldest || table->module->used_ns < oldest->module->used_ns)
			oldest = table;
	}
	if (!oldest)
		return false;
	tables->quality->evicted++;
	oldest->module->evicted_ns = clock__now_ns();
	unload(tables, oldest);
	return true;
}

static int make_room(struct tables *tables)
{
	size_t capacity = tables->capacity ? 2 * tables->capacity : 64;
	struct table *list;

	if (tables->count < tables->capacity)
		return 0;
	list = realloc(tables->list, capacity * sizeof(*list));
	if (!list)
		return -ENOMEM;
	tables->list = list;
	tables->capacity = capacity;
	return 0;
}

/* The peak first, so that a concurrent reader never sees table_bytes above the peak. */
static void note_bytes(struct tables *tables)
{
	if (tables->bytes > tables->quality->table_bytes_peak)
		tables->quality->table_bytes_peak = tables->bytes;
	tables->quality->table_bytes = tables->bytes;
}

int tables__load(struct tables *tables, struct module *module, const struct rows *rows)
{
	struct table table = { module, rows->block_page_count, rows->row_page_count };
	int err;

	if (bytes_of(&table) > tables->budget_bytes) {
		tables->quality->over_budget++;
		return -EFBIG;
	}
	err = make_room(tables);
	if (err)
		return err;
	while (tables->bytes + bytes_of(&table) > tables->budget_bytes && evict(tables))
		;
	do {
		err = put_in(tables, &table, rows);
	} while ((err == -E2BIG || err == -ENOMEM) && evict(tables));
	if (!err) {
		tables->bytes += bytes_of(&table);
		tables->list[tables->count++] = table;
		module->state = MODULE_LOADED;
	}
	note_bytes(tables);
	return err == -E2BIG ? -EFBIG : err;
}

void tables__drop(struct tables *tables, const struct module *module)
{
	for (size_t i = 0; i < tables->count; i++)
		if (tables->list[i].module == module) {
			unload(tables, &tables->list[i]);
			break;
		}
	note_bytes(tables);
}
