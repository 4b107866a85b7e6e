/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tui/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void table__release(struct table *table)
{
	free(table->rows);
	free(table->shown);
	map__release(&table->places);
	*table = (struct table) {};
}

void table__begin(struct table *table, bool by_thread, int64_t window_ns)
{
	map__release(&table->places);
	table->places = (struct map) {};
	table->by_thread = by_thread;
	table->window_ns = window_ns;
	table->count = table->shown_count = 0;
	table->all = (struct table_row) {};
}

static int find_row(struct table *table, int64_t id, struct table_row **ret)
{
	uintptr_t place = (uintptr_t)map__get(&table->places, (uint64_t)id);

	if (!place) {
		if (table->count == table->size) {
			size_t size = table->size ? table->size * 2 : 256;
			void *grown = reallocarray(table->rows, size, sizeof(*table->rows));

			if (!grown)
				return -ENOMEM;
			table->rows = grown;
			table->size = size;
		}
		place = ++table->count;
		table->rows[place - 1] = (struct table_row) { .id = id };
		if (map__put(&table->places, (uint64_t)id, (void *)place))
			return -ENOMEM;
	}
	*ret = &table->rows[place - 1];
	return 0;
}

static void add_to(struct table_row *row, const struct table_thread *thread)
{
	row->threads += !thread->ended;
	row->ended += thread->ended;
	row->switches += thread->switches;
	row->calls += thread->calls;
	row->own |= thread->own;
	for (int i = 0; i < SLOT_COUNT; i++)
		row->ns[i] += thread->ns[i];
	if (bands__sum(thread->ns, KIND_RUN) || bands__sum(thread->ns, KIND_READY))
		row->busy_ns += bands__busy(thread->ns);
}

int table__add(struct table *table, const struct table_thread *thread)
{
	/* A thread whose process is unknown gets its own row. */
	bool alone = table->by_thread || !thread->process;
	const char *name = alone || !thread->process_comm ? thread->comm : thread->process_comm;
	struct table_row *row;
	int err = find_row(table,
			   alone && !table->by_thread ? -thread->id
			   : alone                    ? thread->id
						      : thread->process,
			   &row);

	if (err)
		return err;
	row->pid = thread->pid;
	row->tid = alone ? thread->tid : thread->pid;
	snprintf(row->name, sizeof(row->name), "%s", name ? name : "?");
	add_to(row, thread);
	add_to(&table->all, thread);
	return 0;
}

const char *sort__title(enum sort column)
{
	switch (column) {
	case SORT_BUSY:
		return "BUSY";
	case SORT_RUN:
		return "RUN";
	case SORT_HELD:
		return "HELD";
	case SORT_SWITCHES:
		return "SW/s";
	case SORT_CALLS:
		return "CALL/s";
	case SORT_PID:
		return "PID";
	case SORT_NAME:
		return "NAME";
	default:
		return column == SORT_READY
			       ? "READY"
			       : states__words((enum ledger_slot)(column - SORT_STATES))->title;
	}
}

bool sort__is_time(enum sort column)
{
	return column < SORT_SWITCHES;
}

int64_t sort__value(const struct table_row *row, enum sort column)
{
	switch (column) {
	case SORT_BUSY:
		return row->busy_ns;
	case SORT_RUN:
		return bands__sum(row->ns, KIND_RUN);
	case SORT_READY:
		return bands__sum(row->ns, KIND_READY);
	case SORT_HELD:
		return bands__sum(row->ns, KIND_DELAYING);
	case SORT_SWITCHES:
		return row->switches;
	case SORT_CALLS:
		return row->calls;
	case SORT_PID:
		return row->tid;
	default:
		return column < SORT_SWITCHES ? row->ns[column - SORT_STATES] : 0;
	}
}

bool table__fits(const struct table_row *row, const char *filter)
{
	char number[16];

	if (!*filter || strcasestr(row->name, filter))
		return true;
	snprintf(number, sizeof(number), "%d", row->pid);
	if (!strncmp(number, filter, strlen(filter)))
		return true;
	snprintf(number, sizeof(number), "%d", row->tid);
	return !strncmp(number, filter, strlen(filter));
}

struct order {
	const struct table *table;
	enum sort column;
};

static int compare(const void *one, const void *other, void *context)
{
	const struct order *order = context;
	const struct table_row *a = &order->table->rows[*(const size_t *)one];
	const struct table_row *b = &order->table->rows[*(const size_t *)other];
	int64_t x = sort__value(a, order->column), y = sort__value(b, order->column);
	int by_name = order->column == SORT_NAME ? strcasecmp(a->name, b->name) : 0;

	if (by_name)
		return by_name;
	if (order->column != SORT_PID && x != y)
		return x < y ? 1 : -1;
	/* Equal rows keep their order from one update to the next. */
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

int table__arrange(struct table *table, enum sort order, const char *filter)
{
	size_t *grown = reallocarray(table->shown, table->count + 1, sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	table->shown = grown;
	table->shown_count = 0;
	for (size_t i = 0; i < table->count; i++)
		if (table__fits(&table->rows[i], filter))
			table->shown[table->shown_count++] = i;
	qsort_r(table->shown, table->shown_count, sizeof(*table->shown), compare,
		&(struct order) { table, order });
	return 0;
}

size_t table__find(const struct table *table, int64_t id, size_t otherwise)
{
	for (size_t i = 0; i < table->shown_count; i++)
		if (table->rows[table->shown[i]].id == id)
			return i;
	if (otherwise >= table->shown_count)
		return table->shown_count ? table->shown_count - 1 : 0;
	return otherwise;
}
