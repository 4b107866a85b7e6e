/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads rows of signals into arrays. SQLite sorts all lists by signal, place and operation, so that
 * each list and the rows that it belongs to are walked once, in parallel.
 */
#include "model/signals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/sql.h"
#include "vocabulary/histogram.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

static void release(struct signals_signal *signal)
{
	for (size_t i = 0; i < signal->row_count; i++) {
		struct signals_row *row = &signal->rows[i];

		for (int j = 0; row->histograms && j < SIGNALS_MEASURES; j++)
			free(row->histograms[j].buckets);
		free(row->histograms);
		for (size_t j = 0; j < row->owner_count; j++) {
			free(row->owners[j].histogram->buckets);
			free(row->owners[j].histogram);
		}
		free(row->owners);
	}
	free(signal->series);
	free(signal->rows);
	free(signal->ranks);
	free(signal->who.list);
	free(signal->objects.list);
	free(signal->failures.list);
	free(signal->missing.list);
	free(signal->services);
	free(signal->programs);
	if (signal->heap)
		heap__release(signal->heap);
	free(signal->heap);
	for (size_t i = 0; i < signal->lock_count; i++)
		free(signal->locks[i].waiting);
	free(signal->locks);
}

void signals__release(struct signals *signals)
{
	for (size_t i = 0; i < signals->count; i++)
		release(&signals->list[i]);
	free(signals->list);
	free(signals->objects);
	free(signals->resent);
}

bool signals__is_empty(const struct signals_signal *signal)
{
	return !signal->sum.count && !signal->event_count;
}

const struct signals_signal *signals__find(const struct signals *signals, const char *name)
{
	for (size_t i = 0; i < signals->count; i++)
		if (!signals__is_empty(&signals->list[i]) && !strcmp(signals->list[i].name, name))
			return &signals->list[i];
	return NULL;
}

const struct signals_signal *signals__of(const struct signals *signals, enum role role)
{
	for (size_t i = 0; i < signals->count; i++)
		if (!signals__is_empty(&signals->list[i]) && signals->list[i].role == role)
			return &signals->list[i];
	return NULL;
}

int signals__measure(const struct signals_signal *signal, const char *name)
{
	for (int i = 0; i < signal->measure_count; i++)
		if (signal->measures[i].name && !strcmp(signal->measures[i].name, name))
			return i;
	return -1;
}

static int by_object_id(const void *key, const void *element)
{
	int64_t id = *(const int64_t *)key;
	const struct signals_object *object = element;

	return (id > object->id) - (id < object->id);
}

const struct signals_object *signals__object(const struct signals *signals, int64_t id)
{
	if (!id || !signals->object_count)
		return NULL;
	return bsearch(&id, signals->objects, signals->object_count, sizeof(*signals->objects),
		       by_object_id);
}

/* Returns the signal with this id, searching from the last one returned; NULL if there is none. */
static struct signals_signal *signal_of(struct signals *signals, int64_t id)
{
	size_t *at = &signals->loaded.signal;

	while (*at < signals->count && signals->list[*at].id < id) {
		++*at;
		signals->loaded.row = 0;
	}
	return *at < signals->count && signals->list[*at].id == id ? &signals->list[*at] : NULL;
}

static void rewind_signals(struct signals *signals)
{
	signals->loaded.signal = signals->loaded.row = 0;
}

static int take_signal(struct model *model, sqlite3_stmt *row)
{
	struct signals_signal *signal = APPEND(&model->signals.list, &model->signals.count);

	if (!signal)
		return -ENOMEM;
	signal->id = sqlite3_column_int64(row, 0);
	signal->name = load__name(model, row, 1);
	signal->role = roles__find((const char *)sqlite3_column_text(row, 4), signal->name);
	signal->about = load__text(model, row, 2);
	signal->events = load__text(model, row, 3);
	if (!signal->events)
		signal->events = "events";
	signal->main = -1;
	return 0;
}

static int take_measure(struct model *model, sqlite3_stmt *row)
{
	struct signals_signal *signal = signal_of(&model->signals, sqlite3_column_int64(row, 0));
	int64_t id = sqlite3_column_int64(row, 1);

	if (!signal)
		return 0;
	if (id < 0 || id >= SIGNALS_MEASURES)
		return -EBADMSG;
	signal->measures[id] =
		(struct signals_measure) { load__name(model, row, 2), load__name(model, row, 3) };
	if (signal->measure_count <= id)
		signal->measure_count = (int)id + 1;
	if (signal->main < 0 && !strcmp(signal->measures[id].unit, "ns"))
		signal->main = (int)id;
	return 0;
}

static int take_object(struct model *model, sqlite3_stmt *row)
{
	struct signals_object *object =
		APPEND(&model->signals.objects, &model->signals.object_count);

	if (!object)
		return -ENOMEM;
	object->id = sqlite3_column_int64(row, 0);
	object->kind = load__name(model, row, 1);
	object->name = load__name(model, row, 2);
	return 0;
}

static const char *word_at(sqlite3_stmt *row, int column)
{
	const char *word = (const char *)sqlite3_column_text(row, column);

	return word ? word : "";
}

static int compare_row(const struct signals_row *row, const char *place, const char *operation)
{
	int order = strcmp(row->place, place);

	return order ? order : strcmp(row->operation, operation);
}

/* Returns the row of a series. Series are sorted by row. */
static struct signals_row *row_of(struct model *model, struct signals_signal *signal,
				  sqlite3_stmt *row)
{
	struct signals_row *last = signal->row_count ? &signal->rows[signal->row_count - 1] : NULL;

	if (last && !compare_row(last, word_at(row, 1), word_at(row, 2)))
		return last;
	last = APPEND(&signal->rows, &signal->row_count);
	if (!last)
		return NULL;
	last->place = load__name(model, row, 1);
	last->operation = load__name(model, row, 2);
	last->histograms = calloc(SIGNALS_MEASURES, sizeof(*last->histograms));
	return last->histograms ? last : NULL;
}

/* Converts a number from a possibly hostile recording without overflow. */
static int64_t whole(double value)
{
	return value > 0 && value < (double)LOAD_MOST ? (int64_t)(value + 0.5)
	       : value > 0                            ? LOAD_MOST
						      : 0;
}

/*
 * Returns how many events of a series are inside the cut. An edge of the cut leaves fractions, but
 * a single event of a connection cannot be halved, so the fraction carries over to the next series.
 * `ret_part` is the factor by which this rounding changes the sums.
 */
static int64_t count_inside(struct signals *signals, sqlite3_stmt *row, double *ret_part)
{
	double share = sqlite3_column_double(row, 6), *rest = &signals->loaded.rest;
	int64_t count;

	*ret_part = 1;
	if (sqlite3_column_type(row, 6) == SQLITE_INTEGER)
		return sqlite3_column_int64(row, 6);
	if (!(share > 0 && share < (double)LOAD_MOST))
		return 0;
	count = (int64_t)(share + *rest);
	*rest += share - (double)count;
	*ret_part = (double)count / share;
	return count;
}

static int64_t sum_inside(sqlite3_stmt *row, int column, double part)
{
	if (sqlite3_column_type(row, column) == SQLITE_INTEGER && part == 1)
		return sqlite3_column_int64(row, column);
	return whole(sqlite3_column_double(row, column) * part);
}

static int take_series(struct model *model, sqlite3_stmt *row)
{
	struct signals *signals = &model->signals;
	struct signals_signal *signal = signal_of(signals, sqlite3_column_int64(row, 0));
	struct signals_series *series;
	double part = 1;
	int64_t count = count_inside(signals, row, &part);

	count = signal ? load__amount(count, LOAD_MOST, &signals->loaded.count) : 0;
	if (!count)
		return 0;
	if (!row_of(model, signal, row))
		return -ENOMEM;
	series = APPEND(&signal->series, &signal->series_count);
	if (!series)
		return -ENOMEM;
	series->row = signal->row_count - 1;
	series->error = sqlite3_column_int64(row, 3);
	series->thread = load__thread(model, sqlite3_column_int64(row, 4));
	series->object = signals__object(signals, sqlite3_column_int64(row, 5));
	series->sum.count = count;
	for (int i = 0; i < SIGNALS_MEASURES; i++) {
		int64_t max = sqlite3_column_int64(row, 13 + i);

		series->sum.sum[i] = load__amount(sum_inside(row, 7 + i, part), LOAD_MOST,
						  &signals->loaded.sum[i]);
		series->sum.max[i] = max < 0 ? 0 : max > LOAD_MOST ? LOAD_MOST : max;
	}
	return 0;
}

static int take_distributed(struct model *model, sqlite3_stmt *row)
{
	struct signals *signals = &model->signals;
	struct signals_signal *signal = signal_of(signals, sqlite3_column_int64(row, 0));
	int64_t measure = sqlite3_column_int64(row, 3), number = sqlite3_column_int64(row, 4);
	const char *place = word_at(row, 1), *operation = word_at(row, 2);
	size_t *at = &signals->loaded.row;
	struct model_histogram *histogram;
	struct bucket *bucket;
	int64_t count =
		load__amount(sqlite3_column_int64(row, 5), LOAD_MOST, &signals->loaded.buckets);

	if (measure < 0 || measure >= SIGNALS_MEASURES || number < 0 || number >= HISTOGRAM_BUCKETS)
		return -EBADMSG;
	while (signal && *at < signal->row_count &&
	       compare_row(&signal->rows[*at], place, operation) < 0)
		++*at;
	/* A row without sums is outside the cut, or was rounded to 0. */
	if (!count || !signal || *at == signal->row_count ||
	    compare_row(&signal->rows[*at], place, operation))
		return 0;
	histogram = &signal->rows[*at].histograms[measure];
	bucket = APPEND(&histogram->buckets, &histogram->bucket_count);
	if (!bucket)
		return -ENOMEM;
	*bucket = (struct bucket) { (int)number, count };
	histogram->count += count;
	return 0;
}

static int take_fields(struct model *model, const char *text, const char **ret)
{
	cleanup(free_p) char *fields = text ? redact__fields(text, model->args) : NULL;

	*ret = load__keep(model, fields);
	return text && !*ret ? -ENOMEM : 0;
}

static int take_event(struct model *model, sqlite3_stmt *row)
{
	struct signals_signal *signal = signal_of(&model->signals, sqlite3_column_int64(row, 0));
	struct signals_event *event;
	int64_t time_ns = sqlite3_column_int64(row, 1);
	int64_t duration_ns = sqlite3_column_int64(row, 2);

	if (!signal || signal->slowest_count == SIGNALS_EVENTS)
		return 0;
	event = &signal->slowest[signal->slowest_count++];
	event->time_ns = time_ns < 0 ? 0 : time_ns > LOAD_MOST ? LOAD_MOST : time_ns;
	event->duration_ns = duration_ns > LOAD_MOST ? LOAD_MOST : duration_ns;
	event->thread = load__thread(model, sqlite3_column_int64(row, 3));
	event->object = signals__object(&model->signals, sqlite3_column_int64(row, 4));
	event->place = load__name(model, row, 5);
	event->operation = load__name(model, row, 6);
	event->error = sqlite3_column_int64(row, 7);
	event->stack = sqlite3_column_int64(row, 9);
	return take_fields(model, (const char *)sqlite3_column_text(row, 8), &event->fields);
}

static int take_resent(struct model *model, sqlite3_stmt *row)
{
	struct signals *signals = &model->signals;
	struct signals_resent *resent;

	if (signals->resent_count == SIGNALS_MOST_RESENT)
		return 0;
	resent = APPEND(&signals->resent, &signals->resent_count);
	if (!resent)
		return -ENOMEM;
	resent->time_ns = sqlite3_column_int64(row, 0);
	resent->thread = load__thread(model, sqlite3_column_int64(row, 1));
	resent->connection = signals__object(signals, sqlite3_column_int64(row, 2));
	return 0;
}

static int take_event_count(struct model *model, sqlite3_stmt *row)
{
	struct signals_signal *signal = signal_of(&model->signals, sqlite3_column_int64(row, 0));

	if (signal)
		signal->event_count = sqlite3_column_int64(row, 1);
	return 0;
}

static int take_program(struct model *model, struct signals_signal *signal, sqlite3_stmt *row)
{
	struct signals *signals = &model->signals;
	struct signals_program *program;
	int64_t max_ns = sqlite3_column_int64(row, 5);

	if (signal->program_count == SIGNALS_PROGRAMS)
		return 0;
	program = APPEND(&signal->programs, &signal->program_count);
	if (!program)
		return -ENOMEM;
	program->file = load__name(model, row, 0);
	program->parent = load__text(model, row, 1);
	program->count =
		load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &signals->loaded.programs);
	program->ended = sqlite3_column_int64(row, 3);
	program->lifetime_ns =
		load__amount(sqlite3_column_int64(row, 4), LOAD_MOST, &signals->loaded.lifetimes);
	program->max_ns = max_ns < 0 ? 0 : max_ns > LOAD_MOST ? LOAD_MOST : max_ns;
	program->failed = sqlite3_column_int64(row, 6);
	return 0;
}

static int load_programs(struct model *model, sqlite3 *db, struct signals_signal *signal)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(model, db, sql__programs, &row), rc;

	if (!err)
		sqlite3_bind_int64(row, 3, signal->id);
	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take_program(model, signal, row) : load__error(rc);
	return err;
}

int load__signals(struct model *model, sqlite3 *db)
{
	bool has_roles = !sqlite3_table_column_metadata(db, NULL, "signal", "role", NULL, NULL,
							NULL, NULL, NULL);
	const struct {
		const char *sql;
		load_row *take;
	} tables[] = {
		{ has_roles ? "SELECT id, name, about, events, role FROM signal ORDER BY id"
			    : "SELECT id, name, about, events, NULL FROM signal ORDER BY id",
		  take_signal },
		{ "SELECT signal, id, name, unit FROM measure ORDER BY signal, id", take_measure },
		{ model->cut ? sql__cut_series : sql__series, take_series },
		{ sql__distributions, take_distributed },
		{ load__is_answered(db, sql__slowest) ? sql__slowest : sql__slowest_4, take_event },
		{ sql__resent, take_resent },
		{ sql__event_counts, take_event_count },
	};
	int err = load__each(model, db, sql__objects, take_object);

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables) && !err; i++) {
		rewind_signals(&model->signals);
		err = load__each(model, db, tables[i].sql, tables[i].take);
		/* If there are no signals, skip the other queries. */
		if (!model->signals.count)
			return err;
	}
	for (size_t i = 0; i < model->signals.count && !err; i++) {
		struct signals_signal *signal = &model->signals.list[i];

		if (signal->role == ROLE_HEAP)
			err = load__heap(model, db, signal);
		if (!err)
			err = signals__sum(model, signal);
		if (!err && signal->role == ROLE_CONNECTIONS)
			err = signals__make_services(model, signal);
		if (!err && signal->role == ROLE_LOCKS)
			err = signals__make_locks(model, signal);
		if (!err && signal->role == ROLE_LOCKS)
			err = signals__load_waiting(model, db, signal);
		if (!err && signal->role == ROLE_PROGRAMS)
			err = load_programs(model, db, signal);
	}
	return err || model->cut ? err : signals__load_owners(model, db);
}

bool signals__same_parent(const struct signals_program *a, const struct signals_program *b)
{
	return a->parent && b->parent && !strcmp(a->parent, b->parent);
}

struct signals_program signals__siblings(const struct signals_signal *signal,
					 const struct signals_program *program)
{
	struct signals_program all = { .parent = program->parent };

	for (size_t i = 0; i < signal->program_count; i++) {
		if (!signals__same_parent(program, &signal->programs[i]))
			continue;
		all.count += signal->programs[i].count;
		all.ended += signal->programs[i].ended;
		all.lifetime_ns += signal->programs[i].lifetime_ns;
	}
	return all;
}
