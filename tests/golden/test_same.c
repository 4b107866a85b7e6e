/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same numbers in the text, the JSON report, the page's data and the recording's views: each
 * number of one recording is looked up in all four. The text is held to what it rounds to. Exports
 * with a time axis have the same sums.
 */
#include "../harness.h"

#include <jansson.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "export/exporter.h"
#include "page/html.h"
#include "recording/recording.h"
#include "report/report.h"
#include "sample.h"

static char *path, *text;
static json_t *json, *page;
static sqlite3 *db;

/* --- the four ------------------------------------------------------------------------------- */

static int print_page(const char *recording, const struct report_options *options, FILE *out)
{
	return html__write_data(recording, &options->model, NULL, out);
}

static char *printed(int (*print)(const char *path, const struct report_options *options,
				  FILE *out),
		     const struct report_options *options)
{
	char *ret = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&ret, &size);

	assert_non_null(out);
	assert_int_equal(print(path, options, out), 0);
	fclose(out);
	return ret;
}

static json_t *parsed(char *document)
{
	json_t *ret = json_loads(document, 0, NULL);

	assert_non_null(ret);
	free(document);
	return ret;
}

static int set_up(void **state)
{
	struct report_options options = {
		.width = 160, .top = 1000, .full = true, .model.by = MODEL_BY_PROCESS
	};

	path = sample__path();
	sample__write_with_all(path);
	text = printed(report__print, &options);
	options.json = true;
	json = parsed(printed(report__print, &options));
	page = parsed(printed(print_page, &options));
	assert_int_equal(recording__open(path, &db), 0);
	return 0;
}

static int tear_down(void **state)
{
	sqlite3_close(db);
	json_decref(page);
	json_decref(json);
	free(text);
	sample__remove(path);
	return 0;
}

static const char *text_at(json_t *object, const char *key)
{
	const char *ret = json_string_value(json_object_get(object, key));

	return ret ? ret : "";
}

/* -1: null, as percentiles of few values are. */
static int64_t number_of(json_t *value)
{
	if (json_is_null(value))
		return -1;
	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static int64_t number_at(json_t *object, const char *key)
{
	return number_of(json_object_get(object, key));
}

static int64_t item(json_t *list, size_t i)
{
	return number_of(json_array_get(list, i));
}

/* What the recording answers; 0 for nothing. %q and %Q are SQLite's. */
static int64_t ask(const char *format, ...)
{
	sqlite3_stmt *row = NULL;
	va_list args;
	int64_t ret;
	char *sql;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	assert_non_null(sql);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	ret = sqlite3_column_int64(row, 0);
	assert_int_equal(sqlite3_step(row), SQLITE_DONE);
	sqlite3_finalize(row);
	sqlite3_free(sql);
	return ret;
}

/* Behind `at`, as words of their own; NULL if they are not on the line. */
static const char *find_words(const char *at, const char *end, const char *words)
{
	size_t length = strlen(words);

	for (const char *found; (found = strstr(at, words)) && found + length <= end;
	     at = found + 1)
		if ((found == text || strchr(" \n(", found[-1])) &&
		    strchr(" \n,:;)", found[length]))
			return found + length;
	return NULL;
}

/* A line of the section below `heading` has all these words, in this order, up to a NULL. */
static void text_says(const char *heading, const char *const *words)
{
	const char *section = strstr(text, heading), *line, *end;

	if (!section)
		fail_msg("no '%s' in the text", heading);
	end = strstr(section, "\n\n");
	end = end ? end + 1 : section + strlen(section);
	for (line = section; line < end; line = strchr(line, '\n') + 1) {
		const char *at = line;

		for (size_t i = 0; at && words[i]; i++)
			at = find_words(at, strchr(line, '\n') + 1, words[i]);
		if (at)
			return;
	}
	fail_msg("below '%s' the text has no line with '%s', '%s', …:\n%.*s", heading, words[0],
		 words[1], (int)(end - section), section);
}
#define TEXT_SAYS(heading, ...) text_says(heading, (const char *[]) { __VA_ARGS__, NULL })

/* --- states and causes ---------------------------------------------------------------------- */

/* The page says "run" where the JSON report has no kind. */
static const char *kind_of(json_t *one)
{
	const char *kind = text_at(one, "kind");

	return *kind ? kind : text_at(one, "state");
}

static bool same_state(json_t *a, json_t *b)
{
	return !strcmp(text_at(a, "state"), text_at(b, "state")) &&
	       !strcmp(text_at(a, "cause"), text_at(b, "cause")) && !strcmp(kind_of(a), kind_of(b));
}

static size_t state_of_page(json_t *wanted)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(page, "states"), i, one)
		if (same_state(one, wanted))
			return i;
	fail_msg("no %s.%s on the page", text_at(wanted, "state"), text_at(wanted, "cause"));
	return 0;
}

static int64_t ask_state(const char *what, const char *view, const char *where, json_t *one)
{
	return ask("SELECT %s FROM %s WHERE state = %Q AND cause = %Q AND kind IS nullif(%Q, '')"
		   " AND %s",
		   what, view, text_at(one, "state"), text_at(one, "cause"), text_at(one, "kind"),
		   where);
}

static void states(void **unused)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(json, "states"), i, one) {
		json_t *ours = json_array_get(json_object_get(page, "states"), state_of_page(one));
		int64_t ns = number_at(one, "ns"), count = number_at(one, "count");
		char name[128];

		assert_int_equal(number_at(ours, "ns"), ns);
		assert_int_equal(number_at(ours, "count"), count);
		assert_int_equal(ask_state("ns", "time_by_state", "1", one), ns);
		assert_int_equal(ask_state("count", "time_by_state", "1", one), count);
		snprintf(name, sizeof(name), "%s.%s", text_at(one, "state"), text_at(one, "cause"));
		TEXT_SAYS("where the time went", name, words__time(ns).text,
			  words__share(ns, number_at(json, "threads_ns")).text,
			  words__number(count).text);
	}
	assert_int_equal(i, 9);
	assert_int_equal(number_at(json, "threads_ns"), number_at(page, "threads_ns"));
	assert_int_equal(number_at(json, "threads_ns"),
			 ask("SELECT sum(lifetime_ns) FROM threads"));
}

/* Of the threads of a process. */
static int64_t json_sum(int64_t pid, json_t *wanted)
{
	json_t *thread, *one;
	int64_t sum = 0;
	size_t i, j;

	json_array_foreach (json_object_get(json, "threads"), i, thread)
		json_array_foreach (json_object_get(thread, "states"), j, one)
			if (number_at(thread, "pid") == pid && same_state(one, wanted))
				sum += number_at(one, "ns");
	return sum;
}

static int64_t page_sum(int64_t pid, size_t wanted)
{
	json_t *cells = json_object_get(page, "thread_states"), *value;
	json_t *pids = json_object_get(json_object_get(page, "threads"), "pid");
	int64_t thread = 0, state = 0, sum = 0;
	size_t i;

	json_array_foreach (json_object_get(cells, "ns"), i, value) {
		thread += item(json_object_get(cells, "thread"), i);
		state += item(json_object_get(cells, "state"), i);
		if (item(pids, (size_t)thread) == pid && (size_t)state == wanted)
			sum += json_integer_value(value);
	}
	return sum;
}

static void states_of_each_process(void **unused)
{
	static const char *const kinds[] = { "run_ns", "ready_ns", "delaying_ns", "undecided_ns",
					     "idle_ns" };
	json_t *row, *one;
	size_t i, j;

	json_array_foreach (json_object_get(json, "by"), i, row) {
		int64_t pid = number_at(row, "number"), all = number_at(row, "threads_ns");
		char where[64], name[64];

		snprintf(where, sizeof(where), "pid = %lld", (long long)pid);
		json_array_foreach (json_object_get(json, "states"), j, one) {
			int64_t ns = json_sum(pid, one);

			assert_int_equal(page_sum(pid, state_of_page(one)), ns);
			assert_int_equal(ask_state("sum(ns)", "time_by_process", where, one), ns);
		}
		snprintf(name, sizeof(name), "%lld", (long long)pid);
		TEXT_SAYS("by process", text_at(row, "name"), name, words__time(all).text,
			  words__share(number_at(row, kinds[0]), all).text,
			  words__share(number_at(row, kinds[1]), all).text,
			  words__share(number_at(row, kinds[2]), all).text,
			  words__share(number_at(row, kinds[3]), all).text,
			  words__share(number_at(row, kinds[4]), all).text);
		for (j = 0; j < sizeof(kinds) / sizeof(*kinds); j++)
			assert_int_equal(ask("SELECT sum(ns) FROM time_by_process WHERE %s AND"
					     " coalesce(kind, state) = %.*Q",
					     where, (int)strlen(kinds[j]) - 3, kinds[j]),
					 number_at(row, kinds[j]));
	}
	assert_int_equal(i, 2);
}

/* --- syscalls and signals ------------------------------------------------------------------- */

static json_t *named(json_t *list, const char *name)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (!strcmp(text_at(one, "name"), name))
			return one;
	fail_msg("no '%s' on the page", name);
	return NULL;
}

static struct words percentile_at(json_t *object, const char *key)
{
	int64_t ns = number_at(object, key);

	return ns < 0 ? (struct words) { "-" } : words__time(ns);
}

static void syscalls(void **unused)
{
	static const char *const keys[] = { "count",  "errors", "total_ns", "run_ns",  "p50_ns",
					    "p90_ns", "p95_ns", "p99_ns",   "p999_ns", "max_ns" };
	json_t *call;
	size_t i;

	json_array_foreach (json_object_get(json, "syscalls"), i, call) {
		const char *name = text_at(call, "name");
		json_t *ours = named(json_object_get(page, "syscalls"), name);

		for (size_t j = 0; j < sizeof(keys) / sizeof(*keys); j++) {
			assert_int_equal(number_at(ours, keys[j]), number_at(call, keys[j]));
			assert_int_equal(
				ask("SELECT coalesce(%s, -1) FROM syscalls WHERE name = %Q",
				    keys[j], name),
				number_at(call, keys[j]));
		}
		TEXT_SAYS("top syscalls", name, words__number(number_at(call, "count")).text,
			  words__time(number_at(call, "total_ns")).text,
			  words__time(number_at(call, "run_ns")).text,
			  percentile_at(call, "p50_ns").text, percentile_at(call, "p90_ns").text,
			  percentile_at(call, "p95_ns").text, percentile_at(call, "p99_ns").text,
			  percentile_at(call, "p999_ns").text,
			  words__time(number_at(call, "max_ns")).text);
	}
	assert_int_equal(i, 2);
}

static json_t *row_of_page(json_t *signal, json_t *wanted)
{
	json_t *one;
	size_t i;

	json_array_foreach (json_object_get(signal, "rows"), i, one)
		if (!strcmp(text_at(one, "place"), text_at(wanted, "place")) &&
		    !strcmp(text_at(one, "operation"), text_at(wanted, "operation")))
			return one;
	fail_msg("no %s %s on the page", text_at(wanted, "operation"), text_at(wanted, "place"));
	return NULL;
}

/* Each measure of an operation; returns how many percentiles there were. */
static size_t compare_values(json_t *signal, json_t *ours, json_t *row)
{
	static const char *const shares[] = { "p50", "p90", "p95", "p99", "p999", "max", "count" };
	json_t *measure;
	size_t i, found = 0;

	json_array_foreach (json_object_get(signal, "measures"), i, measure) {
		const char *name = text_at(measure, "name");
		json_t *value = json_object_get(json_object_get(row, "values"), name);
		size_t id = (size_t)number_at(measure, "id");
		char *where = sqlite3_mprintf(
			"WHERE signal = %Q AND place = %Q AND operation = %Q AND measure = %Q",
			text_at(signal, "name"), text_at(row, "place"), text_at(row, "operation"),
			name);

		assert_string_equal(text_at(measure, "unit"), text_at(value, "unit"));
		assert_int_equal(item(json_object_get(ours, "sum"), id), number_at(value, "sum"));
		assert_int_equal(item(json_object_get(ours, "max"), id), number_at(value, "max"));
		assert_int_equal(ask("SELECT sum(sum) FROM signal_sums %s", where),
				 number_at(value, "sum"));
		for (size_t j = 0; j < 7 && json_object_get(value, "p50"); j++, found++) {
			json_t *list = json_object_get(ours, j == 6 ? "timed" : shares[j]);

			assert_int_equal(item(list, id), number_at(value, shares[j]));
			assert_int_equal(ask("SELECT coalesce(%s, -1) FROM signal_percentiles %s",
					     shares[j], where),
					 number_at(value, shares[j]));
		}
		sqlite3_free(where);
	}
	return found;
}

/* Signals whose operations the text has in a table; what is trouble is in a sentence there. */
static void compare_text(json_t *signal, json_t *row)
{
	const char *name = text_at(signal, "name"), *operation = text_at(row, "operation");
	json_t *values = json_object_get(row, "values");
	json_t *main = json_object_get(values, strcmp(name, "block") ? "time" : "total");
	char heading[64], what[128];

	if (!strcmp(name, "syscalls") || !strcmp(name, "exec") ||
	    !strcmp(operation, "retransmit") || !strcmp(operation, "overflow"))
		return;
	snprintf(heading, sizeof(heading), "\n%s (", name);
	snprintf(what, sizeof(what), "%s%s%s", operation, *text_at(row, "place") ? " " : "",
		 text_at(row, "place"));
	if (json_object_get(main, "p50"))
		TEXT_SAYS(heading, what, words__number(number_at(row, "count")).text,
			  percentile_at(main, "p50").text, percentile_at(main, "p90").text,
			  percentile_at(main, "p95").text, percentile_at(main, "p99").text,
			  percentile_at(main, "p999").text,
			  words__time(number_at(main, "max")).text,
			  words__time(number_at(main, "sum")).text);
	else
		TEXT_SAYS(heading, what, words__number(number_at(row, "count")).text);
}

static void signals(void **unused)
{
	json_t *signal, *row;
	size_t i, j, rows = 0, percentiles = 0;

	json_array_foreach (json_object_get(json, "signals"), i, signal) {
		json_t *ours = named(json_object_get(page, "signals"), text_at(signal, "name"));

		assert_int_equal(number_at(ours, "count"), number_at(signal, "count"));
		assert_int_equal(number_at(ours, "errors"), number_at(signal, "errors"));
		assert_int_equal(number_at(ours, "event_count"), number_at(signal, "event_count"));
		json_array_foreach (json_object_get(signal, "rows"), j, row) {
			json_t *one = row_of_page(ours, row);

			assert_int_equal(number_at(one, "count"), number_at(row, "count"));
			assert_int_equal(number_at(one, "errors"), number_at(row, "errors"));
			percentiles += compare_values(ours, one, row);
			compare_text(signal, row);
			rows++;
		}
	}
	assert_int_equal(rows, 2 + 3 + 4 + 7 + 1);
	assert_true(percentiles > 70);
}

/* What the page's tables of operations add up, over time and by whom. */
static void series_add_up_to_the_operations(void **unused)
{
	json_t *series = json_object_get(page, "series"), *signal, *one;
	json_t *cells = json_object_get(json_object_get(page, "series_cells"), "rows");
	size_t i, j;

	json_array_foreach (json_object_get(page, "signals"), i, signal) {
		int64_t sums[2] = {}, timed = 0, at = 0;

		json_array_foreach (series, j, one) {
			if (number_at(one, "signal") != (json_int_t)i)
				continue;
			sums[0] += number_at(one, "count");
			sums[1] += number_at(one, "errno") ? number_at(one, "count") : 0;
		}
		json_array_foreach (json_object_get(cells, "count"), j, one) {
			at += item(json_object_get(cells, "series"), j);
			if (number_at(json_array_get(series, (size_t)at), "signal") ==
			    (json_int_t)i)
				timed += json_integer_value(one);
		}
		assert_int_equal(sums[0], number_at(signal, "count"));
		assert_int_equal(sums[1], number_at(signal, "errors"));
		assert_int_equal(timed, number_at(signal, "count"));
	}
	assert_int_equal(i, 5);
}

/* Of a histogram over time, all values. */
static int64_t values_of(size_t wanted)
{
	json_t *rows = json_object_get(json_object_get(page, "heat"), "rows"), *count;
	int64_t histogram = 0, sum = 0;
	size_t i;

	json_array_foreach (json_object_get(rows, "count"), i, count) {
		histogram += item(json_object_get(rows, "histogram"), i);
		if ((size_t)histogram == wanted)
			sum += json_integer_value(count);
	}
	return sum;
}

static void histograms(void **unused)
{
	json_t *one;
	size_t i, of_signals = 0;

	json_array_foreach (json_object_get(page, "histograms"), i, one) {
		int64_t views, values = values_of(i);

		if (json_object_get(one, "name")) {
			assert_int_equal(number_at(one, "count"), values);
			views = ask("SELECT sum(count) FROM histograms WHERE of = %Q AND name = %Q"
				    " AND kind IS nullif(%Q, '')",
				    text_at(one, "of"), text_at(one, "name"), text_at(one, "kind"));
		} else {
			views = ask("SELECT sum(count) FROM signal_histograms WHERE signal = %Q"
				    " AND place = %Q AND operation = %Q AND measure = %Q",
				    text_at(one, "of"), text_at(one, "place"),
				    text_at(one, "operation"), text_at(one, "measure"));
			of_signals++;
		}
		assert_true(values > 0);
		assert_int_equal(values, views);
	}
	assert_int_equal(i - of_signals, json_array_size(json_object_get(json, "histograms")));
	assert_int_equal(of_signals, 7 + 4 + 3 + 1);
}

static void services_and_programs(void **unused)
{
	static const char *const keys[] = { "connections", "opened", "ended",      "lifetime_ns",
					    "bytes",       "resets", "sent_again", "overflows" };
	json_t *theirs = named(json_object_get(json, "signals"), "tcp"), *one;
	json_t *ours = named(json_object_get(page, "signals"), "tcp");
	size_t i;

	json_array_foreach (json_object_get(theirs, "services"), i, one) {
		json_t *same = json_array_get(json_object_get(ours, "services"), i);

		assert_string_equal(text_at(same, "name"), text_at(one, "name"));
		for (size_t j = 0; j < sizeof(keys) / sizeof(*keys); j++)
			assert_int_equal(number_at(same, keys[j]), number_at(one, keys[j]));
		TEXT_SAYS("bytes connected", words__bytes(number_at(one, "bytes")).text,
			  words__number(number_at(one, "connections")).text, text_at(one, "name"));
	}
	assert_int_equal(i, 3);
	theirs = json_object_get(named(json_object_get(json, "signals"), "exec"), "programs");
	ours = json_object_get(named(json_object_get(page, "signals"), "exec"), "programs");
	json_array_foreach (theirs, i, one) {
		assert_true(json_equal(one, json_array_get(ours, i)));
		assert_int_equal(ask("SELECT count(*) FROM events WHERE signal = 'exec' AND"
				     " operation = 'exec' AND fields ->> 'file' = %Q",
				     text_at(one, "file")),
				 number_at(one, "count"));
		TEXT_SAYS("longest  program", words__number(number_at(one, "count")).text,
			  text_at(one, "file"));
	}
	assert_int_equal(i, 2);
}

/* --- code, and what all this can be believed ------------------------------------------------- */

/* How long the page's samples have a function running as the innermost one. */
static int64_t page_self_run(const char *name)
{
	json_t *rows = json_object_get(json_object_get(page, "samples"), "rows"), *us;
	json_t *names = json_object_get(json_object_get(page, "functions"), "name");
	json_t *functions = json_object_get(json_object_get(page, "nodes"), "function");
	int64_t node = 0, state = 0, sum = 0;
	size_t i;

	json_array_foreach (json_object_get(rows, "us"), i, us) {
		const char *own;
		json_t *kind;

		node += item(json_object_get(rows, "node"), i);
		state += item(json_object_get(rows, "state"), i);
		kind = json_object_get(
			json_array_get(json_object_get(page, "states"), (size_t)state), "kind");
		own = json_string_value(
			json_array_get(json_object_get(page, "texts"),
				       (size_t)item(names, (size_t)item(functions, (size_t)node))));
		if (own && !strcmp(own, name) && !strcmp(json_string_value(kind), "run"))
			sum += json_integer_value(us);
	}
	return sum;
}

static void hot_functions(void **unused)
{
	size_t i, compared = 0;
	json_t *one;

	json_array_foreach (json_object_get(json, "hot"), i, one) {
		const char *name = text_at(one, "function");
		int64_t ns = number_at(one, "self_run_ns");

		/* Names that only a view makes up, and those that a person cannot read. */
		if (!ns || !*name || *name == '[' || strcmp(words__clean(name, 50).text, name))
			continue;
		assert_int_equal(page_self_run(name), ns / 1000);
		assert_int_equal(ask("SELECT sum(x.weight_ns) FROM samples x JOIN stack k"
				     " ON k.id = x.stack JOIN frames f ON f.id = k.frame"
				     " JOIN threads t ON t.id = x.thread WHERE x.state = 'run'"
				     " AND NOT t.own AND f.depth = 0 AND f.function = %Q",
				     name),
				 ns);
		TEXT_SAYS("hot code", words__time(ns).text,
			  words__number(number_at(one, "self_samples")).text,
			  words__time(number_at(one, "total_run_ns")).text, name);
		compared++;
	}
	assert_true(compared >= 4);
}

static void quality_and_cost(void **unused)
{
	const char *name;
	json_t *value;
	size_t compared = 0;

	json_object_foreach (json_object_get(json, "quality"), name, value) {
		int64_t number = json_integer_value(value);
		json_t *ours =
			json_object_get(named(json_object_get(page, "quality"), name), "value");

		assert_int_equal((int64_t)json_number_value(ours), number);
		assert_int_equal(ask("SELECT value FROM quality WHERE name = %Q", name), number);
		if (number)
			TEXT_SAYS("does it add up?", name, words__number(number).text);
		compared++;
	}
	assert_true(compared >= 3);
	json_object_foreach (json_object_get(json, "cost"), name, value) {
		json_t *ours = json_object_get(named(json_object_get(page, "cost"), name), "value");

		assert_true(json_number_value(ours) == json_number_value(value));
		assert_int_equal(ask("SELECT value FROM cost WHERE name = %Q", name),
				 (int64_t)json_number_value(value));
	}
	assert_int_equal(number_at(page, "unexplained_ns"), number_at(json, "unexplained_ns"));
	assert_int_equal(ask("SELECT (SELECT sum(unexplained_ns) FROM threads)"
			     " + (SELECT sum(ns) FROM time_by_state WHERE state = 'unseen')"),
			 number_at(json, "unexplained_ns"));
	TEXT_SAYS("does it add up?", "unexplained",
		  words__time(number_at(json, "unexplained_ns")).text);
}

/* --- exports with a time axis --------------------------------------------------------------- */

static json_t *exported(const struct exporter *exporter)
{
	struct profile *profile = NULL;
	char *document = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&document, &size);

	assert_non_null(out);
	assert_int_equal(
		profile__load(path, &(struct profile_options) { .accounts = true }, &profile), 0);
	assert_int_equal(exporter->write(profile, out), 0);
	profile__free(profile);
	fclose(out);
	return parsed(document);
}

#define NOT_OWN "thread NOT IN (SELECT id FROM thread WHERE flags & 4)"

/* What was counted in `unit`s, and is shown a second. */
static int64_t counted(const char *unit)
{
	return ask("SELECT coalesce(sum(sum), 0) FROM signal_sums WHERE unit = %Q AND measure !="
		   " 'asked' AND unit != (SELECT events FROM signal g WHERE g.name ="
		   " signal_sums.signal)",
		   unit);
}

static void firefox(void **unused)
{
	json_t *document = exported(&export_firefox), *one, *value;
	double weight_ms = 0, bytes = 0;
	int64_t events = 0;
	size_t i, j;

	json_array_foreach (json_object_get(document, "threads"), i, one) {
		json_array_foreach (json_object_get(json_object_get(one, "samples"), "weight"), j,
				    value)
			weight_ms += json_number_value(value);
		json_array_foreach (json_object_get(json_object_get(one, "markers"), "data"), j,
				    value)
			events += !strcmp(text_at(value, "type"), "event");
	}
	assert_int_equal((int64_t)(weight_ms * 1e6 + 0.5),
			 ask("SELECT sum(weight_ns) FROM sample WHERE " NOT_OWN));
	assert_int_equal(events, ask("SELECT count(*) FROM event WHERE " NOT_OWN));
	json_array_foreach (json_object_get(document, "counters"), i, one) {
		json_t *display = json_object_get(one, "display");

		json_array_foreach (json_object_get(json_object_get(one, "samples"), "count"), j,
				    value)
			bytes += strcmp(text_at(display, "unit"), "bytes")
					 ? 0
					 : json_number_value(value);
	}
	assert_true(events > 0 && bytes > 0);
	assert_int_equal((int64_t)bytes, counted("bytes"));
	json_decref(document);
}

/* Shares of a thread's time add up to all of it, waits are there once, and all events. */
static void chrome(void **unused)
{
	json_t *document = exported(&export_chrome), *one, *value;
	int64_t events = 0, waits = 0, shares = 0;
	const char *key;
	size_t i;

	json_array_foreach (json_object_get(document, "traceEvents"), i, one) {
		const char *phase = text_at(one, "ph"), *name = text_at(one, "name");
		double sum = 0;

		events += !strcmp(phase, "b") || !strcmp(phase, "n");
		waits += !strcmp(phase, "X");
		if (strcmp(phase, "C") || strncmp(name, "% of time", 9))
			continue;
		json_object_foreach (json_object_get(one, "args"), key, value)
			sum += json_number_value(value);
		/* The last point of a counter is 0. */
		assert_true(sum == 0 || (sum > 99.9 && sum < 100.001));
		shares += sum > 0;
	}
	assert_int_equal(events, ask("SELECT count(*) FROM event WHERE " NOT_OWN));
	assert_int_equal(waits,
			 ask("SELECT count(*) FROM sample WHERE flags & 2 = 0 AND " NOT_OWN));
	assert_int_equal(shares, ask("SELECT count(*) FROM (SELECT DISTINCT thread, slice_from,"
				     " slice_to FROM account WHERE " NOT_OWN ")"));
	json_decref(document);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),
		cmocka_unit_test(states_of_each_process),
		cmocka_unit_test(syscalls),
		cmocka_unit_test(signals),
		cmocka_unit_test(series_add_up_to_the_operations),
		cmocka_unit_test(histograms),
		cmocka_unit_test(services_and_programs),
		cmocka_unit_test(hot_functions),
		cmocka_unit_test(quality_and_cost),
		cmocka_unit_test(firefox),
		cmocka_unit_test(chrome),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
