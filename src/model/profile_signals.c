/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events and counts of signals, for viewers with a time axis: each event, and how much was counted
 * in each slice. Only measures that can be added up become counters: bytes, pages, segments. Times
 * do not, nor measures whose unit is events ("depth" in requests), nor bytes that were requested
 * but not transferred. Page faults are those that made a thread wait; they come from the accounts.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "model/profile_rows.h"
#include "recording/recording.h"

static int take_event(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	uint32_t thread = ids__find(&loader->threads, sqlite3_column_int64(row, 2));
	struct profile_event *event;
	int64_t begin_ns, end_ns;

	if (thread != PROFILE_NONE && profile->threads[thread].is_own && !loader->options->with_own)
		return 0;
	event = APPEND(&profile->events, &profile->event_count);
	if (!event)
		return -ENOMEM;
	end_ns = profile_rows__clamp(sqlite3_column_int64(row, 0), 0, INT64_MAX / 2);
	begin_ns = end_ns - profile_rows__clamp(sqlite3_column_int64(row, 1), 0, INT64_MAX / 2);
	event->time_ns = profile_rows__clamp(end_ns, profile->start_ns, profile->end_ns);
	event->duration_ns =
		event->time_ns - profile_rows__clamp(begin_ns, profile->start_ns, event->time_ns);
	event->thread = thread;
	event->error = (int)load__index(row, 6);
	event->object = load__text(loader->model, row, 5);
	event->signal = load__name(loader->model, row, 3);
	event->name = load__name(loader->model, row, 4);
	return 0;
}

/* What was counted during slices, cut to the profile. The sum may become 0. */
static struct profile_point point_of(const struct profile *profile, sqlite3_stmt *row)
{
	int64_t begin_ns = profile_rows__clamp(sqlite3_column_int64(row, 2), 0, INT64_MAX / 2);
	int64_t end_ns = profile_rows__clamp(sqlite3_column_int64(row, 3), 0, INT64_MAX / 2);
	int64_t whole_ns = end_ns - begin_ns, part_ns;
	struct profile_point point = {
		.begin_ns = profile_rows__clamp(begin_ns, profile->start_ns, profile->end_ns),
		.end_ns = profile_rows__clamp(end_ns, profile->start_ns, profile->end_ns),
		.sum = profile_rows__clamp(sqlite3_column_int64(row, 4), 0, INT64_MAX / 2),
	};

	part_ns = point.end_ns - point.begin_ns;
	if (part_ns <= 0)
		point.sum = 0;
	else if (part_ns < whole_ns)
		point.sum = (int64_t)(((__int128)point.sum * part_ns + whole_ns / 2) / whole_ns);
	return point;
}

/*
 * Adds a point to the last counter. Rows are sorted by their ends, but a row may cover several
 * slices and overlap earlier rows. A later point then begins where the earlier one ends.
 */
static int add_point(struct profile *profile, struct profile_point point)
{
	struct profile_counter *counter = &profile->counters[profile->counter_count - 1];
	struct profile_point *last =
		counter->point_count ? &profile->points[profile->point_total - 1] : NULL;
	struct profile_point *kept;

	if (last && last->end_ns >= point.end_ns) {
		last->sum = profile_rows__clamp(last->sum + point.sum, 0, INT64_MAX / 2);
		return 0;
	}
	if (last && last->end_ns > point.begin_ns)
		point.begin_ns = last->end_ns;
	kept = APPEND(&profile->points, &profile->point_total);
	if (!kept)
		return -ENOMEM;
	*kept = point;
	counter->point_count++;
	return 0;
}

/* Adds a point to the counter of its row. A different name or unit begins the next counter. */
static int take_point(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_counter *counter =
		profile->counter_count ? &profile->counters[profile->counter_count - 1] : NULL;
	struct profile_point point = point_of(profile, row);
	const char *name = load__name(loader->model, row, 0);
	const char *unit = load__name(loader->model, row, 1);

	if (!point.sum)
		return 0;
	if (!counter || strcmp(counter->name, name) || strcmp(counter->unit, unit)) {
		counter = APPEND(&profile->counters, &profile->counter_count);
		if (!counter)
			return -ENOMEM;
		*counter = (struct profile_counter) { name, unit, profile->point_total, 0 };
	}
	return add_point(profile, point);
}

#define SUM_OF_MEASURE                                                                             \
	"sum(CASE m.id WHEN 0 THEN c.sum0 WHEN 1 THEN c.sum1 WHEN 2 THEN c.sum2 WHEN 3 THEN"       \
	" c.sum3 WHEN 4 THEN c.sum4 ELSE c.sum5 END)"
/* gapless's own threads, and outside threads. */
#define OTHERS "(SELECT id FROM thread WHERE flags & (4 | 16))"

int profile_signals__load(struct loader *loader)
{
	int err = profile_rows__each(
		loader,
		"SELECT 'page faults that waited', 'faults', f.begin_ns, l.end_ns,"
		" sum(a.count) FROM account a JOIN state s ON s.id = a.state"
		" JOIN slice f ON f.id = a.slice_from JOIN slice l ON l.id = a.slice_to"
		" WHERE s.state = 'wait' AND s.cause = 'fault' AND a.thread NOT IN " OTHERS
		" AND l.end_ns > ?1 AND f.begin_ns < ?2"
		" GROUP BY a.slice_to, a.slice_from HAVING sum(a.count) > 0"
		" ORDER BY a.slice_to, a.slice_from",
		take_point);

	/* Recordings of older versions have no signals. */
	if (err || sqlite3_table_column_metadata(loader->db, "main", "event", "signal", NULL, NULL,
						 NULL, NULL, NULL))
		return err;
	err = profile_rows__each(
		loader,
		"SELECT g.name || ' ' || s.operation || ': ' || m.name, m.unit, f.begin_ns,"
		" l.end_ns, " SUM_OF_MEASURE " AS sum FROM series_slice c"
		" JOIN series s ON s.id = c.series JOIN signal g ON g.id = s.signal"
		" JOIN measure m ON m.signal = g.id JOIN slice f ON f.id = c.slice_from"
		" JOIN slice l ON l.id = c.slice_to"
		" WHERE m.unit != 'ns' AND m.unit != g.events AND m.name != 'asked'"
		" AND s.thread NOT IN " OTHERS " AND l.end_ns > ?1 AND f.begin_ns < ?2"
		" GROUP BY g.id, s.operation, m.id, c.slice_to, c.slice_from HAVING sum > 0"
		" ORDER BY g.id, s.operation, m.id, c.slice_to, c.slice_from",
		take_point);
	if (err)
		return err;
	return profile_rows__each(
		loader,
		"SELECT e.time_ns, e.duration_ns, e.thread, g.name, g.name || ': ' ||"
		" trim(e.operation || ' ' || e.place), o.name, e.errno FROM event e"
		" JOIN signal g ON g.id = e.signal LEFT JOIN object o ON o.id = e.object"
		" WHERE e.time_ns >= ?1 AND (e.time_ns <= ?2"
		" OR e.time_ns - e.duration_ns < ?2) ORDER BY e.time_ns, e.id",
		take_event);
}
