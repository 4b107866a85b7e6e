/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each group and state has a series: its share of the group's time in each bin. A series is divided
 * into two or three parts of different means so that the squared deviations within the parts are
 * least; the second part is the stretch that differs, the third is what came after it. A division
 * counts only if the means differ by far more than the bins of a part differ among themselves.
 *
 * One cause changes several series at once or one after the other. Of those with much of the
 * largest effect, the one that changed first is reported.
 */
#include "findings/change.h"

#include <math.h>
#include <string.h>

#include "base/daytime.h"
#include "base/words.h"
#include "findings/findings.h"

#define LEAST_NS 1000000000.0
/* Of the series, before and inside the stretch; the start of a program is no base. */
#define LEAST_PART 0.1
#define LEAST_BINS 3
/* Differences of the shares: at least so large, and so many deviations and standard errors. */
#define LEAST_DIFFERENCE 0.15
#define LEAST_DEVIATIONS 4
#define LEAST_ERRORS     8
/* Bins that are equal by chance do not make a small difference certain. */
#define LEAST_DEVIATION 0.01
/* A third part must remove at least this share of the deviation that two parts leave. */
#define LEAST_GAIN 0.5
/* An effect that is smaller than this part of the largest one is not "what changed first". */
#define LEAST_EFFECT 0.3

/* Sums up to each bin: of weights, of weighted shares, and of their squares. */
struct series {
	size_t bins, least;
	double weight[HISTORY_MOST_BINS + 1], sum[HISTORY_MOST_BINS + 1],
		square[HISTORY_MOST_BINS + 1];
};

struct division {
	size_t from, to;
	double deviation; /* the sum of squares within the parts */
};

static double weight(const struct series *series, size_t from, size_t to)
{
	return series->weight[to] - series->weight[from];
}

static double mean(const struct series *series, size_t from, size_t to)
{
	double whole = weight(series, from, to);

	return whole > 0 ? (series->sum[to] - series->sum[from]) / whole : 0;
}

static double deviation(const struct series *series, size_t from, size_t to)
{
	double whole = weight(series, from, to), sum = series->sum[to] - series->sum[from];
	double left = series->square[to] - series->square[from];

	return whole > 0 && left > sum * sum / whole ? left - sum * sum / whole : 0;
}

/* Weights are the group's time in a bin, so that their mean is one. */
static bool fill(const struct model *model, size_t group, size_t state, struct series *ret)
{
	const struct history *history = &model->history;
	const double *cells = history__state(model, group, state);
	double alive[HISTORY_MOST_BINS] = {}, whole = 0;
	size_t least = (size_t)ceil(LEAST_NS / (double)history->bin_ns);
	size_t part = (size_t)ceil(LEAST_PART * (double)history->bins);

	*ret = (struct series) { .bins = history->bins };
	ret->least = least > part ? least : part;
	ret->least = ret->least > LEAST_BINS ? ret->least : LEAST_BINS;
	for (size_t i = 0; i < model->state_count; i++)
		for (size_t j = 0; j < history->bins; j++)
			alive[j] += history__state(model, group, i)[j];
	for (size_t i = 0; i < history->bins; i++)
		whole += alive[i];
	for (size_t i = 0; i < history->bins; i++) {
		double share = alive[i] > 0 ? cells[i] / alive[i] : 0;
		double part_of = whole > 0 ? alive[i] / whole * (double)history->bins : 0;

		ret->weight[i + 1] = ret->weight[i] + part_of;
		ret->sum[i + 1] = ret->sum[i] + part_of * share;
		ret->square[i + 1] = ret->square[i] + part_of * share * share;
	}
	return whole > 0 && 2 * ret->least <= ret->bins;
}

static bool is_long(const struct series *series, size_t from, size_t to)
{
	return to - from >= series->least && weight(series, from, to) >= (double)series->least / 2;
}

static struct division divide(const struct series *series, bool in_three)
{
	struct division best = { .deviation = INFINITY };
	const size_t last = series->bins;

	for (size_t from = series->least; from + series->least <= last; from++) {
		double before = deviation(series, 0, from);

		if (!is_long(series, 0, from))
			continue;
		for (size_t to = in_three ? from + series->least : last; to <= last; to++) {
			double whole =
				before + deviation(series, from, to) + deviation(series, to, last);

			if (whole < best.deviation && is_long(series, from, to) &&
			    (to == last || is_long(series, to, last)))
				best = (struct division) { from, to, whole };
		}
	}
	return best;
}

/* Returns the difference of the shares; 0 if it is not clear. */
static double find_in(const struct series *series, struct division *ret)
{
	double difference, spread, before, inside;
	struct division two, three;

	/* No step of the least size would fit into so little variance; this saves the search. */
	if (deviation(series, 0, series->bins) <
	    LEAST_DIFFERENCE * LEAST_DIFFERENCE * LEAST_PART / 2)
		return 0;
	two = divide(series, false);
	three = divide(series, true);
	if (isinf(two.deviation))
		return 0;
	*ret = three.deviation < two.deviation * (1 - LEAST_GAIN) ? three : two;
	difference = mean(series, ret->from, ret->to) - mean(series, 0, ret->from);
	spread = sqrt(ret->deviation / weight(series, 0, series->bins));
	spread = spread > LEAST_DEVIATION ? spread : LEAST_DEVIATION;
	before = weight(series, 0, ret->from);
	inside = weight(series, ret->from, ret->to);
	if (fabs(difference) < LEAST_DIFFERENCE || fabs(difference) < LEAST_DEVIATIONS * spread ||
	    fabs(difference) * sqrt(before * inside / (before + inside)) < LEAST_ERRORS * spread)
		return 0;
	return difference;
}

struct candidate {
	size_t group, state;
	struct division division;
	double difference, effect;
};

/* More of a state that is not idle says more than less of another one. */
static bool is_telling(const struct model *model, const struct candidate *candidate)
{
	return candidate->difference > 0 && model->states[candidate->state].kind != KIND_IDLE;
}

static bool is_better(const struct model *model, const struct candidate *a,
		      const struct candidate *b)
{
	bool telling_a = is_telling(model, a), telling_b = is_telling(model, b);

	if (a->division.from + 1 < b->division.from || b->division.from + 1 < a->division.from)
		return a->division.from < b->division.from;
	return telling_a == telling_b ? a->effect > b->effect : telling_a;
}

static bool try(const struct model *model, struct candidate *candidate)
{
	struct series series;

	if (!fill(model, candidate->group, candidate->state, &series))
		return false;
	candidate->difference = find_in(&series, &candidate->division);
	candidate->effect = fabs(candidate->difference) *
			    (double)model->history.groups[candidate->group]->lifetime_ns;
	return candidate->difference != 0;
}

static bool choose(const struct model *model, double least_effect, struct candidate *ret)
{
	bool found = false;

	for (size_t i = 0; i < model->history.group_count; i++)
		for (size_t j = 0; j < model->state_count; j++) {
			struct candidate candidate = { .group = i, .state = j };

			if (!model->history.groups[i]->state_ns[j] || !try(model, &candidate) ||
			    candidate.effect < least_effect)
				continue;
			if (!found || (least_effect > 0 ? is_better(model, &candidate, ret)
							: candidate.effect > ret->effect))
				*ret = candidate;
			found = true;
		}
	return found;
}

/* "30s", "30.5s": as --base and --new take it. */
static void say_offset(char *text, size_t size, int64_t ns)
{
	words__say(text, size, ns % 1000000000 ? "%.1fs" : "%.0fs", (double)ns / 1e9);
}

static void say(const struct model *model, struct change *change)
{
	const struct model_group *group = change->group;
	const int64_t start = model->start_unix_ns;
	bool one = group->members == 1;
	char name[512];

	findings__name(group, one ? group->first : NULL, name, sizeof(name));
	words__say(change->text, sizeof(change->text), "From ");
	if (start)
		words__say(change->text, sizeof(change->text), "%s%s%s (",
			   daytime__words(start + change->from_ns, model->zone_s).text,
			   change->lasts ? "" : " to ",
			   change->lasts
				   ? ""
				   : daytime__words(start + change->to_ns, model->zone_s).text);
	words__say(change->text, sizeof(change->text), "%s%s%s%s",
		   words__time(change->from_ns).text, change->lasts ? "" : " to ",
		   change->lasts ? "" : words__time(change->to_ns).text, start ? ")" : "");
	words__say(change->text, sizeof(change->text), "%s, %s", change->lasts ? " on" : "", name);
	if (strcmp(group->process_comm, group->name))
		words__say(change->text, sizeof(change->text), " of %s",
			   words__clean(group->process_comm, 40).text);
	words__say(change->text, sizeof(change->text),
		   " spent %.0f %% of %s time %s; before, %.0f %%.", change->after * 100,
		   one ? "its" : "their",
		   change->state->slot ? states__words(change->state->slot)->phrase
				       : "in another state",
		   change->before * 100);
}

static void say_command(const struct model *model, struct change *change)
{
	char *text = change->command;
	const size_t size = sizeof(change->command);

	words__say(text, size, "gapless diff %s --base ",
		   words__clean(model->path ? model->path : "RECORDING", 300).text);
	say_offset(text, size, change->base_ns);
	words__say(text, size, "-");
	say_offset(text, size, change->from_ns);
	words__say(text, size, " --new ");
	say_offset(text, size, change->from_ns);
	words__say(text, size, "-");
	say_offset(text, size, change->to_ns);
}

bool change__find(const struct model *model, struct change *ret)
{
	const struct history *history = &model->history;
	struct candidate largest, first;
	struct series series;

	*ret = (struct change) {};
	if (!history->bins || !choose(model, 0, &largest) ||
	    !choose(model, largest.effect * LEAST_EFFECT, &first))
		return false;
	fill(model, first.group, first.state, &series);
	ret->group = history->groups[first.group];
	ret->state = &model->states[first.state];
	ret->base_ns = model->from_ns - model->start_ns;
	ret->from_ns = ret->base_ns + (int64_t)first.division.from * history->bin_ns;
	ret->to_ns = ret->base_ns + (int64_t)first.division.to * history->bin_ns;
	ret->lasts = first.division.to == history->bins;
	if (ret->lasts)
		ret->to_ns = model->to_ns - model->start_ns;
	ret->before = mean(&series, 0, first.division.from);
	ret->after = mean(&series, first.division.from, first.division.to);
	say(model, ret);
	say_command(model, ret);
	return true;
}
