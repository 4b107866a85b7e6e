/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks.h"

#include "../harness.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "live.h"
#include "recording/recording.h"

#define MOST_REASONS 16

enum { USER, KERNEL, PLACES, LINES };

/* Stacks by id: how they read, made when first asked for. */
struct stack_line {
	int64_t parent;
	char *names; /* of the frame alone: "inlined-into;innermost" */
	char *places;
	bool in_kernel;
	char *line[LINES];
};

struct stack_lines {
	size_t count;
	struct stack_line at[];
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	return stmt;
}

static int64_t one_number(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = prepare(db, sql);
	int64_t number;

	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	number = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return number;
}

/* In front of what is there already. */
static void put_before(char **names, const char *name)
{
	char *all = NULL;

	if (asprintf(&all, "%s;%s", name, *names ? *names : "") < 0)
		fail_msg("no memory");
	free(*names);
	*names = all;
}

static struct stack_lines *load_lines(sqlite3 *db)
{
	size_t count = (size_t)one_number(db, "SELECT coalesce(max(id), 0) + 1 FROM stack");
	struct stack_lines *lines = calloc(1, sizeof(*lines) + count * sizeof(struct stack_line));
	sqlite3_stmt *stmt = prepare(
		db, "SELECT s.id, s.parent, f.module_kind, f.function, CASE f.source WHEN 'runtime'"
		    " THEN f.function || ' ' || coalesce(replace(f.file, rtrim(f.file,"
		    " replace(f.file, '/', '')), ''), '') || ':' || coalesce(f.line, 0) END"
		    " FROM stack s JOIN frames f ON f.id = s.frame ORDER BY s.id, f.depth");

	assert_non_null(lines);
	lines->count = count;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		struct stack_line *line = &lines->at[sqlite3_column_int64(stmt, 0)];

		line->parent = sqlite3_column_int64(stmt, 1);
		line->in_kernel = !strcmp((const char *)sqlite3_column_text(stmt, 2), "kernel");
		put_before(&line->names, (const char *)sqlite3_column_text(stmt, 3));
		if (sqlite3_column_text(stmt, 4))
			put_before(&line->places, (const char *)sqlite3_column_text(stmt, 4));
	}
	sqlite3_finalize(stmt);
	return lines;
}

/* What the frame adds to a line of this kind; NULL: nothing. */
static const char *part_of(const struct stack_line *line, int kind)
{
	if (kind == PLACES)
		return line->places;
	return line->in_kernel == (kind == KERNEL) ? line->names : NULL;
}

/* A parent is not always made before its child, so this looks for the way up itself. */
static const char *line_of(struct stack_lines *lines, int64_t id, int kind)
{
	struct stack_line *line;
	const char *above, *part;

	if (id <= 0 || (size_t)id >= lines->count)
		return ";";
	line = &lines->at[id];
	if (line->line[kind])
		return line->line[kind];
	above = line_of(lines, line->parent, kind);
	part = part_of(line, kind);
	if (asprintf(&line->line[kind], "%s%s", above, part ? part : "") < 0)
		fail_msg("no memory");
	return line->line[kind];
}

static void copy_text(char *ret, size_t size, sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	snprintf(ret, size, "%s", text ? text : "");
}

static struct sample_row read_sample(sqlite3_stmt *stmt, struct stack_lines *lines)
{
	struct sample_row row = {
		.thread = sqlite3_column_int64(stmt, 0),
		.weight_ns = sqlite3_column_int64(stmt, 4),
		.wait_ns = sqlite3_column_int64(stmt, 5),
		.period_ns = sqlite3_column_int64(stmt, 6),
		.count = sqlite3_column_int64(stmt, 7),
		.is_tick = sqlite3_column_int(stmt, 8),
		.line = line_of(lines, sqlite3_column_int64(stmt, 11), USER),
		.kernel = line_of(lines, sqlite3_column_int64(stmt, 11), KERNEL),
		.waker = line_of(lines, sqlite3_column_int64(stmt, 12), USER),
		.places = line_of(lines, sqlite3_column_int64(stmt, 11), PLACES),
		.is_main = sqlite3_column_int(stmt, 13),
	};

	copy_text(row.comm, sizeof(row.comm), stmt, 1);
	copy_text(row.state, sizeof(row.state), stmt, 2);
	copy_text(row.cause, sizeof(row.cause), stmt, 3);
	copy_text(row.none, sizeof(row.none), stmt, 9);
	copy_text(row.end, sizeof(row.end), stmt, 10);
	return row;
}

static void load_samples(struct stacks_recording *recording)
{
	size_t most = (size_t)one_number(recording->db, "SELECT count(*) FROM samples"), count = 0;
	sqlite3_stmt *stmt = prepare(
		recording->db, "SELECT v.thread, v.comm, v.state, v.cause, v.weight_ns, v.wait_ns,"
			       " x.period_ns, v.count, v.tick, v.none, v.end, v.stack,"
			       " x.waker_stack, v.tid = v.pid"
			       " FROM samples v JOIN sample x ON x.id = v.id ORDER BY v.id");

	recording->samples = calloc(most + 1, sizeof(struct sample_row));
	assert_non_null(recording->samples);
	while (sqlite3_step(stmt) == SQLITE_ROW && count < most)
		recording->samples[count++] = read_sample(stmt, recording->lines);
	sqlite3_finalize(stmt);
	/* Each has a thread and a state that the recording knows. */
	assert_int_equal(count, most);
	recording->count = count;
}

struct stacks_recording stacks__open(const char *path)
{
	struct stacks_recording recording = { .report = trial__report(path) };

	snprintf(recording.path, sizeof(recording.path), "%s", path);
	assert_int_equal(recording__open(path, &recording.db), 0);
	recording.lines = load_lines(recording.db);
	load_samples(&recording);
	return recording;
}

struct stacks_recording stacks__record(const char *const *options, const char *const *command)
{
	int64_t before_ns = stolen_ns();
	struct stacks_recording recording;
	char path[64];
	json_t *log;

	trial__path(path, sizeof(path));
	trial__record_at(path, options, command, &log);
	recording = stacks__open(path);
	recording.log = log;
	recording.stolen_ns = stolen_since(before_ns);
	return recording;
}

void stacks__release(struct stacks_recording *recording)
{
	for (size_t i = 0; recording->lines && i < recording->lines->count; i++) {
		free(recording->lines->at[i].names);
		free(recording->lines->at[i].places);
		for (int kind = 0; kind < LINES; kind++)
			free(recording->lines->at[i].line[kind]);
	}
	free(recording->lines);
	free(recording->samples);
	json_decref(recording->report);
	json_decref(recording->log);
	sqlite3_close(recording->db);
	trial__remove(recording->path);
}

bool sample__is_of(const struct sample_row *sample, const char *comm, const char *state)
{
	return (!comm || !strcmp(comm, sample->comm)) && (!state || !strcmp(state, sample->state));
}

bool sample__is_whole(const struct sample_row *sample)
{
	return !*sample->none && !*sample->end;
}

/* On a busy machine, an emulated one has its tables late. */
static bool is_late(const struct sample_row *sample)
{
	return is_emulated() && !strcmp(sample->end, "tables not ready");
}

struct share stacks__whole(const struct stacks_recording *recording, const char *comm)
{
	struct share share = { 0 };

	for (size_t i = 0; i < recording->count; i++) {
		const struct sample_row *sample = &recording->samples[i];

		if (!sample__is_of(sample, comm, NULL))
			continue;
		if (is_late(sample))
			continue;
		share.all++;
		share.whole += sample__is_whole(sample);
	}
	return share;
}

/* One sample a line of those that are not whole. */
static void print_reasons(const struct stacks_recording *recording, const char *comm)
{
	int shown = 0;

	for (size_t i = 0; i < recording->count && shown < MOST_REASONS; i++) {
		const struct sample_row *sample = &recording->samples[i];
		size_t size = strlen(sample->line);

		if (!sample__is_of(sample, comm, NULL) || sample__is_whole(sample))
			continue;
		print_message("#   %s.%s %s%s %.*s%s\n", sample->state, sample->cause, sample->none,
			      sample->end, 60, sample->line, size > 60 ? "…" : "");
		shown++;
	}
}

void assert_whole(const struct stacks_recording *recording, const char *comm, int64_t least_samples,
		  int percent)
{
	struct share share = stacks__whole(recording, comm);

	if (is_emulated()) /* how often the clock ticks for a thread is a matter of time */
		least_samples = 1;
	print_message("# %s: %" PRId64 " of %" PRId64 " stacks whole\n", comm ? comm : "all",
		      share.whole, share.all);
	if (share.whole < share.all)
		print_reasons(recording, comm);
	if (share.all < least_samples)
		fail_msg("%s: %" PRId64 " samples, expected %" PRId64, comm, share.all,
			 least_samples);
	if (share.whole * 100 < share.all * percent)
		fail_msg("%s: %" PRId64 " of %" PRId64 " stacks are whole, expected %d %%", comm,
			 share.whole, share.all, percent);
}

int64_t stacks__weight(const struct stacks_recording *recording, const char *comm,
		       const char *state, const char *function)
{
	char name[64];
	int64_t sum_ns = 0;

	snprintf(name, sizeof(name), ";%s;", function ? function : "");
	for (size_t i = 0; i < recording->count; i++) {
		const struct sample_row *sample = &recording->samples[i];

		if (sample__is_of(sample, comm, state) && !is_late(sample) &&
		    (!function || strstr(sample->line, name)))
			sum_ns += sample->weight_ns;
	}
	return sum_ns;
}

/*
 * An interval of w counts as P with the chance w/P: its variance is w (P − w), so that of a sum is
 * at most P times the sum. Ticks come in a row, and vary less.
 */
static void check_bias(sqlite3_stmt *stmt, int64_t most_stolen_ns, int *ret_wrong)
{
	const char *comm = (const char *)sqlite3_column_text(stmt, 0);
	const char *cause = (const char *)sqlite3_column_text(stmt, 1);
	double ledger_ns = sqlite3_column_double(stmt, 2),
	       sampled_ns = sqlite3_column_double(stmt, 3);
	double period_ns = sqlite3_column_double(stmt, 4);
	double slack_of_sum = 4 * sqrt(ledger_ns * period_ns) + period_ns;

	/*
	 * An emulator or a hypervisor stops a CPU for longer than a tick. Of the ticks that are
	 * late, one comes, in whatever runs then.
	 */
	if (!strcmp(cause, "run")) {
		if (is_emulated())
			return;
		slack_of_sum += (double)most_stolen_ns;
	}
	if (fabs(sampled_ns - ledger_ns) <= slack_of_sum)
		return;
	print_message("# %s %s: ledger %.3f ms, samples %.3f, allowed ± %.3f\n", comm, cause,
		      ledger_ns / MS, sampled_ns / MS, slack_of_sum / MS);
	(*ret_wrong)++;
}

void assert_unbiased(const struct stacks_recording *recording)
{
	/* Running is one sum: a tick does not always know which side of a call it fell on. */
	sqlite3_stmt *stmt = prepare(
		recording->db,
		"WITH l AS (SELECT a.thread, CASE s.state WHEN 'run' THEN 'run' ELSE"
		" s.state || '.' || s.cause END AS cause, sum(a.ns) AS ns FROM account a JOIN state"
		" s ON s.id = a.state WHERE s.state IN ('run', 'ready', 'wait') GROUP BY 1, 2),"
		" x AS (SELECT x.thread, CASE s.state WHEN 'run' THEN 'run' ELSE s.state || '.' ||"
		" s.cause END AS cause, sum(x.weight_ns) AS ns FROM sample x JOIN state s"
		" ON s.id = x.state GROUP BY 1, 2)"
		" SELECT t.comm, l.cause, l.ns, coalesce(x.ns, 0),"
		" (SELECT max(period_ns) FROM sample) FROM l"
		" LEFT JOIN x ON x.thread = l.thread AND x.cause = l.cause"
		" JOIN thread_named t ON t.id = l.thread");
	int sums = 0, wrong = 0;

	for (; sqlite3_step(stmt) == SQLITE_ROW; sums++)
		check_bias(stmt, recording->stolen_ns, &wrong);
	sqlite3_finalize(stmt);
	print_message("# %d of %d sums are further off than drawing explains\n", wrong, sums);
	if (wrong)
		fail_msg("%d of %d sums of weights do not fit the ledger", wrong, sums);
}
