/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single windows on the page. If there are more than it has room for, some of each service and band
 * are left out at random, and the others stand for them: their weights are raised.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "page/html_windows.h"

#define MOST_WINDOWS 6000
#define MOST_WAITS   2000 /* different ones */
#define NOT_HERE     -2   /* a parent that is not on the page */

/*
 * Windows are chosen from each group on its own: those of a service and band that were drawn, and
 * its examples, which stand for no others.
 */
#define GROUPS (HTML_MOST_WINDOW_SERVICES * HTML_BANDS * 2)

struct group {
	size_t count, room, seen;
	double weight, kept_weight;
};

struct chosen {
	const struct windows_one *one;
	uint32_t group;
};

struct kept {
	struct html *html;
	struct group groups[GROUPS];
	struct chosen *list; /* by begin */
	size_t count;
	uint32_t *places; /* by index in windows.kept: index in `list` + 1 */
	struct html_rows parts, waits;
	struct map wait_places; /* index + 1 */
	struct windows_wait *wait_list;
	size_t wait_count;
};

static void kept__release(struct kept *kept)
{
	free(kept->list);
	free(kept->places);
	html_rows__release(&kept->parts);
	html_rows__release(&kept->waits);
	map__release(&kept->wait_places);
	free(kept->wait_list);
}

/* --- choice ----------------------------------------------------------------------------------- */

/* Returns false for a window that is not shown. */
static bool find_group(const struct model *model, const struct windows_one *one, uint32_t *ret)
{
	int32_t mark = one->has_details ? html_windows__mark(model, one) : 0;

	*ret = (uint32_t)(mark - 1) * 2 + !(one->weight > 0);
	return mark > 0;
}

/* Groups that are small are whole; the others share the room that is left. */
static void divide_room(struct kept *kept)
{
	size_t room = MOST_WINDOWS, open = 0, before;

	for (int i = 0; i < GROUPS; i++)
		open += kept->groups[i].count > 0;
	do {
		before = open;
		for (int i = 0; i < GROUPS && open; i++) {
			struct group *group = &kept->groups[i];

			if (group->room || !group->count || group->count > room / open)
				continue;
			group->room = group->count;
			room -= group->count;
			open--;
		}
	} while (open && open < before);
	for (int i = 0; i < GROUPS; i++)
		if (kept->groups[i].count && !kept->groups[i].room)
			kept->groups[i].room = room / open;
}

/* Every Nth of its group. */
static bool is_taken(struct group *group)
{
	size_t before = group->seen * group->room / group->count;

	return ++group->seen * group->room / group->count > before;
}

static int by_begin(const void *a, const void *b)
{
	const struct chosen *x = a, *y = b;

	if (x->one->begin_ns != y->one->begin_ns)
		return x->one->begin_ns < y->one->begin_ns ? -1 : 1;
	return (x->one->id > y->one->id) - (x->one->id < y->one->id);
}

static int choose(struct kept *kept)
{
	struct html *html = kept->html;
	const struct windows *windows = &html->model->windows;
	uint32_t group;

	for (size_t i = 0; i < windows->kept_count; i++)
		if (find_group(html->model, &windows->kept[i], &group))
			kept->groups[group].count++;
	divide_room(kept);
	kept->list = calloc(MOST_WINDOWS + 1, sizeof(*kept->list));
	kept->places = calloc(windows->kept_count + 1, sizeof(*kept->places));
	if (!kept->list || !kept->places)
		return -ENOMEM;
	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];

		if (!find_group(html->model, one, &group))
			continue;
		kept->groups[group].weight += one->weight;
		if (!is_taken(&kept->groups[group]) || kept->count >= MOST_WINDOWS) {
			html->folded.windows++;
			continue;
		}
		kept->groups[group].kept_weight += one->weight;
		kept->list[kept->count++] = (struct chosen) { one, group };
	}
	qsort(kept->list, kept->count, sizeof(*kept->list), by_begin);
	for (size_t i = 0; i < kept->count; i++)
		kept->places[kept->list[i].one - windows->kept] = (uint32_t)i + 1;
	return 0;
}

/* -1: it is not on the page. */
static int32_t place_of(const struct kept *kept, const struct windows_one *one)
{
	return (int32_t)kept->places[one - kept->html->model->windows.kept] - 1;
}

/* --- columns ---------------------------------------------------------------------------------- */

static int64_t since_start_us(const struct model *model, int64_t time_ns)
{
	return (time_ns - model->start_ns) / 1000;
}

/* What of a thread is on the page; -1: its row was folded, or it is unknown. */
static int64_t thread_of(const struct html *html, const struct windows_one *one)
{
	uint32_t at = one->thread ? html->threads[one->thread - html->model->threads] : HTML_NONE;

	return at == HTML_NONE ? -1 : (int64_t)at;
}

static int64_t parent_of(const struct kept *kept, const struct windows_one *one)
{
	const struct windows_one *parent =
		one->parent ? model_windows__find(&kept->html->model->windows, one->parent) : NULL;
	int32_t place = parent ? place_of(kept, parent) : -1;

	if (!one->parent)
		return -1;
	return place < 0 ? NOT_HERE : place;
}

enum column { BEGIN, LENGTH, MARK, CLASS, THREAD, PARENT, ID, REQUESTS, TEXT, ENDS, COLUMNS };

static int64_t value_of(struct kept *kept, size_t i, enum column column)
{
	struct html *html = kept->html;
	const struct model *model = html->model;
	const struct windows_one *one = kept->list[i].one;
	size_t class = (size_t)(one->class - model->windows.classes);

	switch (column) {
	case BEGIN:
		return since_start_us(model, one->begin_ns) -
		       (i ? since_start_us(model, kept->list[i - 1].one->begin_ns) : 0);
	case LENGTH:
		return one->length_ns;
	case MARK:
		return kept->list[i].group / 2 + 1;
	case CLASS:
		return (int64_t)class;
	case THREAD:
		return thread_of(html, one);
	case PARENT:
		return parent_of(kept, one);
	case ID:
		return one->id;
	case REQUESTS:
		return one->n;
	case TEXT:
		return html_out__keep(&html->out, one->text);
	default:
		return html_out__keep(&html->out, one->ends);
	}
}

static void put_windows(struct kept *kept)
{
	static const char *const names[COLUMNS] = {
		[BEGIN] = "begin_us", [LENGTH] = "length_ns", [MARK] = "mark", [CLASS] = "class",
		[THREAD] = "thread",  [PARENT] = "parent",    [ID] = "id",     [REQUESTS] = "n",
		[TEXT] = "text",      [ENDS] = "ends",
	};
	struct json_out *json = &kept->html->out.json;

	json_out__open(json, "kept", '{');
	for (int column = 0; column < COLUMNS; column++) {
		json_out__open(json, names[column], '[');
		for (size_t i = 0; i < kept->count; i++)
			json_out__number(json, NULL, value_of(kept, i, (enum column)column));
		json_out__close(json, ']');
	}
	json_out__open(json, "weight", '[');
	for (size_t i = 0; i < kept->count; i++) {
		const struct group *group = &kept->groups[kept->list[i].group];
		double share = group->kept_weight > 0 ? group->weight / group->kept_weight : 0;

		json_out__decimal(json, NULL, llround(kept->list[i].one->weight * share * 1000), 3);
	}
	json_out__close(json, ']');
	json_out__close(json, '}');
}

/* --- parts and waits -------------------------------------------------------------------------- */

static int take_part(void *context, const struct windows_one *one, uint32_t reason, int64_t ns)
{
	struct kept *kept = context;
	int32_t place = place_of(kept, one);

	if (place < 0 || !ns)
		return 0;
	return html_rows__add(&kept->parts, &(struct html_row) { .key = { place, (int32_t)reason },
								 .value = { ns } });
}

static uint64_t key_of(const struct windows_wait *wait)
{
	uint64_t key = map__mix(map__mix(0, wait->reason), (uint64_t)wait->object);

	return map__mix_text(map__mix(key, (uintptr_t)wait->by), wait->evidence);
}

static int take_wait(void *context, const struct windows_one *one, const struct windows_wait *wait)
{
	struct kept *kept = context;
	uint64_t key = key_of(wait);
	uintptr_t at = (uintptr_t)map__get(&kept->wait_places, key);
	int32_t place = place_of(kept, one);
	struct windows_wait *added;

	if (place < 0)
		return 0;
	if (!at && kept->wait_count >= MOST_WAITS) {
		kept->html->folded.window_waits++;
		return 0;
	}
	if (!at) {
		added = APPEND(&kept->wait_list, &kept->wait_count);
		if (!added)
			return -ENOMEM;
		*added = *wait;
		at = kept->wait_count;
		if (map__put(&kept->wait_places, key, (void *)at))
			return -ENOMEM;
	}
	return html_rows__add(&kept->waits, &(struct html_row) { .key = { place, (int32_t)at - 1 },
								 .value = { (int64_t)wait->ns } });
}

static void put_wait_list(struct kept *kept)
{
	struct html_out *out = &kept->html->out;

	json_out__open(&out->json, "waits", '[');
	for (size_t i = 0; i < kept->wait_count; i++) {
		const struct windows_wait *wait = &kept->wait_list[i];

		json_out__open(&out->json, NULL, '{');
		json_out__number(&out->json, "reason", wait->reason);
		html_out__text(out, "object_kind", wait->object_kind);
		html_out__text(out, "object", wait->object_name);
		html_out__text(out, "by", wait->by ? wait->by->comm : NULL);
		json_out__number(&out->json, "by_tid", wait->by ? wait->by->tid : 0);
		html_out__text(out, "evidence", wait->evidence);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

int html_windows__put_kept(struct html *html)
{
	static const struct html_column parts[] = { { "window", HTML_COLUMN_KEY },
						    { "reason", HTML_COLUMN_KEY },
						    { "ns", HTML_COLUMN_VALUE } };
	static const struct html_column waits[] = { { "window", HTML_COLUMN_KEY },
						    { "wait", HTML_COLUMN_KEY },
						    { "ns", HTML_COLUMN_VALUE } };
	cleanup(kept__release) struct kept kept = { .html = html };
	int err = choose(&kept);

	if (!err)
		err = model_windows__each_part(html->windows, html->db, take_part, &kept);
	if (!err)
		err = model_windows__each_wait(html->windows, html->db, take_wait, &kept);
	if (err)
		return err;
	put_windows(&kept);
	html_rows__write(&kept.parts, &html->out, "parts", parts, 3);
	html_rows__write(&kept.waits, &html->out, "window_waits", waits, 3);
	put_wait_list(&kept);
	return 0;
}
