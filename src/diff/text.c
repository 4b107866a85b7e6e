/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison as text: the verdict first, then the numbers behind it. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/term.h"
#include "base/words.h"
#include "diff/verdict.h"

#define VALUE_COLUMNS   -11
#define RATIO_COLUMNS   -10
#define CHANCE_COLUMNS  -9
#define MEASURE_COLUMNS 7
#define LEAST_NAME      24
#define ROWS_SHOWN      10
#define REST_SHOWN      5
#define MOST_LINE       2048

struct paper {
	const struct diff *diff;
	FILE *out;
	int width;
	size_t top;
};

static void print_heading(const struct paper *paper, const char *words)
{
	fprintf(paper->out, "%s%s%s\n", term__on(paper->out, TERM_BOLD), words,
		term__off(paper->out, TERM_BOLD));
}

static int name_columns(const struct paper *paper)
{
	int left = paper->width - 2 - MEASURE_COLUMNS + 3 * VALUE_COLUMNS + RATIO_COLUMNS +
		   CHANCE_COLUMNS;

	return left < LEAST_NAME ? LEAST_NAME : left;
}

static void print_change(const struct paper *paper, const struct diff_change *change)
{
	const struct metric *metric = change->metric;
	int columns = name_columns(paper);
	struct words name = words__clean(verdict__name(metric), WORDS_MOST_COLUMNS);
	bool fits = words__columns(name.text) < columns;
	char chance[64] = "";

	fputs("  ", paper->out);
	words__field(paper->out, metric->measure, MEASURE_COLUMNS);
	/* A name that is too long gets a line of its own. */
	if (fits)
		words__field(paper->out, name.text, columns);
	else
		fprintf(paper->out, "%s\n%*s", name.text, 2 + MEASURE_COLUMNS + columns, "");
	for (int side = 0; side < DIFF_SIDES; side++)
		words__field(paper->out,
			     verdict__value(verdict__mean(change, side), metric->unit).text,
			     VALUE_COLUMNS);
	words__field(paper->out, verdict__difference(change).text, VALUE_COLUMNS);
	words__field(paper->out, verdict__ratio(change).text, RATIO_COLUMNS);
	if (!isnan(change->probability))
		snprintf(chance, sizeof(chance), change->probability < 0.001 ? "<0.001" : "%.3f",
			 change->probability);
	else if (metric->window && !paper->diff->enough)
		words__say(chance, sizeof(chance), "±%s",
			   verdict__value(2 * diff__error(change), metric->unit).text);
	words__field(paper->out, chance, *chance ? CHANCE_COLUMNS : 0);
	fputc('\n', paper->out);
	if (metric->about) {
		fprintf(paper->out, "%*sfrom ", 2 + MEASURE_COLUMNS, "");
		term__wrap(paper->out, metric->about, 2 + MEASURE_COLUMNS + 5, paper->width);
	}
}

static void print_columns(const struct paper *paper)
{
	fprintf(paper->out, "\n%*s", 2 + MEASURE_COLUMNS + name_columns(paper), "");
	words__field(paper->out, "base", VALUE_COLUMNS);
	words__field(paper->out, "new", VALUE_COLUMNS);
	words__field(paper->out, "change", VALUE_COLUMNS);
	words__field(paper->out, "", RATIO_COLUMNS);
	if (paper->diff->enough)
		words__field(paper->out, "chance", CHANCE_COLUMNS);
	else if (paper->diff->window)
		words__field(paper->out, "2 errors", CHANCE_COLUMNS);
	fputc('\n', paper->out);
}

/* Without repeated recordings, everything beyond sampling error is shown and nothing is claimed. */
static bool is_shown(const struct diff *diff, const struct diff_change *change)
{
	/* All of what was asked for, whether it changed or not. */
	if (change->metric->window)
		return change->compared;
	if (diff->enough)
		return diff__is_certain(diff, change);
	return change->compared && diff__is_beyond_sampling(change) &&
	       fabs(diff__ratio(change)) >= DIFF_LEAST;
}

static bool is_any_shown(const struct diff *diff)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (is_shown(diff, &diff->changes[i]))
			return true;
	return false;
}

/* "requests with 'GET /orders': 1,200 in base, 1,300 in new" */
static void print_window_heading(const struct paper *paper)
{
	const struct diff *diff = paper->diff;
	double counts[DIFF_SIDES] = {};
	char text[MOST_LINE] = "";

	for (size_t i = 0; i < diff->run_count; i++)
		counts[diff->runs[i].side] += diff->runs[i].work;
	words__say(text, sizeof(text), "%ss with '%s': %s in base, %s in new",
		   diff__window_words(diff), words__clean(diff->window, 60).text,
		   words__number((int64_t)counts[DIFF_BASE]).text,
		   words__number((int64_t)counts[DIFF_NEW]).text);
	print_heading(paper, text);
}

static void print_class_heading(const struct paper *paper, enum metric_class class)
{
	if (class == METRIC_WINDOW)
		print_window_heading(paper);
	else
		print_heading(paper, metric__class_name(class));
}

/* What the table does not say by itself. */
static void print_window_note(const struct paper *paper)
{
	if (paper->diff->window && !paper->diff->enough)
		term__wrap(paper->out,
			   "2 errors: a difference below this may be made by chance in which "
			   "requests came. What else differs from recording to recording is not in "
			   "it.",
			   0, paper->width);
}

static void print_class(const struct paper *paper, enum metric_class class)
{
	const struct diff *diff = paper->diff;
	size_t shown = 0, left = 0, most = paper->top ? paper->top : ROWS_SHOWN;

	for (size_t i = 0; i < diff->change_count; i++) {
		if (diff->changes[i].metric->class != class || !is_shown(diff, &diff->changes[i]))
			continue;
		if (shown == most) {
			left++;
			continue;
		}
		if (!shown++)
			print_class_heading(paper, class);
		print_change(paper, &diff->changes[i]);
	}
	if (left)
		fprintf(paper->out, "  … %s more [--top]\n", words__number((int64_t)left).text);
}

/* Prints changes that are not more than noise, the least probable first. */
static void print_rest(const struct paper *paper)
{
	const struct diff *diff = paper->diff;
	const struct diff_change *last = NULL;
	size_t most = paper->top ? paper->top : REST_SHOWN;

	for (size_t shown = 0; shown < most; shown++) {
		const struct diff_change *next = NULL;

		for (size_t i = 0; i < diff->change_count; i++) {
			const struct diff_change *change = &diff->changes[i];
			bool behind = !last || change->probability > last->probability ||
				      (change->probability == last->probability && change > last);

			if (change->compared && !change->metric->window &&
			    !diff__is_certain(diff, change) && behind &&
			    change->probability >= DIFF_ALPHA && change->probability < 1 &&
			    (!next || change->probability < next->probability))
				next = change;
		}
		if (!next)
			return;
		if (!shown)
			print_heading(paper, "not more than noise, the least probable first");
		print_change(paper, next);
		last = next;
	}
}

static void print_side(const struct paper *paper, enum diff_side side)
{
	const struct diff *diff = paper->diff;
	size_t count = diff->counts[side];
	const struct diff_run *run = &diff->runs[side == DIFF_BASE ? 0 : diff->counts[DIFF_BASE]];

	fprintf(paper->out, "%-5s %s, ", side == DIFF_BASE ? "base" : "new",
		words__count((int64_t)count, "recordings").text);
	if (count == 1)
		fprintf(paper->out, "%s: ", words__clean(run->path, 60).text);
	else
		fprintf(paper->out, "%s to %s: ", words__clean(run->path, 40).text,
			words__clean(run[count - 1].path, 40).text);
	fprintf(paper->out, "%s\n", words__clean(run->facts[DIFF_TARGET], 60).text);
}

static void print_gates(const struct paper *paper)
{
	const struct diff *diff = paper->diff;

	if (diff->gate_count)
		fputc('\n', paper->out);
	for (size_t i = 0; i < diff->gate_count; i++) {
		const struct gate *gate = &diff->gates[i];

		fprintf(paper->out, "%s: %s", gate->crossed ? "crossed" : "kept",
			words__clean(gate->text, 200).text);
		if (gate->change)
			fprintf(paper->out, ": %s, was %s (%s)",
				verdict__value(verdict__mean(gate->change, DIFF_NEW),
					       gate->change->metric->unit)
					.text,
				verdict__value(verdict__mean(gate->change, DIFF_BASE),
					       gate->change->metric->unit)
					.text,
				verdict__ratio(gate->change).text);
		if (!isnan(gate->probability))
			fprintf(paper->out, ", chance %.2g", gate->probability);
		fputc('\n', paper->out);
	}
}

int diff__print_text(const struct diff *diff, size_t top, FILE *out)
{
	struct paper paper = { .diff = diff, .out = out, .width = term__width(out), .top = top };
	struct verdict verdict;

	print_side(&paper, DIFF_BASE);
	print_side(&paper, DIFF_NEW);
	for (size_t i = 0; i < diff->warning_count; i++) {
		char line[MOST_LINE];

		snprintf(line, sizeof(line), "warning: %s", diff->warnings[i]);
		term__wrap(out, line, 2, paper.width);
	}
	fputc('\n', out);
	verdict__make(diff, &verdict);
	for (size_t i = 0; i < verdict.count; i++)
		term__wrap(out, verdict.lines[i], 0, paper.width);
	if (diff->enough || is_any_shown(diff))
		print_columns(&paper);
	else
		fprintf(out,
			"\nNothing differs by %g %% or more, beyond what samples can make by "
			"chance.\n",
			DIFF_LEAST * 100);
	for (int class = 0; class < METRIC_CLASSES; class ++)
		print_class(&paper, class);
	if (diff->enough)
		print_rest(&paper);
	print_window_note(&paper);
	print_gates(&paper);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
