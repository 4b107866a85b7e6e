/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/sample.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "recording/recording.h"

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* A tick has no length. A wait counts by the part inside the cut. */
static void cut(const struct model *model, struct sample *sample)
{
	int64_t begin_ns = sample->time_ns - sample->whole_wait_ns, end_ns = sample->time_ns;

	sample->weight_ns = sample->whole_weight_ns;
	sample->wait_ns = sample->whole_wait_ns;
	if (!model->cut || !sample->whole_wait_ns)
		return;
	if (begin_ns < model->from_ns)
		begin_ns = model->from_ns;
	if (end_ns > model->to_ns)
		end_ns = model->to_ns;
	sample->wait_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
	/* A wait that is completely inside keeps its exact weight. */
	if (sample->wait_ns < sample->whole_wait_ns)
		sample->weight_ns = (int64_t)((__int128)sample->whole_weight_ns * sample->wait_ns /
					      sample->whole_wait_ns);
}

static int decode(const struct model *model, sqlite3_stmt *row, struct sample *ret)
{
	struct sample sample = {
		.time_ns = sqlite3_column_int64(row, 0),
		.thread = sqlite3_column_int64(row, 1),
		.state = sqlite3_column_int64(row, 2),
		.stack = sqlite3_column_int64(row, 3),
		.waker_stack = sqlite3_column_int64(row, 4),
		.by = sqlite3_column_int64(row, 5),
		.object = sqlite3_column_int64(row, 6),
		.whole_weight_ns = sqlite3_column_int64(row, 7),
		.whole_wait_ns = sqlite3_column_int64(row, 8),
		.period_ns = sqlite3_column_int64(row, 9),
		.count = sqlite3_column_int64(row, 10),
		.flags = sqlite3_column_int64(row, 11),
		.none = (const char *)sqlite3_column_text(row, 12),
		.end = (const char *)sqlite3_column_text(row, 13),
		.evidence = (const char *)sqlite3_column_text(row, 14),
		.first = sqlite3_column_int64(row, 15),
		.ended = (const char *)sqlite3_column_text(row, 16),
		.turn = (int)load__index(row, 17),
		.in_request = sqlite3_column_int64(row, 18) != 0,
		.window = sqlite3_column_int64(row, 19),
	};

	if (sample.whole_weight_ns < 0 || sample.whole_wait_ns < 0)
		return -EBADMSG;
	if (sample.period_ns < 0)
		sample.period_ns = 0;
	/* Clamp hostile times so that a length can be subtracted without overflow. */
	if (sample.time_ns < 0)
		sample.time_ns = 0;
	if (sample.time_ns > LOAD_MOST)
		sample.time_ns = LOAD_MOST;
	cut(model, &sample);
	*ret = sample;
	return 0;
}

/* Recordings of older versions have the evidence only in the table of sums of waits. */
#define EVIDENCE_OF_SUM                                                                            \
	"(SELECT w.evidence FROM wait w WHERE w.thread = x.thread AND w.state = x.state"           \
	" AND w.object = x.object AND w.by = x.by ORDER BY w.ns DESC LIMIT 1), 0"

static bool has_column(sqlite3 *db, const char *name)
{
	return !sqlite3_table_column_metadata(db, "main", "sample", name, NULL, NULL, NULL, NULL,
					      NULL);
}

static int prepare(const struct model *model, sqlite3 *db, bool in_time, sqlite3_stmt **ret)
{
	const char *evidence = has_column(db, "evidence") ? "x.evidence, x.first"
			       : in_time                  ? EVIDENCE_OF_SUM
							  : "NULL, 0";
	const char *ends = has_column(db, "ended") ? "x.ended, x.turn, x.in_request" : "NULL, 0, 0";
	const char *window = has_column(db, "window") ? "x.window" : "0";
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "SELECT x.time_ns, x.thread, x.state, " RECORDING_STACK ", x.waker_stack, x.by,"
		 " x.object, x.weight_ns, x.wait_ns, x.period_ns, x.count, x.flags,"
		 " " RECORDING_NONE ", x.end, %s, %s, %s FROM sample x%s%s",
		 evidence, ends, window,
		 model->cut ? " WHERE x.time_ns > ?1"
			      " AND (x.time_ns <= ?2 OR x.time_ns - x.wait_ns < ?2)"
			    : "",
		 in_time ? " ORDER BY x.time_ns, x.id" : "");
	return load__prepare(model, db, sql, ret);
}

int sample__each(const struct model *model, sqlite3 *db, bool in_time, sample_take *take,
		 void *context)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = prepare(model, db, in_time, &row), rc;
	struct sample sample;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE) {
		err = rc == SQLITE_ROW ? decode(model, row, &sample) : load__error(rc);
		if (!err)
			err = take(context, &sample);
	}
	return err;
}
