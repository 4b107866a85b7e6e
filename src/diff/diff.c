/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns recordings into changes. Sums are divided by the work that a recording contains. Metrics of
 * one name are brought together. Each metric that is large enough is tested: can its difference be
 * chance?
 */
#include "diff/diff.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "diff/verdict.h"
#include "model/load.h"

/* A metric of one run, before it is matched with those of the other runs. */
struct candidate {
	const struct metric *metric;
	size_t run;
};

int diff__warn(struct diff *diff, const char *format, ...)
{
	char **warning = APPEND(&diff->warnings, &diff->warning_count);
	va_list arguments;
	int length;

	if (!warning)
		return -ENOMEM;
	va_start(arguments, format);
	length = vasprintf(warning, format, arguments);
	va_end(arguments);
	if (length < 0)
		*warning = NULL;
	return length < 0 ? -ENOMEM : 0;
}

static void run__release(struct diff_run *run)
{
	metrics__release(&run->metrics);
	for (int i = 0; i < DIFF_FACTS; i++)
		free(run->facts[i]);
	free(run->losses);
}

void diff__release(struct diff *diff)
{
	for (size_t i = 0; i < diff->run_count; i++)
		run__release(&diff->runs[i]);
	for (size_t i = 0; i < diff->change_count; i++)
		free(diff->changes[i].values);
	for (size_t i = 0; i < diff->warning_count; i++)
		free(diff->warnings[i]);
	for (size_t i = 0; i < diff->gate_count; i++)
		gate__release(&diff->gates[i]);
	free(diff->runs);
	free(diff->changes);
	free(diff->warnings);
	free(diff->gates);
	for (size_t i = 0; i < diff->window_count; i++)
		free(diff->windows[i]);
	free(diff->windows);
	free(diff->per);
	*diff = (struct diff) {};
}

static int read_run(const struct diff *diff, struct diff_run *run, char **ret_why)
{
	cleanup(model__release) struct model model = {};
	char why[SCOPE_WHY_SIZE] = "";
	struct model_options options = { .args = REDACT_SECRETS, .scope = run->scope };
	int err;

	options.scope.why = why;
	options.windows.texts = (const char *const *)diff->windows;
	err = model__load(run->path, &options, &model);

	if (!err && model.wall_ns <= 0)
		err = -ERANGE;
	if (err) {
		if (asprintf(ret_why, "'%s': %s", words__clean(run->path, WORDS_MOST_COLUMNS).text,
			     scope__why(&options.scope, err)) < 0)
			*ret_why = NULL;
		return err;
	}
	run->start_unix_ns = model.start_unix_ns;
	run->from_ns = model.from_ns - model.start_ns;
	run->to_ns = model.to_ns - model.start_ns;
	run->whole =
		!model.cut && model.ended && !strcmp(model.ended, "command") && !model.warmup_ns;
	err = facts__read(run, &model);
	return err ? err : metrics__make(&model, &run->metrics);
}

static int refuse_overlap(const struct diff *diff, char **ret_why)
{
	const struct diff_run *base = &diff->runs[0], *new = &diff->runs[1];

	if (base->to_ns <= new->from_ns || new->to_ns <= base->from_ns)
		return 0;
	if (asprintf(ret_why, "--base (%s to %s) and --new (%s to %s) overlap",
		     words__time(base->from_ns).text, words__time(base->to_ns).text,
		     words__time(new->from_ns).text, words__time(new->to_ns).text) < 0)
		*ret_why = NULL;
	return -EINVAL;
}

static int read_runs(struct diff *diff, const struct diff_options *options, char **ret_why)
{
	diff->runs =
		calloc(options->counts[DIFF_BASE] + options->counts[DIFF_NEW], sizeof(*diff->runs));
	if (!diff->runs)
		return -ENOMEM;
	for (int side = 0; side < DIFF_SIDES; side++) {
		diff->counts[side] = options->counts[side];
		for (size_t i = 0; i < options->counts[side]; i++) {
			struct diff_run *run = &diff->runs[diff->run_count++];
			int err;

			run->path = options->paths[side][i];
			run->side = side;
			if (options->stretches)
				run->scope = options->scopes[side];
			err = read_run(diff, run, ret_why);
			if (err)
				return err;
		}
	}
	diff->enough =
		diff->counts[DIFF_BASE] >= DIFF_ENOUGH && diff->counts[DIFF_NEW] >= DIFF_ENOUGH;
	diff->stretches = options->stretches;
	return diff->stretches ? refuse_overlap(diff, ret_why) : 0;
}

static int refuse_per(const struct diff *diff, const struct diff_run *run, char **ret_why)
{
	struct words path = words__clean(run->path, WORDS_MOST_COLUMNS);
	int length;

	if (diff->window)
		length = asprintf(ret_why,
				  "'%s': no request or call has '%s' in the name of its service or "
				  "in its own [see 'gapless report']",
				  path.text, words__clean(diff->window, 60).text);
	else
		length = asprintf(ret_why,
				  "'%s' has no count of '%s' [--per run, second, syscall:NAME]",
				  path.text, words__clean(diff->per, WORDS_MOST_COLUMNS).text);
	if (length < 0)
		*ret_why = NULL;
	return -ENOKEY;
}

/* Sets how much work each recording contains. Sums are reported per unit of this work. */
static int set_work(struct diff *diff, const char *per, char **ret_why)
{
	bool whole = true;

	for (size_t i = 0; i < diff->run_count; i++)
		whole = whole && diff->runs[i].whole;
	diff->per = strdup(per ? per : whole ? "run" : "second");
	if (!diff->per)
		return -ENOMEM;
	for (size_t i = 0; i < diff->run_count; i++) {
		struct diff_run *run = &diff->runs[i];
		const struct metric *metric =
			!strcmp(diff->per, "second")
				? metrics__find(&run->metrics, "time", "wall")
				: metrics__find(&run->metrics, "count", diff->per);

		run->work = !strcmp(diff->per, "run")     ? 1
			    : !metric                     ? 0
			    : !strcmp(metric->unit, "ns") ? metric->value / 1e9
							  : metric->value;
		if (run->work <= 0)
			return refuse_per(diff, run, ret_why);
	}
	return 0;
}

static void sum_up(struct diff *diff, struct diff_change *change, const double *sampling)
{
	size_t begin = 0;

	for (int side = 0; side < DIFF_SIDES; side++) {
		change->sides[side] = stats__of(change->values + begin, diff->counts[side]);
		for (size_t i = 0; i < diff->counts[side]; i++)
			change->sampling[side] += sampling[begin + i] / (double)diff->counts[side];
		begin += diff->counts[side];
	}
	change->probability = NAN;
}

/*
 * What cannot differ is left out: per second, the wall time is always one second. Windows that only
 * a condition is about are not compared.
 */
static bool is_comparable(const struct diff *diff, const struct metric *metric)
{
	if (metric->window)
		return diff->window && !strcmp(metric->window, diff->window) &&
		       strcmp(metric->measure, "count");
	return metric->class != METRIC_WHOLE || strcmp(diff->per, "second");
}

/* What a recording without the metric has. */
static double absent(const struct metric *metric)
{
	return metric->is_sum || metric->class == METRIC_REASON ? 0 : NAN;
}

/* Makes a change from candidates of the same name. */
static int bring_together(struct diff *diff, const struct candidate *first, size_t count)
{
	struct diff_change *change = APPEND(&diff->changes, &diff->change_count);
	cleanup(free_p) double *sampling = calloc(diff->run_count, sizeof(*sampling));
	double worth = 0;

	if (!change || !sampling)
		return -ENOMEM;
	change->values = calloc(diff->run_count, sizeof(*change->values));
	if (!change->values)
		return -ENOMEM;
	change->metric = first->metric;
	for (size_t i = 0; i < diff->run_count; i++)
		change->values[i] = absent(first->metric);
	for (size_t i = 0; i < count; i++) {
		const struct metric *metric = first[i].metric;
		double work = metric->is_sum ? diff->runs[first[i].run].work : 1;

		change->values[first[i].run] = metric->value / work;
		sampling[first[i].run] = metric->variance / work / work;
		worth += metric->worth;
		if (metric->value > change->metric->value)
			change->metric = metric;
	}
	sum_up(diff, change, sampling);
	change->compared = worth >= (double)diff->run_count && is_comparable(diff, change->metric);
	for (int side = 0; side < DIFF_SIDES; side++)
		if (!change->sides[side].count)
			change->compared = false;
	return 0;
}

static int by_metric(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	int order = metric__compare(x->metric, y->metric);

	return order ? order : (x->run > y->run) - (x->run < y->run);
}

static int find_changes(struct diff *diff)
{
	cleanup(free_p) struct candidate *list = NULL;
	size_t count = 0, begin = 0;

	for (size_t i = 0; i < diff->run_count; i++)
		count += diff->runs[i].metrics.count;
	list = calloc(count + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; i < diff->run_count; i++)
		for (size_t j = 0; j < diff->runs[i].metrics.count; j++)
			list[count++] = (struct candidate) { &diff->runs[i].metrics.list[j], i };
	qsort(list, count, sizeof(*list), by_metric);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && !metric__compare(list[i].metric, list[begin].metric))
			continue;
		if (bring_together(diff, &list[begin], i - begin))
			return -ENOMEM;
		begin = i;
	}
	return 0;
}

double diff__ratio(const struct diff_change *change)
{
	double base = change->sides[DIFF_BASE].mean, new = change->sides[DIFF_NEW].mean;

	if (base == new)
		return 0;
	return base > 0 ? new / base - 1 : INFINITY;
}

double diff__size(const struct diff_change *change)
{
	return fabs(change->sides[DIFF_NEW].mean - change->sides[DIFF_BASE].mean);
}

double diff__error(const struct diff_change *change)
{
	double variance = 0;

	for (int side = 0; side < DIFF_SIDES; side++)
		if (change->sides[side].count)
			variance += change->sampling[side] / (double)change->sides[side].count;
	return sqrt(variance);
}

bool diff__is_beyond_sampling(const struct diff_change *change)
{
	return diff__size(change) > 2 * diff__error(change);
}

bool diff__is_certain(const struct diff *diff, const struct diff_change *change)
{
	return diff->enough && change->compared && change->probability < DIFF_ALPHA &&
	       fabs(diff__ratio(change)) >= DIFF_LEAST;
}

static int ask(struct diff *diff)
{
	cleanup(free_p) double *probabilities = calloc(diff->change_count + 1, sizeof(double));
	int err;

	if (!probabilities)
		return -ENOMEM;
	for (size_t i = 0; i < diff->change_count; i++)
		if (diff->changes[i].compared)
			probabilities[diff->compared++] = noise__chance(diff, &diff->changes[i]);
	if (!diff->enough)
		return 0;
	err = stats__holm(probabilities, diff->compared);
	if (err)
		return err;
	for (size_t i = 0, asked = 0; i < diff->change_count; i++) {
		struct diff_change *change = &diff->changes[i];

		if (!change->compared)
			continue;
		change->probability = probabilities[asked++];
		diff->certain += diff__is_certain(diff, change);
		diff->too_small +=
			change->probability < DIFF_ALPHA && fabs(diff__ratio(change)) < DIFF_LEAST;
	}
	return 0;
}

static int by_size(const void *a, const void *b)
{
	const struct diff_change *x = a, *y = b;
	double size_x = diff__size(x), size_y = diff__size(y);

	if (x->metric->class != y->metric->class)
		return x->metric->class < y->metric->class ? -1 : 1;
	if (x->metric->class == METRIC_WINDOW)
		return metric__compare_windows(x->metric, y->metric);
	if (size_x != size_y)
		return size_x > size_y ? -1 : 1;
	return metric__compare(x->metric, y->metric);
}

/*
 * Refuses a gate that names no metric. Such a gate could never be crossed, so a typo would let
 * every build pass.
 */
static int refuse_gate(const struct diff *diff, const struct gate *gate, char **ret_why)
{
	cleanup(free_p) const char **names = calloc(diff->change_count + 1, sizeof(*names));
	const char *nearest;
	size_t count = 0;

	if (!names)
		return -ENOMEM;
	for (size_t i = 0; i < diff->change_count; i++)
		if (!strcmp(diff->changes[i].metric->measure, gate->measure))
			names[count++] = diff->changes[i].metric->name;
	nearest = parse__nearest(gate->name, names);
	if (asprintf(ret_why, "'%s': no recording has a %s of '%s'%s%s%s", gate->text,
		     gate->measure, gate->name, nearest ? " [did you mean '" : "",
		     nearest ? nearest : "", nearest ? "'?]" : "") < 0)
		*ret_why = NULL;
	return -EINVAL;
}

/* A state can be named by its key or by its words in the text output. */
static bool is_called(const struct metric *metric, const char *name)
{
	return !strcmp(metric->name, name) ||
	       (metric->class == METRIC_STATE && !strcmp(verdict__name(metric), name));
}

/* Whether a side counted it, but not often enough for the percentile. */
static bool has_too_few(const struct diff *diff, const struct diff_change *change,
			enum diff_side side)
{
	if (change->sides[side].count)
		return false;
	for (size_t i = 0; i < diff->change_count; i++)
		if (!strcmp(diff->changes[i].metric->measure, "count") &&
		    !strcmp(diff->changes[i].metric->name, change->metric->name))
			return diff->changes[i].sides[side].mean > 0;
	return false;
}

static int refuse_few(const struct gate *gate, enum diff_side side, char **ret_why)
{
	if (asprintf(ret_why, "'%s': the %s has too few values for a %s", gate->text,
		     side == DIFF_BASE ? "base" : "new side", gate->measure) < 0)
		*ret_why = NULL;
	return -EINVAL;
}

static int judge_gate(struct diff *diff, struct gate *gate, char **ret_why)
{
	for (size_t i = 0; i < diff->change_count; i++)
		if (is_called(diff->changes[i].metric, gate->name) &&
		    !strcmp(diff->changes[i].metric->measure, gate->measure))
			gate->change = &diff->changes[i];
	if (!gate->change)
		return refuse_gate(diff, gate, ret_why);
	if (!gate__fits(gate, gate->change->metric->unit)) {
		if (asprintf(ret_why, "'%s': that is in %s [a bound with its unit, like 2ms]",
			     gate->text, gate->change->metric->unit) < 0)
			*ret_why = NULL;
		return -EINVAL;
	}
	for (int side = gate->relative ? DIFF_BASE : DIFF_NEW; side < DIFF_SIDES; side++)
		if (has_too_few(diff, gate->change, side))
			return refuse_few(gate, side, ret_why);
	gate__judge(gate, diff);
	diff->crossed += gate->crossed;
	return 0;
}

static int judge_gates(struct diff *diff, const char *const *texts, char **ret_why)
{
	for (; texts && *texts; texts++) {
		struct gate *gate = APPEND(&diff->gates, &diff->gate_count);

		if (!gate)
			return -ENOMEM;
		if (!gate__parse(*texts, gate))
			continue;
		if (asprintf(ret_why, "'%s' is no condition [like 'p99(syscall:fsync) > +10%%']",
			     *texts) < 0)
			*ret_why = NULL;
		return -EINVAL;
	}
	for (size_t i = 0; i < diff->gate_count; i++) {
		int err = judge_gate(diff, &diff->gates[i], ret_why);

		if (err)
			return err;
	}
	return 0;
}

static int make(struct diff *diff, const struct diff_options *options, char **ret_why)
{
	int err = asked__find(diff, options);

	if (!err)
		err = read_runs(diff, options, ret_why);

	if (!err)
		err = set_work(diff, options->per, ret_why);
	if (!err)
		err = find_changes(diff);
	if (!err)
		err = ask(diff);
	if (!err)
		err = facts__warn(diff);
	if (!err)
		err = asked__warn(diff);
	if (err)
		return err;
	if (diff->change_count)
		qsort(diff->changes, diff->change_count, sizeof(*diff->changes), by_size);
	return judge_gates(diff, options->gates, ret_why);
}

int diff__make(const struct diff_options *options, struct diff *ret, char **ret_why)
{
	cleanup(diff__release) struct diff diff = {};
	int err;

	*ret_why = NULL;
	err = make(&diff, options, ret_why);
	if (err)
		return err;
	*ret = diff;
	diff = (struct diff) {};
	return 0;
}
