/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The comparison as JSON: everything that was compared or asked for, with every value. */
#include <errno.h>
#include <math.h>

#include "base/json.h"
#include "diff/verdict.h"

static json_t *number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

static json_t *values(const struct diff *diff, const struct diff_change *change,
		      enum diff_side side)
{
	size_t begin = side == DIFF_BASE ? 0 : diff->counts[DIFF_BASE];
	json_t *list = json_array();

	for (size_t i = 0; i < diff->counts[side]; i++)
		json_array_append_new(list, number(change->values[begin + i]));
	return list;
}

static json_t *side(const struct diff *diff, const struct diff_change *change, enum diff_side which)
{
	const struct stats *stats = &change->sides[which];

	return json_pack("{s:o, s:o, s:o}", "mean", number(stats->count ? stats->mean : NAN),
			 "deviation", number(stats->count > 1 ? sqrt(stats->variance) : NAN),
			 "values", values(diff, change, which));
}

static json_t *change_json(const struct diff *diff, const struct diff_change *change)
{
	static const char *const classes[METRIC_CLASSES] = {
		[METRIC_WHOLE] = "whole",       [METRIC_WINDOW] = "window",
		[METRIC_REASON] = "reason",     [METRIC_STATE] = "state",
		[METRIC_CAUSE] = "cause",       [METRIC_SYSCALL] = "syscall",
		[METRIC_FUNCTION] = "function", [METRIC_WAIT] = "wait",
		[METRIC_SIGNAL] = "signal",
	};
	const struct metric *metric = change->metric;
	json_t *json = json_pack("{s:s, s:o, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:b}", "class",
				 classes[metric->class], "name", json__text(metric->name),
				 "measure", metric->measure, "unit", metric->unit, "normalised",
				 metric->is_sum, "base", side(diff, change, DIFF_BASE), "new",
				 side(diff, change, DIFF_NEW), "ratio", number(diff__ratio(change)),
				 "chance", number(change->probability), "certain",
				 diff__is_certain(diff, change));

	if (metric->window)
		json_object_set_new(json, "error", number(diff__error(change)));
	if (metric->about)
		json_object_set_new(json, "about", json__text(metric->about));
	return json;
}

static json_t *runs_json(const struct diff *diff)
{
	static const char *const names[DIFF_FACTS] = {
		"target", "level",   "kernel", "cpus",      "rate",     "signals", "hooks",
		"warmup", "version", "commit", "cpu_model", "governor", "notes"
	};
	json_t *list = json_array();

	for (size_t i = 0; i < diff->run_count; i++) {
		const struct diff_run *run = &diff->runs[i];
		json_t *json = json_pack("{s:o, s:s, s:f, s:I, s:b}", "path", json__text(run->path),
					 "side", run->side == DIFF_BASE ? "base" : "new", "work",
					 run->work, "start_unix_ns", (json_int_t)run->start_unix_ns,
					 "whole", run->whole);

		if (diff->stretches) {
			json_object_set_new(json, "from_ns", json_integer(run->from_ns));
			json_object_set_new(json, "to_ns", json_integer(run->to_ns));
		}
		for (int fact = 0; fact < DIFF_FACTS; fact++)
			json_object_set_new(json, names[fact], json__text(run->facts[fact]));
		json_object_set_new(json, "losses",
				    run->losses ? json__text(run->losses) : json_null());
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *gates_json(const struct diff *diff)
{
	json_t *list = json_array();

	for (size_t i = 0; i < diff->gate_count; i++) {
		const struct gate *gate = &diff->gates[i];
		const struct diff_change *change = gate->change;
		json_t *json =
			json_pack("{s:o, s:b, s:o}", "condition", json__text(gate->text), "crossed",
				  gate->crossed, "chance", number(gate->probability));

		if (change) {
			json_object_set_new(json, "base", number(verdict__mean(change, DIFF_BASE)));
			json_object_set_new(json, "new", number(verdict__mean(change, DIFF_NEW)));
			json_object_set_new(json, "unit", json__text(change->metric->unit));
		}
		json_array_append_new(list, json);
	}
	return list;
}

static json_t *sentences_json(const struct diff *diff)
{
	json_t *list = json_array();
	struct verdict verdict;

	verdict__make(diff, &verdict);
	for (size_t i = 0; i < verdict.count; i++)
		json_array_append_new(list, json__text(verdict.lines[i]));
	return list;
}

json_t *diff__json(const struct diff *diff)
{
	json_t *changes = json_array(), *warnings = json_array();

	for (size_t i = 0; i < diff->change_count; i++)
		if (diff->changes[i].compared)
			json_array_append_new(changes, change_json(diff, &diff->changes[i]));
	for (size_t i = 0; i < diff->warning_count; i++)
		json_array_append_new(warnings, json__text(diff->warnings[i]));
	return json_pack("{s:i, s:o, s:o, s:o, s:b, s:i, s:i, s:f, s:o, s:o, s:o}", "format",
			 JSON_FORMAT, "verdict", sentences_json(diff), "recordings",
			 runs_json(diff), "per", json__text(diff->per), "enough", diff->enough,
			 "compared", (int)diff->compared, "certain", (int)diff->certain, "alpha",
			 DIFF_ALPHA, "changes", changes, "gates", gates_json(diff), "warnings",
			 warnings);
}

int diff__print_json(const struct diff *diff, FILE *out)
{
	json_t *json = diff__json(diff);
	int failed = !json || json_dumpf(json, out, JSON_INDENT(2)) || fputc('\n', out) == EOF;

	json_decref(json);
	return failed || fflush(out) ? -EIO : 0;
}
