/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/estimated.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/load.h"
#include "model/sql.h"

/* Limit on numbers from a hostile file. */
#define MOST_VARIANCE 1e36
#define NAMES_SAID    8
/* A cost so many times the budget is worth a word. */
#define EXCESS       1.2
#define NAME_COLUMNS 30

/* --- loading -------------------------------------------------------------------------------- */

double load__variance(sqlite3_stmt *row, int column)
{
	double variance = sqlite3_column_double(row, column);

	return variance > 0 ? fmin(variance, MOST_VARIANCE) : 0;
}

static int take_variance(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *known = load__thread(model, sqlite3_column_int64(row, 0));
	struct model_thread *thread;

	if (!known)
		return 0;
	thread = &model->threads[known - model->threads];
	thread->variance += load__variance(row, 1);
	if (!thread->outside)
		model->estimated.variance += load__variance(row, 1);
	return 0;
}

static int take_step(struct model *model, sqlite3_stmt *row)
{
	struct estimated *estimated = &model->estimated;
	struct estimated_step *step;

	estimated->all_steps++;
	if (estimated->step_count == ESTIMATED_MOST_STEPS)
		return 0;
	step = APPEND(&estimated->steps, &estimated->step_count);
	if (!step)
		return -ENOMEM;
	step->time_ns = sqlite3_column_int64(row, 0);
	if (step->time_ns < model->start_ns || step->time_ns > model->end_ns)
		step->time_ns = step->time_ns < model->start_ns ? model->start_ns : model->end_ns;
	step->what = load__name(model, row, 1);
	step->value = load__index(row, 2);
	step->threads = load__index(row, 3);
	return 0;
}

static void add_calls(struct model *model)
{
	struct estimated *estimated = &model->estimated;

	for (size_t i = 0; i < model->syscall_count; i++) {
		load__amount(model->syscalls[i].count, LOAD_MOST, &estimated->calls);
		load__amount(model->syscalls[i].untimed, LOAD_MOST, &estimated->untimed);
	}
}

int load__estimates(struct model *model, sqlite3 *db)
{
	int err = 0;

	if (load__is_answered(db, sql__has_estimates)) {
		err = load__each(model, db, sql__estimates, take_variance);
		add_calls(model);
	}
	if (!err && load__is_answered(db, sql__has_budget_steps))
		err = load__each(model, db, sql__budget_steps, take_step);
	return err;
}

void estimated__release(struct estimated *estimated)
{
	free(estimated->steps);
}

/* --- numbers -------------------------------------------------------------------------------- */

bool estimated__is_reached(const struct model *model)
{
	const struct estimated *estimated = &model->estimated;

	return estimated->untimed || estimated->variance > 0 || estimated->step_count;
}

int64_t estimated__error_ns(double variance)
{
	double error = 2 * sqrt(variance);

	return error < (double)LOAD_MOST ? (int64_t)error : LOAD_MOST;
}

int64_t estimated__state_error_ns(const struct model_state *state, double variance)
{
	bool is_divided = state->slot == SLOT_RUN_USER || state->slot == SLOT_RUN_KERNEL;

	return is_divided ? estimated__error_ns(variance) : 0;
}

bool estimated__is_guessed(const struct model_syscall *call)
{
	return call->untimed || call->variance > 0;
}

/* --- words ---------------------------------------------------------------------------------- */

/* "budget of 5 %" */
static struct words budget_words(const struct model *model, const char *between)
{
	const struct estimated *estimated = &model->estimated;
	struct words words = {};

	words__say(words.text, sizeof(words.text), "budget");
	if (estimated->budget_ppm)
		words__say(words.text, sizeof(words.text), "%s %g %%", between,
			   (double)estimated->budget_ppm / 1e4);
	return words;
}

void estimated__say_states(const struct model *model, char *text, size_t size)
{
	const struct estimated *estimated = &model->estimated;
	int64_t error_ns = estimated__error_ns(estimated->variance);

	*text = '\0';
	if (!estimated->untimed && !error_ns)
		return;
	if (error_ns)
		words__say(text, size, "run.kernel and run.user are right within ±%s: ",
			   words__time(error_ns).text);
	if (estimated->untimed)
		words__say(text, size, "%s of %s calls were timed, the others only counted",
			   words__number(estimated->calls - estimated->untimed).text,
			   words__number(estimated->calls).text);
	else
		words__say(text, size, "not every call was timed");
	words__say(text, size, " (%s)", budget_words(model, "").text);
}

/* Whether the signal with slow calls is on. */
static bool has_call_events(const struct model *model)
{
	for (size_t i = 0; i < model->signals.count; i++)
		if (model->signals.list[i].role == ROLE_CALLS)
			return true;
	return false;
}

static struct words error_words(const struct model_syscall *call)
{
	double error_ns = (double)estimated__error_ns(call->variance);
	struct words words = {};

	if (error_ns > 0 && call->total_ns > 0)
		words__say(words.text, sizeof(words.text), "%s %%",
			   hot__plus_minus(error_ns / (double)call->total_ns * 100).text);
	else
		words__say(words.text, sizeof(words.text), "not known");
	return words;
}

void estimated__say_calls(const struct model *model, size_t shown, char *text, size_t size)
{
	const struct estimated *estimated = &model->estimated;
	size_t said = 0, left = 0;

	*text = '\0';
	for (size_t i = 0; i < shown; i++) {
		const struct model_syscall *call = &model->syscalls[i];

		if (!estimated__is_guessed(call))
			continue;
		if (said < NAMES_SAID)
			words__say(text, size, "%s%s %s", said++ ? ", " : "times are estimated: ",
				   words__clean(call->name, NAME_COLUMNS).text,
				   error_words(call).text);
		else
			left++;
	}
	if (left)
		words__say(text, size, " and %s", words__count((int64_t)left, "others").text);
	if (!estimated->untimed)
		return;
	words__say(text, size, "%s%s of all calls were only counted", said ? "; " : "",
		   words__about(estimated->untimed, estimated->calls).text);
	if (has_call_events(model))
		words__say(text, size,
			   ": these %s did not leave the CPU, and none is among the slow events",
			   words__number(estimated->untimed).text);
	words__say(text, size, " [--budget none]");
}

/* What a step changed, as long as it lasts. */
enum means { MEANS_CALLS, MEANS_STACKS, MEANS_SIGNAL };

static enum means means_of(const struct estimated_step *step)
{
	return !strcmp(step->what, "calls")    ? MEANS_CALLS
	       : !strcmp(step->what, "stacks") ? MEANS_STACKS
					       : MEANS_SIGNAL;
}

static bool is_way_back(const struct estimated_step *step)
{
	return means_of(step) == MEANS_SIGNAL ? step->value != 0 : step->value <= 1;
}

/* Whether everything was timed and taken before this step. */
static bool is_first(const struct estimated *estimated, size_t at)
{
	for (size_t i = at; i-- > 0;) {
		size_t later = i + 1;

		while (later < at && strcmp(estimated->steps[later].what, estimated->steps[i].what))
			later++;
		if (later == at && !is_way_back(&estimated->steps[i]))
			return false;
	}
	return true;
}

static void say_change(const struct estimated_step *step, char *text, size_t size)
{
	switch (means_of(step)) {
	case MEANS_CALLS:
		words__say(text, size, "%sone call in %s was timed",
			   step->threads > 1 ? "at least " : "", words__number(step->value).text);
		if (step->threads)
			words__say(text, size, ", in %s",
				   words__count(step->threads, "threads").text);
		return;
	case MEANS_STACKS:
		words__say(text, size, "at most one stack in %s was taken",
			   words__number(step->value).text);
		return;
	default:
		words__say(text, size, "the signal %s was stopped",
			   words__clean(step->what, NAME_COLUMNS).text);
	}
}

static void say_way_back(const struct estimated_step *step, char *text, size_t size)
{
	switch (means_of(step)) {
	case MEANS_CALLS:
		words__say(text, size, "every call was timed again");
		return;
	case MEANS_STACKS:
		words__say(text, size, "as many stacks as usual were taken again");
		return;
	default:
		words__say(text, size, "the signal %s was on again",
			   words__clean(step->what, NAME_COLUMNS).text);
	}
}

void estimated__say_step(const struct model *model, size_t at, char *text, size_t size)
{
	const struct estimated_step *step = &model->estimated.steps[at];
	struct words when = words__time(step->time_ns - model->start_ns);

	*text = '\0';
	if (is_way_back(step)) {
		words__say(text, size, "from %s on ", when.text);
		say_way_back(step, text, size);
		return;
	}
	/* The rate of calls changes in the kernel; it is looked at once a second. */
	words__say(text, size, "%s %s ", means_of(step) == MEANS_CALLS ? "by" : "at", when.text);
	if (is_first(&model->estimated, at))
		words__say(text, size, "the %s was reached: ", budget_words(model, " of").text);
	say_change(step, text, size);
}

/* Appends the signals that were stopped, each once. */
static void say_stopped(const struct estimated *estimated, const char *before, char *text,
			size_t size)
{
	const char *said[NAMES_SAID] = {};
	size_t count = 0;

	for (size_t i = 0; i < estimated->step_count && count < NAMES_SAID; i++) {
		const struct estimated_step *step = &estimated->steps[i];
		size_t at = 0;

		if (means_of(step) != MEANS_SIGNAL || is_way_back(step))
			continue;
		while (at < count && strcmp(said[at], step->what))
			at++;
		if (at < count)
			continue;
		said[count++] = step->what;
		words__say(text, size, "%sthe signal %s was stopped", before,
			   words__clean(step->what, NAME_COLUMNS).text);
		before = ", ";
	}
}

/* Appends that the hooks cost more than the budget all the same: counting has a price too. */
static void say_excess(const struct model *model, char *text, size_t size)
{
	const struct model_figure *hooks =
		model__find(model->costs, model->cost_count, "hooks_target_ns");
	const struct estimated *estimated = &model->estimated;
	int64_t run_ns = 0;

	for (size_t i = 0; i < model->state_count; i++)
		if (model->states[i].slot == SLOT_RUN_USER ||
		    model->states[i].slot == SLOT_RUN_KERNEL)
			run_ns += model->states[i].ns;
	/* The cost is that of all threads over the whole time. */
	if (!hooks || model->cut || !estimated->calls || !estimated->budget_ppm ||
	    hooks->value < (double)run_ns * (double)estimated->budget_ppm / 1e6 * EXCESS)
		return;
	words__say(text, size, "; the hooks took %s of the target's running time all the same",
		   words__about((int64_t)hooks->value, run_ns).text);
}

void estimated__say_in_short(const struct model *model, char *text, size_t size)
{
	const struct estimated *estimated = &model->estimated;
	const char *before = ": ";
	bool is_thinned = false;

	*text = '\0';
	if (!estimated__is_reached(model))
		return;
	for (size_t i = 0; i < estimated->step_count; i++)
		is_thinned |= means_of(&estimated->steps[i]) == MEANS_STACKS &&
			      !is_way_back(&estimated->steps[i]);
	words__say(text, size, "the %s was reached", budget_words(model, " of").text);
	if (estimated->untimed) {
		words__say(text, size,
			   ": times of calls are estimates, %s of them were only counted",
			   words__about(estimated->untimed, estimated->calls).text);
		before = ", ";
	} else if (estimated->variance > 0) {
		words__say(text, size, ": times of calls are estimates");
		before = ", ";
	}
	if (is_thinned) {
		words__say(text, size, "%sfewer stacks were taken", before);
		before = ", ";
	}
	say_stopped(estimated, before, text, size);
	say_excess(model, text, size);
}
