/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/serving.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "base/words.h"
#include "model/windows_internal.h"

/* If no slice has new sums for this long, there were no requests. */
#define QUIET_NS INT64_C(2500000000)

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* clang-format off */

#define CLASS "coalesce(c.kind, ''), coalesce(c.protocol, ''), coalesce(c.service, '(various)')," \
	" coalesce(c.process, 0), coalesce(p.pid, 0), coalesce(p.comm, '')"
#define OF_CLASS " LEFT JOIN window_class c ON c.id = b.class" \
	" LEFT JOIN process p ON p.id = c.process WHERE b.slice_to > ?1 AND b.slice_to <= ?2"

static const char sql_counts[] = "SELECT " CLASS ", coalesce(c.status, ''), b.bucket,"
	" sum(b.count), sum(b.n) FROM window_band b" OF_CLASS " GROUP BY b.class, b.bucket";

static const char sql_times[] = "SELECT " CLASS ", b.part, coalesce(s.state, ''),"
	" CASE s.state WHEN 'run' THEN '' ELSE coalesce(s.cause, '') END, sum(b.ns)"
	" FROM window_time b LEFT JOIN state s ON s.id = b.state AND b.part = 'own'" OF_CLASS
	" GROUP BY b.class, 7, 8, 9";

/* Sums go to the newest slice, so only those of older ones are final. */
static const char sql_until[] = "SELECT (SELECT max(slice_to) FROM window_band"
	" WHERE slice_to > ?1 AND slice_to < (SELECT max(id) FROM slice)),"
	" (SELECT max(id) - 1 FROM slice)";

static const char sql_time[] = "SELECT (SELECT end_ns FROM slice WHERE id = ?2)"
	" - coalesce((SELECT end_ns FROM slice WHERE id = ?1), (SELECT min(begin_ns) FROM slice))";

/* clang-format on */

static void row__release(struct serving_row *row)
{
	free(row->reasons);
}

void serving__release(struct serving *serving)
{
	for (size_t i = 0; i < serving->count; i++)
		row__release(&serving->rows[i]);
	free(serving->rows);
	*serving = (struct serving) {};
}

static bool is_same(const struct serving_row *a, const struct serving_row *b)
{
	return a->process == b->process && !strcmp(a->kind, b->kind) &&
	       !strcmp(a->protocol, b->protocol) && !strcmp(a->service, b->service);
}

static struct serving_row *find_row(struct serving *serving, const struct serving_row *like)
{
	struct serving_row *row;

	for (size_t i = 0; i < serving->count; i++)
		if (is_same(&serving->rows[i], like))
			return &serving->rows[i];
	row = APPEND(&serving->rows, &serving->count);
	if (!row)
		return NULL;
	*row = (struct serving_row) { .process = like->process, .pid = like->pid };
	memcpy(row->kind, like->kind, sizeof(row->kind));
	memcpy(row->protocol, like->protocol, sizeof(row->protocol));
	memcpy(row->service, like->service, sizeof(row->service));
	memcpy(row->comm, like->comm, sizeof(row->comm));
	return row;
}

static int add_reason(struct serving_row *row, const struct serving_reason *reason)
{
	struct serving_reason *added;

	for (size_t i = 0; i < row->reason_count; i++) {
		struct serving_reason *old = &row->reasons[i];

		if (strcmp(old->part, reason->part) || strcmp(old->state, reason->state) ||
		    strcmp(old->cause, reason->cause))
			continue;
		old->ns += reason->ns;
		return 0;
	}
	added = APPEND(&row->reasons, &row->reason_count);
	if (!added)
		return -ENOMEM;
	*added = *reason;
	return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

static int by_ns(const void *a, const void *b)
{
	const struct serving_reason *x = a, *y = b;

	return (x->ns < y->ns) - (x->ns > y->ns);
}

static int by_kind(const void *a, const void *b)
{
	const struct serving_row *x = a, *y = b;
	int order = model_windows__rank(x->kind) - model_windows__rank(y->kind);

	if (!order)
		order = (x->count < y->count) - (x->count > y->count);
	if (!order)
		order = strcmp(x->service, y->service);
	return order ? order : (x->process > y->process) - (x->process < y->process);
}

static void sort(struct serving *serving)
{
	for (size_t i = 0; i < serving->count; i++)
		if (serving->rows[i].reason_count)
			qsort(serving->rows[i].reasons, serving->rows[i].reason_count,
			      sizeof(struct serving_reason), by_ns);
	if (serving->count)
		qsort(serving->rows, serving->count, sizeof(*serving->rows), by_kind);
}

/* --- reading ---------------------------------------------------------------------------------- */

static void copy_text(sqlite3_stmt *from, int column, char *ret, size_t size)
{
	const char *text = (const char *)sqlite3_column_text(from, column);

	snprintf(ret, size, "%s", text ? text : "");
}

static struct serving_row *row_of(struct serving *serving, sqlite3_stmt *from)
{
	struct serving_row like = { .process = sqlite3_column_int64(from, 3),
				    .pid = sqlite3_column_int64(from, 4) };

	copy_text(from, 0, like.kind, sizeof(like.kind));
	copy_text(from, 1, like.protocol, sizeof(like.protocol));
	copy_text(from, 2, like.service, sizeof(like.service));
	copy_text(from, 5, like.comm, sizeof(like.comm));
	return find_row(serving, &like);
}

static int take_count(struct serving *serving, sqlite3_stmt *from)
{
	struct serving_row *row = row_of(serving, from);
	const char *status = (const char *)sqlite3_column_text(from, 6);
	int bucket = sqlite3_column_int(from, 7);
	int64_t count = sqlite3_column_int64(from, 8);

	if (!row)
		return -ENOMEM;
	if (bucket < 0 || bucket >= HISTOGRAM_BUCKETS)
		return -EIO;
	row->buckets[bucket] += count;
	row->count += count;
	row->n += sqlite3_column_int64(from, 9);
	if (model_windows__is_failure(status))
		row->failed += count;
	else if (window_words__find_status(status) == WORDS_STATUS_REFUSED)
		row->refused += count;
	return 0;
}

static int take_time(struct serving *serving, sqlite3_stmt *from)
{
	struct serving_row *row = row_of(serving, from);
	struct serving_reason reason = { .ns = sqlite3_column_int64(from, 9) };

	if (!row)
		return -ENOMEM;
	copy_text(from, 6, reason.part, sizeof(reason.part));
	copy_text(from, 7, reason.state, sizeof(reason.state));
	copy_text(from, 8, reason.cause, sizeof(reason.cause));
	if (window_words__find_part(reason.part) == WORDS_PART_OVERLAP) {
		row->length_ns -= reason.ns;
		return 0;
	}
	row->length_ns += reason.ns;
	return add_reason(row, &reason);
}

static int each(sqlite3 *db, const char *sql, int64_t after, int64_t to, struct serving *serving,
		int (*take)(struct serving *serving, sqlite3_stmt *from))
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int rc = SQLITE_DONE, err = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
		return -EIO;
	sqlite3_bind_int64(row, 1, after);
	sqlite3_bind_int64(row, 2, to);
	while (!err && (rc = sqlite3_step(row)) == SQLITE_ROW)
		err = take(serving, row);
	return err ? err : rc == SQLITE_DONE ? 0 : -EIO;
}

int serving__read(sqlite3 *db, int64_t after, int64_t to, struct serving *serving)
{
	int err = each(db, sql_counts, after, to, serving, take_count);

	if (!err)
		err = each(db, sql_times, after, to, serving, take_time);
	sort(serving);
	return err;
}

int serving__add(struct serving *to, const struct serving *from)
{
	for (size_t i = 0; i < from->count; i++) {
		const struct serving_row *row = &from->rows[i];
		struct serving_row *sum = find_row(to, row);

		if (!sum)
			return -ENOMEM;
		sum->count += row->count;
		sum->n += row->n;
		sum->failed += row->failed;
		sum->refused += row->refused;
		sum->length_ns += row->length_ns;
		for (int j = 0; j < HISTOGRAM_BUCKETS; j++)
			sum->buckets[j] += row->buckets[j];
		for (size_t j = 0; j < row->reason_count; j++)
			if (add_reason(sum, &row->reasons[j]))
				return -ENOMEM;
	}
	sort(to);
	return 0;
}

static int ask(sqlite3 *db, const char *sql, int64_t first, int64_t second, int64_t *ret)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
		return -EIO;
	sqlite3_bind_int64(row, 1, first);
	if (sqlite3_bind_parameter_count(row) > 1)
		sqlite3_bind_int64(row, 2, second);
	if (sqlite3_step(row) != SQLITE_ROW)
		return -EIO;
	for (int i = 0; i < sqlite3_column_count(row); i++)
		ret[i] = sqlite3_column_int64(row, i);
	return 0;
}

int serving__until(sqlite3 *db, int64_t after, int64_t *ret_to, int64_t *ret_ns)
{
	int64_t slices[2] = {}, to;
	int err = ask(db, sql_until, after, 0, slices);

	*ret_to = *ret_ns = 0;
	to = slices[0] ? slices[0] : slices[1];
	if (err || to <= after || to <= 0)
		return err;
	err = ask(db, sql_time, after, to, ret_ns);
	if (!err && (slices[0] || *ret_ns >= QUIET_NS))
		*ret_to = to;
	return err;
}

/* --- words ------------------------------------------------------------------------------------ */

void serving__percentiles(const struct serving_row *row, int64_t ret[PERCENTILES])
{
	struct bucket buckets[HISTOGRAM_BUCKETS];
	size_t used = 0;

	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (row->buckets[i])
			buckets[used++] = (struct bucket) { i, row->buckets[i] };
	percentiles__find(buckets, used, row->count, 0, ret);
}

void serving__say_reason(const struct serving_row *row, char *text, size_t size)
{
	const struct serving_reason *main = row->reasons;
	struct windows_reason reason;

	if (!row->reason_count || row->length_ns <= 0) {
		words__say(text, size, "-");
		return;
	}
	reason = (struct windows_reason) { .part = main->part,
					   .state = *main->state ? main->state : NULL,
					   .cause = *main->cause ? main->cause : NULL };
	model_windows__say_reason(&reason, text, size);
	words__say(text, size, " %.0f %%", (double)main->ns * 100 / (double)row->length_ns);
}

void serving__say_service(const struct serving_row *row, char *text, size_t size)
{
	const struct windows_class class = { .kind = row->kind,
					     .protocol = row->protocol,
					     .service = row->service,
					     .name = "",
					     .comm = row->comm };
	const struct windows_service service = { .first = &class };
	char words[SERVING_NAME * 2] = "";

	model_windows__say_service(&service, words, sizeof(words));
	words__say(text, size, "%s", *words == ' ' ? words + 1 : words);
}
