/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the model as JSON. The keys are documented in gapless-json(5) and do not change.
 *
 * Lists are written item by item, one per line. As one jansson tree, the waits of 10,000 threads
 * would take 200 MB.
 */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "findings/change.h"
#include "findings/findings.h"
#include "model/runtime_rows.h"
#include "recording/recording.h"
#include "report/json_cpus.h"
#include "report/json_fibers.h"
#include "report/json_hot.h"
#include "report/json_percentiles.h"
#include "report/json_requests.h"
#include "report/json_resident.h"
#include "report/json_signals.h"
#include "report/print.h"
#include "vocabulary/histogram.h"

static json_t *number(int64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text ? json__text(text) : json_null();
}

/* `variance`: of run.kernel and run.user of the same threads. */
static json_t *state_json(const struct model_state *state, int64_t ns, int64_t count,
			  double variance)
{
	int64_t error_ns = estimated__state_error_ns(state, variance);
	json_t *one =
		json_pack("{s:o, s:o, s:s?, s:I, s:I}", "state", json__text(state->state), "cause",
			  json__text(state->cause), "kind", model__kind_name(state->kind), "ns",
			  (json_int_t)ns, "count", (json_int_t)count);

	if (error_ns)
		json_object_set_new(one, "error_ns", number(error_ns));
	return one;
}

static json_t *state_item(const struct model *model, size_t i)
{
	const struct model_state *state = &model->states[i];

	return state->ns || state->count
		       ? state_json(state, state->ns, state->count, model->estimated.variance)
		       : NULL;
}

/* For the keys `waiter` and `by`. */
static json_t *who_json(const struct model_thread *thread)
{
	if (!thread)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o}", "id", (json_int_t)thread->id, "pid",
			 (json_int_t)thread->pid, "tid", (json_int_t)thread->tid, "comm",
			 json__text(thread->comm));
}

static json_t *wait_item(const struct model *model, size_t i)
{
	const struct model_wait *wait = &model->waits[i];
	json_t *object = wait->object_kind
				 ? json_pack("{s:o, s:o}", "kind", json__text(wait->object_kind),
					     "name", text_or_null(wait->object_name))
				 : json_null();

	return json_pack(
		"{s:o, s:o, s:s?, s:o, s:o, s:o, s:o, s:o, s:i, s:b, s:I, s:I}", "waiter",
		who_json(wait->waiter), "cause", json__text(wait->state->cause), "kind",
		model__kind_name(wait->state->kind), "object", object, "by", who_json(wait->by),
		"evidence", json__text(wait->evidence), "first", who_json(wait->first), "ended",
		text_or_null(*wait->ended ? wait->ended : NULL), "turn", wait->turn, "in_request",
		wait->in_request, "ns", (json_int_t)wait->ns, "count", (json_int_t)wait->count);
}

static json_t *syscall_item(const struct model *model, size_t i)
{
	const struct model_syscall *call = &model->syscalls[i];
	json_t *one =
		json_pack("{s:o, s:I, s:I, s:I, s:I}", "name", json__text(call->name), "count",
			  (json_int_t)call->count, "errors", (json_int_t)call->errors, "total_ns",
			  (json_int_t)call->total_ns, "run_ns", (json_int_t)call->run_ns);

	json_percentiles__put(one, "_ns", call->percentiles_ns);
	json_object_set_new(one, "max_ns", number(call->max_ns));
	if (estimated__is_guessed(call)) {
		json_object_set_new(one, "untimed", number(call->untimed));
		json_object_set_new(one, "error_ns",
				    call->variance > 0 ? number(estimated__error_ns(call->variance))
						       : json_null());
	}
	return one;
}

static json_t *states_json(const struct model_thread *thread)
{
	json_t *states = json_array();

	for (size_t j = 0; j < thread->cell_count; j++)
		json_array_append_new(states,
				      state_json(thread->cells[j].state, thread->cells[j].ns,
						 thread->cells[j].count, thread->variance));
	return states;
}

static json_t *thread_item(const struct model *model, size_t i)
{
	const struct model_thread *thread = &model->threads[i];
	json_t *one;

	if (!thread->measured)
		return NULL;
	one = who_json(thread);
	json_object_set_new(one, "process", json__text(thread->process_comm));
	json_object_set_new(one, "cgroup", text_or_null(thread->cgroup));
	json_object_set_new(one, "own", json_boolean(thread->flags & RECORDING_THREAD_OWN));
	json_object_set_new(one, "kernel", json_boolean(thread->flags & RECORDING_THREAD_KERNEL));
	json_object_set_new(one, "lifetime_ns", number(thread->lifetime_ns));
	json_object_set_new(one, "unexplained_ns", number(thread->unexplained_ns));
	json_object_set_new(one, "states", states_json(thread));
	return one;
}

static json_t *outside_item(const struct model *model, size_t i)
{
	const struct model_thread *thread = &model->threads[i];
	json_t *one;

	if (!thread->outside)
		return NULL;
	one = who_json(thread);
	json_object_set_new(one, "process", json__text(thread->process_comm));
	json_object_set_new(one, "first_ns", number(thread->first_ns - model->start_ns));
	json_object_set_new(one, "lifetime_ns", number(thread->lifetime_ns));
	json_object_set_new(one, "states", states_json(thread));
	return one;
}

static json_t *histogram_item(const struct model *model, size_t i)
{
	const struct model_histogram *histogram = &model->histograms[i];
	json_t *buckets = json_array();

	for (size_t j = 0; j < histogram->bucket_count; j++) {
		const struct bucket *bucket = &histogram->buckets[j];
		__u64 start = histogram_bucket_start((__u32)bucket->number);

		json_array_append_new(
			buckets, json_pack("[I, I]", (json_int_t)start, (json_int_t)bucket->count));
	}
	return json_pack("{s:s, s:o, s:s?, s:I, s:o}", "of",
			 histogram->is_syscall ? "syscall" : "state", "name",
			 json__text(histogram->name), "kind", histogram->kind_name, "count",
			 (json_int_t)histogram->count, "buckets", buckets);
}

static json_t *figures_json(const struct model_figure *figures, size_t count)
{
	json_t *object = json_object();

	for (size_t i = 0; i < count; i++) {
		double value = figures[i].value;
		bool whole = fabs(value) < 9e15 && value == trunc(value);
		json_t *name = json__text(figures[i].name);

		json_object_set_new(object, json_string_value(name),
				    whole ? number((int64_t)value) : json_real(value));
		json_decref(name);
	}
	return object;
}

static json_t *notes_json(const struct model *model)
{
	json_t *object = json_object();

	for (size_t i = 0; i < model->note_count; i++) {
		json_t *name = json__text(model->notes[i].name);

		json_object_set_new(object, json_string_value(name),
				    json__text(model->notes[i].value));
		json_decref(name);
	}
	return object;
}

static json_t *runtime_item(const struct model *model, size_t i)
{
	const struct model_runtime *runtime = &model->runtimes[i];
	char text[256];
	bool is_said = runtime_rows__say(runtime, text, sizeof(text));

	if (!runtime->processes)
		return NULL;
	return json_pack("{s:o, s:o, s:o, s:I, s:I, s:o}", "runtime", json__text(runtime->key),
			 "version", text_or_null(runtime->version), "state",
			 text_or_null(runtime->state), "processes", (json_int_t)runtime->processes,
			 "threads", (json_int_t)runtime->threads, "text",
			 text_or_null(is_said ? text : NULL));
}

static json_t *row_item(const struct model *model, size_t i)
{
	const struct model_row *row = &model->rows[i];
	json_t *one = json_pack("{s:o, s:I, s:I, s:I}", "name", json__text(row->name), "number",
				(json_int_t)row->number, "threads", (json_int_t)row->threads,
				"threads_ns", (json_int_t)row->lifetime_ns);

	for (int j = 0; j < KIND_COUNT; j++) {
		char name[32];

		snprintf(name, sizeof(name), "%s_ns", kinds__words(j)->key);
		json_object_set_new(one, name, number(row->kind_ns[j]));
	}
	return one;
}

static json_t *finding_json(const struct model *model, const struct finding *finding)
{
	json_t *culprits = json_array();

	for (size_t i = 0; i < finding->culprit_count; i++)
		json_array_append_new(culprits, json__text(finding->culprits[i]));
	return json_pack(
		"{s:o, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "text",
		json__text(finding->text), "ns", (json_int_t)finding->ns, "of_ns",
		(json_int_t)finding->of_ns, "culprits", culprits, "process",
		finding->group ? json__text(finding->group->process_comm) : json_null(), "threads",
		finding->group ? json__text(finding->group->name) : json_null(), "cause",
		finding->state ? json__text(finding->state->cause) : json_null(), "function",
		finding->function ? json__text(model->hot.functions[finding->function].name)
				  : json_null(),
		"evidence", finding->evidence ? json_string(finding->evidence) : json_null(),
		"next", *finding->next ? json__text(finding->next) : json_null());
}

static json_t *findings_json(const struct model *model, json_t **ret_waiting)
{
	json_t *list = json_array();
	struct findings findings;
	struct finding none = {};

	findings__make(model, &findings);
	words__say(none.text, sizeof(none.text), "%s", findings.none);
	for (size_t i = 0; i < findings.count; i++)
		json_array_append_new(list, finding_json(model, &findings.list[i]));
	if (!findings.count)
		json_array_append_new(list, finding_json(model, &none));
	*ret_waiting = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}", "held_up_ns",
		(json_int_t)findings.held_ns, "idle_ns", (json_int_t)findings.idle_ns, "unclear_ns",
		(json_int_t)findings.unclear_ns, "slept_ns", (json_int_t)findings.slept_ns,
		"idle_threads", (json_int_t)findings.idle_threads, "quiet_threads",
		(json_int_t)findings.quiet_threads, "idle_programs",
		(json_int_t)findings.idle_programs, "last",
		*findings.last ? json__text(findings.last) : json_null());
	return list;
}

static json_t *change_json(const struct model *model)
{
	struct change change;

	if (!change__find(model, &change))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:I, s:f, s:f}", "text",
			 json__text(change.text), "command", json__text(change.command), "threads",
			 json__text(change.group->name), "state", change.state->state, "cause",
			 change.state->cause, "base_ns", (json_int_t)change.base_ns, "from_ns",
			 (json_int_t)change.from_ns, "to_ns", (json_int_t)change.to_ns, "before",
			 change.before, "after", change.after);
}

static json_t *cut_json(const struct model *model)
{
	if (!model->cut)
		return json_null();
	return json_pack("{s:I, s:I, s:I}", "from_ns",
			 (json_int_t)(model->from_ns - model->start_ns), "to_ns",
			 (json_int_t)(model->to_ns - model->start_ns), "prorated_ns",
			 (json_int_t)model->prorated_ns);
}

static json_t *cpu_json(const struct model *model)
{
	return json_pack("{s:I, s:o, s:I}", "cpus", (json_int_t)model->cpus, "idle_ns",
			 model->has_idle ? number(model->idle_ns) : json_null(), "run_ns",
			 (json_int_t)model->kind_ns[KIND_RUN]);
}

static json_t *user_time_json(const struct model *model)
{
	const struct user_time *time = &model->user_time;
	int64_t error_ns = estimated__error_ns(model->estimated.variance);
	json_t *parts = json_array(), *one;

	for (int i = 0; i < USER_TIME_PARTS && time->sampled.ns > 0; i++) {
		struct user_time_share share = user_time__share(time, i);

		json_array_append_new(parts,
				      json_pack("{s:s, s:I, s:I, s:I}", "part", user_time__name(i),
						"ns", (json_int_t)share.ns, "error_ns",
						(json_int_t)share.error_ns, "samples",
						(json_int_t)time->parts[i].samples));
	}
	one = json_pack("{s:I, s:I, s:o, s:o, s:o}", "ns", (json_int_t)time->ns, "samples",
			(json_int_t)time->sampled.samples, "parts", parts, "minor_faults",
			time->has_faults ? number(time->minor) : json_null(), "major_faults",
			time->has_faults ? number(time->major) : json_null());
	if (error_ns)
		json_object_set_new(one, "error_ns", number(error_ns));
	return one;
}

static json_t *step_item(const struct model *model, size_t i)
{
	const struct estimated_step *step = &model->estimated.steps[i];

	return json_pack("{s:I, s:o, s:I, s:I}", "at_ns",
			 (json_int_t)(step->time_ns - model->start_ns), "what",
			 json__text(step->what), "value", (json_int_t)step->value, "threads",
			 (json_int_t)step->threads);
}

struct sheet {
	const struct model *model;
	FILE *out;
	size_t flags;
	bool failed;
	const char *before; /* separator before the next member */
};

static void put_value(struct sheet *sheet, json_t *value)
{
	sheet->failed |= !value || json_dumpf(value, sheet->out, sheet->flags);
	json_decref(value);
}

static void put(struct sheet *sheet, const char *key, json_t *value)
{
	fprintf(sheet->out, "%s\"%s\": ", sheet->before, key);
	put_value(sheet, value);
	sheet->before = ",\n";
}

static void put_list(struct sheet *sheet, const char *key, size_t count,
		     json_t *(*item)(const struct model *model, size_t i))
{
	const char *before = "\n ";

	fprintf(sheet->out, "%s\"%s\": [", sheet->before, key);
	for (size_t i = 0; i < count; i++) {
		json_t *value = item(sheet->model, i);

		if (!value)
			continue;
		fputs(before, sheet->out);
		put_value(sheet, value);
		before = ",\n ";
	}
	fputs("]", sheet->out);
	sheet->before = ",\n";
}

static void put_head(struct sheet *sheet)
{
	json_t *waiting;
	const struct model *model = sheet->model;

	put(sheet, "format", number(JSON_FORMAT));
	put(sheet, "target", text_or_null(model->target));
	put(sheet, "level", text_or_null(model->level));
	put(sheet, "kernel", text_or_null(model->kernel));
	put(sheet, "complete", json_boolean(model->complete));
	put(sheet, "start_unix_ns", number(model->start_unix_ns));
	put(sheet, "zone_s", number(model->zone_s));
	put(sheet, "cut", cut_json(model));
	put(sheet, "only", text_or_null(model->narrowed));
	put(sheet, "wall_ns", number(model->wall_ns));
	put(sheet, "threads_ns", number(model->threads_ns));
	put(sheet, "unexplained_ns", number(model->unexplained_ns));
	put(sheet, "remainder_ns", number(model->remainder_ns));
	put(sheet, "cpu", cpu_json(model));
	put(sheet, "outside_syscalls", user_time_json(model));
	put(sheet, "quality", figures_json(model->qualities, model->quality_count));
	put(sheet, "cost", figures_json(model->costs, model->cost_count));
	put(sheet, "kernel_counts",
	    model->kernel_counts ? json_incref(model->kernel_counts) : json_null());
	put(sheet, "notes", notes_json(model));
	put(sheet, "hooks", model->hooks ? json_incref(model->hooks) : json_null());
	put(sheet, "findings", findings_json(model, &waiting));
	put(sheet, "waiting", waiting);
	put(sheet, "change", change_json(model));
}

/* Only if something was changed to keep the budget. */
static void put_budget(struct sheet *sheet)
{
	const struct estimated *estimated = &sheet->model->estimated;

	if (!estimated__is_reached(sheet->model))
		return;
	put(sheet, "budget_ppm",
	    estimated->has_budget ? number(estimated->budget_ppm) : json_null());
	put(sheet, "untimed_calls",
	    sheet->model->narrowed ? json_null() : number(estimated->untimed));
	put(sheet, "budget_step_count", number(estimated->all_steps));
	put_list(sheet, "budget_steps", estimated->step_count, step_item);
}

int print__json(const struct model *model, const struct report_options *options, FILE *out)
{
	struct sheet sheet = {
		.model = model,
		.out = out,
		.flags = JSON_ENCODE_ANY | (isatty(fileno(out)) ? JSON_ENSURE_ASCII : 0),
		.before = "{",
	};

	if (model->windows.chosen) {
		put(&sheet, "format", number(JSON_FORMAT));
		put(&sheet, "window", json_requests__window(model));
		fputs("}\n", out);
		return sheet.failed || ferror(out) ? -EIO : 0;
	}
	put_head(&sheet);
	put_budget(&sheet);
	put_list(&sheet, "states", model->state_count, state_item);
	put_list(&sheet, "waits", model->wait_count, wait_item);
	put_list(&sheet, "syscalls", model->syscall_count, syscall_item);
	if (model->fibers.count)
		put_list(&sheet, "fibers", model->fibers.count, json_fibers__group);
	put_list(&sheet, "resident", model->resident.count, json_resident__process);
	if (model->allocated.count)
		put_list(&sheet, "allocated", model->allocated.count, json_resident__allocated);
	if (model->windows.service_count) {
		put_list(&sheet, "requests", model->windows.service_count, json_requests__service);
		put(&sheet, "requests_remainder",
		    model->windows.remainder < 0 ? json_null() : number(model->windows.remainder));
	}
	put_list(&sheet, "signals", model->signals.count, json_signals__signal);
	put(&sheet, "samples", json_hot__samples(model));
	put_list(&sheet, "hot", model->hot.rank_counts[HOT_KINDS], json_hot__function);
	put_list(&sheet, "wait_stacks", model->blame_count, json_hot__wait);
	if (options->model.by)
		put_list(&sheet, "by", model->row_count, row_item);
	if (options->model.by == MODEL_BY_CPU)
		put(&sheet, "by_cpu", json_cpus__all(model));
	if (model->runtime_count)
		put_list(&sheet, "runtimes", model->runtime_count, runtime_item);
	put_list(&sheet, "threads", model->thread_count, thread_item);
	put_list(&sheet, "outside_threads", model->thread_count, outside_item);
	put_list(&sheet, "histograms", model->histogram_count, histogram_item);
	fputs("}\n", out);
	return sheet.failed || ferror(out) ? -EIO : 0;
}
