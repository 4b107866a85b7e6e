/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints what samples show. Every number from samples comes with its error and the number of
 * samples. The exact sums are in the tables of states and waits.
 */
#include <string.h>

#include "report/printer.h"

#define RUNS_SHOWN    10
#define WAITS_SHOWN   5
#define PATHS_SHOWN   2
#define WIDE          100
#define WIDEST        120
#define LEAST_ROOM    20
#define LEAST_PERCENT 20 /* least share of a path that is printed */
#define LEAST_UNNAMED 5  /* least percent of frames without a name that gets a remedy */
#define LEAST_HOOKS   1  /* least percent of running time that is printed */
#define WAY_INDENT    11

/* --- functions ----------------------------------------------------------------------------- */

/* The sum of all samples of a kind, including those without a stack. */
static struct hot_sum whole(const struct hot *hot, enum hot_kind kind)
{
	struct hot_sum sum = hot->sampled[kind == HOT_RUN ? KIND_RUN : KIND_DELAYING];

	if (kind == HOT_WAIT)
		hot__add(&sum, &hot->sampled[KIND_UNDECIDED]);
	return sum;
}

/* A table of functions. */
struct table {
	enum hot_kind kind;
	struct hot_sum sum; /* the shares are shares of this */
	size_t count;       /* number of rows */
	bool totals[HOT_KINDS];
};

static struct table table_of(const struct printer *printer, enum hot_kind kind)
{
	const struct hot *hot = &printer->model->hot;
	struct table table = {
		.kind = kind,
		.sum = whole(hot, kind),
		.count = printer__shown(printer, hot->rank_counts[kind],
					kind == HOT_RUN ? RUNS_SHOWN : WAITS_SHOWN),
	};

	/* Leave out a column that has only zeroes. */
	for (size_t i = 0; i < table.count; i++)
		for (int other = 0; other < HOT_KINDS; other++)
			if (hot->functions[hot->ranks[kind][i]].total[other].ns)
				table.totals[other] = true;
	return table;
}

/* Columns left for the function's name and location. */
static int room(const struct printer *printer, const struct table *table)
{
	int left = printer->width - (printer->width >= WIDE ? 9 + 7 : 9) - 6 - 9 - 2;

	for (int kind = 0; kind < HOT_KINDS; kind++)
		left -= table->totals[kind] ? 11 : 0;
	return left < LEAST_ROOM ? LEAST_ROOM : left;
}

/* "libfoo.so", and the source line if there is room for it; of a managed function only that. */
static struct words where(const struct printer *printer, const struct hot_function *function,
			  int columns)
{
	const char *slash = function->file ? strrchr(function->file, '/') : NULL;
	struct words words = words__clean(hot__where(function), columns);
	char line[PRINTER_LINE] = "";

	if (!function->file || (printer->width < WIDEST && !function->is_managed))
		return words;
	words__say(line, sizeof(line), "%s", words.text);
	if (!function->is_managed)
		words__say(line, sizeof(line), " %s",
			   words__clean(slash ? slash + 1 : function->file, columns).text);
	if (function->line > 0)
		words__say(line, sizeof(line), ":%lld", (long long)function->line);
	return words__clean(line, columns);
}

static void print_function(const struct printer *printer, const struct hot_function *function,
			   const struct table *table)
{
	const struct hot_sum *self = &function->self[table->kind], *of = &table->sum;
	bool unnamed = !function->named && function->module;
	int columns = room(printer, table), where_columns = columns / 3;
	struct words name;

	if (printer->width >= WIDE)
		words__field(printer->out, words__brief_time(self->ns).text, -9);
	words__field(printer->out, words__about(self->ns, of->ns).text,
		     printer->width >= WIDE ? -7 : -9);
	words__field(printer->out, hot__plus_minus(hot__error(self, of)).text, -6);
	words__field(printer->out, words__number(self->samples).text, -9);
	for (int kind = 0; kind < HOT_KINDS; kind++)
		if (table->totals[kind])
			words__field(printer->out, words__brief_time(function->total[kind].ns).text,
				     -11);
	fputs("  ", printer->out);
	columns -= where_columns + 2;
	name = words__clean(unnamed ? "(no symbols)" : function->name, columns);
	if (function->module) {
		words__field(printer->out, name.text, columns + 2);
		name = where(printer, function, where_columns);
	}
	fprintf(printer->out, "%s\n", name.text);
}

static void print_call_path(const struct printer *printer, const char *what,
			    const struct hot_cell *cell, const struct hot_sum *whole, int indent)
{
	char text[PRINTER_LINE] = "";

	words__say(text, sizeof(text), "%s ", what);
	if (cell->place)
		hot__say_path(&printer->model->hot, cell->place, text, sizeof(text));
	else
		words__say(text, sizeof(text), "code unknown: no user stack");
	words__say(text, sizeof(text), " (%s%s)", hot__share(&cell->sum, whole).text,
		   printer->model->cut ? " in this part" : "");
	fprintf(printer->out, "%*s", indent, "");
	printer__wrap(printer, text, indent + 2);
}

static bool reaches(const struct hot_cell *cell, const struct hot_sum *sum, int percent)
{
	return (double)cell->sum.ns * 100 >= (double)sum->ns * percent;
}

/* Prints the call path of the function that runs most, if it has more than the function itself. */
static void print_way(const struct printer *printer)
{
	const struct hot *hot = &printer->model->hot;
	const struct hot_cell *way = &hot->way;
	const struct hot_node *node = &hot->nodes[way->place];
	const struct hot_sum *self = &hot->functions[way->owner].self[HOT_RUN];
	bool alone = !node->parent && hot->functions[node->function].row == way->owner;

	/* A function without a name would show only addresses. */
	if (way->place && !alone && hot->functions[way->owner].named &&
	    reaches(way, self, LEAST_PERCENT))
		print_call_path(printer, "from", way, self, WAY_INDENT);
}

/* The measurement itself uses running time; say how much. */
static void print_hooks(const struct printer *printer, const struct hot_sum *of)
{
	const struct hot_sum *hooks = &printer->model->hot.hooks;
	char text[PRINTER_LINE] = "";

	if (hooks->ns <= 0 || (double)hooks->ns * 100 < (double)of->ns * LEAST_HOOKS)
		return;
	words__say(text, sizeof(text),
		   "%s of the running time is in BPF programs; gapless's part is in 'own cost'",
		   words__about(hooks->ns, of->ns).text);
	fputs("  ", printer->out);
	printer__wrap(printer, text, 4);
}

static void print_functions(const struct printer *printer, enum hot_kind kind)
{
	static const char *const titles[HOT_KINDS] = { "self run", "self wait" };
	static const char *const totals[HOT_KINDS] = { "total run", "total wait" };
	static const char *const what[HOT_KINDS] = { "running functions", "waiting functions" };
	const struct hot *hot = &printer->model->hot;
	struct table table = table_of(printer, kind);
	int columns = room(printer, &table);

	if (!table.count)
		return;
	words__field(printer->out, titles[kind], -9);
	if (printer->width >= WIDE)
		words__field(printer->out, "share", -7);
	words__field(printer->out, "±", -6);
	fprintf(printer->out, "%9s", "samples");
	for (int other = 0; other < HOT_KINDS; other++)
		if (table.totals[other])
			fprintf(printer->out, "%11s", totals[other]);
	fputs("  ", printer->out);
	words__field(printer->out, "function", columns - columns / 3);
	fputs("where\n", printer->out);
	for (size_t i = 0; i < table.count; i++) {
		print_function(printer, &hot->functions[hot->ranks[kind][i]], &table);
		if (kind == HOT_RUN && hot->ranks[kind][i] == hot->way.owner)
			print_way(printer);
	}
	printer__rest(printer, hot->rank_counts[kind] - table.count, what[kind]);
	if (kind == HOT_RUN)
		print_hooks(printer, &table.sum);
}

void printer__hot(const struct printer *printer)
{
	const struct hot *hot = &printer->model->hot;
	char text[PRINTER_LINE], line[PRINTER_LINE] = "";
	const char *why = hot__why_none(printer->model, text, sizeof(text));
	struct hot_sum run, wait;

	/* An old recording has no samples, so there is nothing to explain. */
	if (!hot->known)
		return;
	printer__heading(printer, "hot code");
	if (why) {
		words__say(line, sizeof(line), "none, %s", why);
		fputs(": ", printer->out);
		printer__wrap(printer, line, 10);
		return;
	}
	run = whole(hot, HOT_RUN);
	wait = whole(hot, HOT_WAIT);
	words__say(line, sizeof(line),
		   "(%s running in %s, %s waiting in %s; all else left out; right within ± "
		   "in 95 of 100)",
		   words__time(run.ns).text, words__count(run.samples, "samples").text,
		   words__time(wait.ns).text, words__number(wait.samples).text);
	fputc(' ', printer->out);
	printer__wrap(printer, line, 9);
	print_functions(printer, HOT_RUN);
	print_functions(printer, HOT_WAIT);
}

/* --- call paths of waits ------------------------------------------------------------------- */

void printer__paths(const struct printer *printer, const struct model_blame *blame)
{
	const struct hot *hot = &printer->model->hot;
	struct hot_sum sum;
	size_t count;
	const struct hot_cell *cell = hot__find(&hot->paths, blame->owner, &count, &sum);

	if (cell && !reaches(cell, &sum, LEAST_PERCENT))
		fprintf(printer->out, "%*sfrom %s, none with %d %% (%s)\n", PRINTER_BLAME_INDENT,
			"", words__count((int64_t)count, "paths").text, LEAST_PERCENT,
			words__count(sum.samples, "samples").text);
	for (size_t i = 0; cell && i < count && i < PATHS_SHOWN; i++)
		if (reaches(&cell[i], &sum, LEAST_PERCENT))
			print_call_path(printer, "from", &cell[i], &sum, PRINTER_BLAME_INDENT);
	cell = hot__find(&hot->wakers, blame->owner, &count, &sum);
	if (cell && cell->place && reaches(cell, &sum, LEAST_PERCENT))
		print_call_path(printer, "woken from", cell, &sum, PRINTER_BLAME_INDENT);
}

/* --- how good they are --------------------------------------------------------------------- */

/* Below three periods of time, perhaps no sample was drawn, so samples say nothing. */
static double least_ns(const struct hot *hot)
{
	return 3 * (double)(hot->tick_ns ? hot->tick_ns : hot->period_ns);
}

static double total_error_ns(const struct hot *hot, const struct hot_sum *sum)
{
	double error = (double)hot__error_ns(sum), least = least_ns(hot);

	return error > least ? error : least;
}

/* "99.2 % ±1.3": the sum of the samples' weights as a share of the ledger's time. */
static void say_ratio(char *text, size_t size, const struct hot *hot, const struct hot_sum *sum,
		      int64_t ledger_ns)
{
	double error = ledger_ns > 0 ? 100.0 * total_error_ns(hot, sum) / (double)ledger_ns : 0;

	if ((double)ledger_ns < least_ns(hot))
		words__say(text, size, "too short to sample");
	else
		words__say(text, size, "%s %s", words__share(sum->ns, ledger_ns).text,
			   hot__plus_minus(error).text);
}

/* Whether the difference is larger than chance explains and large enough to matter. */
static bool is_off(const struct hot *hot, const struct hot_sum *sum, int64_t ledger_ns)
{
	double off = (double)sum->ns - (double)ledger_ns;

	off = off < 0 ? -off : off;
	return off > 1.5 * total_error_ns(hot, sum) && off > 0.01 * (double)ledger_ns;
}

static void print_totals(const struct printer *printer)
{
	const struct hot *hot = &printer->model->hot;
	char text[PRINTER_LINE] = "";
	struct hot_sum all = {};
	int64_t ledger_ns = 0;
	bool off = false;

	for (int i = KIND_RUN; i <= KIND_IDLE; i++) {
		hot__add(&all, &hot->sampled[i]);
		ledger_ns += hot->ledger_ns[i];
	}
	words__say(text, sizeof(text), "%s", words__number(hot->samples).text);
	if (hot->tick_ns)
		words__say(text, sizeof(text), ", %.3g a second of running",
			   1e9 / (double)hot->tick_ns);
	if ((double)ledger_ns >= least_ns(hot)) {
		words__say(text, sizeof(text), "%s stand for ", hot->tick_ns ? "," : "");
		say_ratio(text, sizeof(text), hot, &all, ledger_ns);
		words__say(text, sizeof(text), " of the ledger's time");
	}
	for (int i = KIND_RUN; i <= KIND_IDLE; i++) {
		if (!hot->ledger_ns[i] && !hot->sampled[i].ns)
			continue;
		words__say(text, sizeof(text), "%s %s ", i ? "," : ":", kinds__words(i)->words);
		say_ratio(text, sizeof(text), hot, &hot->sampled[i], hot->ledger_ns[i]);
		off |= is_off(hot, &hot->sampled[i], hot->ledger_ns[i]);
	}
	/*
	 * At the edges of a cut, accounts are prorated over their slices, so the sums cannot agree
	 * exactly.
	 */
	if (off && !printer->model->cut)
		words__say(text, sizeof(text), "; that is further off than chance explains");
	printer__field(printer, "samples");
	printer__wrap(printer, text, PRINTER_FIELD);
}

static void say_reasons(const struct hot *hot, bool cut, char *text, size_t size)
{
	const char *before = cut ? "; cut:" : "; no user stack:";

	for (size_t i = 0; i < hot->reason_count; i++) {
		const struct hot_reason *reason = &hot->reasons[i];

		if (reason->cut != cut)
			continue;
		words__say(text, size, "%s %s (%s)", before, words__clean(reason->words, 40).text,
			   words__number(reason->samples).text);
		before = ",";
	}
}

/* Says which file has most time in functions without a name, and what helps. */
static void say_unnamed(const struct hot *hot, char *text, size_t size)
{
	const struct hot_function *worst = NULL;
	int64_t most_ns = 0;

	words__say(text, size, "; %s of %s without a name",
		   words__about(hot->unnamed, hot->frames).text,
		   words__count(hot->frames, "frames").text);
	if ((double)hot->unnamed * 100 < (double)hot->frames * LEAST_UNNAMED)
		return;
	for (size_t i = 0; i < hot->function_count; i++) {
		const struct hot_function *function = &hot->functions[i];
		int64_t ns = function->total[HOT_RUN].ns / 2 + function->total[HOT_WAIT].ns / 2;

		if (function->named || !function->module || ns <= most_ns)
			continue;
		worst = function;
		most_ns = ns;
	}
	if (worst)
		words__say(text, size, ", most of all %s%s",
			   words__clean(hot__module(worst), 40).text,
			   *worst->module == '/'      ? " [install its debug symbols, or set "
							"DEBUGINFOD_URLS]"
			   : hot__is_generated(worst) ? " [" HOT_PERF_MAPS "]"
						      : "");
}

void printer__samples(const struct printer *printer)
{
	const struct hot *hot = &printer->model->hot;
	char text[PRINTER_LINE] = "";

	if (!hot->samples)
		return;
	print_totals(printer);
	words__say(text, sizeof(text), "%s whole (%s of %s)",
		   words__about(hot->whole, hot->samples).text, words__number(hot->whole).text,
		   words__number(hot->samples).text);
	say_reasons(hot, true, text, sizeof(text));
	say_reasons(hot, false, text, sizeof(text));
	say_unnamed(hot, text, sizeof(text));
	if (hot->torn)
		words__say(text, sizeof(text), "; %s to rows that are missing",
			   words__count(hot->torn, "references").text);
	printer__field(printer, "stacks");
	printer__wrap(printer, text, PRINTER_FIELD);
}
