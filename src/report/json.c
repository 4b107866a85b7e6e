/* The model as JSON. The keys are documented in gapless(1) and stay. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "bpf/histogram.h"
#include "recording/recording.h"
#include "report/findings.h"
#include "report/print.h"

static json_t *number(int64_t value)
{
	return json_integer((json_int_t)value);
}

static json_t *text_or_null(const char *text)
{
	return text ? json__text(text) : json_null();
}

static json_t *state_json(const struct model_state *state, int64_t ns, int64_t count)
{
	return json_pack("{s:o, s:o, s:s?, s:I, s:I}", "state", json__text(state->state), "cause",
			 json__text(state->cause), "kind", model__kind_name(state->kind), "ns",
			 (json_int_t)ns, "count", (json_int_t)count);
}

static json_t *states_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->state_count; i++)
		if (model->states[i].ns || model->states[i].count)
			json_array_append_new(list,
					      state_json(&model->states[i], model->states[i].ns,
							 model->states[i].count));
	return list;
}

/* `waiter` and `by`. */
static json_t *who_json(const struct model_thread *thread)
{
	if (!thread)
		return json_null();
	return json_pack("{s:I, s:I, s:I, s:o}", "id", (json_int_t)thread->id, "pid",
			 (json_int_t)thread->pid, "tid", (json_int_t)thread->tid, "comm",
			 json__text(thread->comm));
}

static json_t *waits_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->wait_count; i++) {
		const struct model_wait *wait = &model->waits[i];
		json_t *object =
			wait->object_kind
				? json_pack("{s:o, s:o}", "kind", json__text(wait->object_kind),
					    "name", text_or_null(wait->object_name))
				: json_null();

		json_array_append_new(
			list,
			json_pack("{s:o, s:o, s:s?, s:o, s:o, s:o, s:I, s:I}", "waiter",
				  who_json(wait->waiter), "cause", json__text(wait->state->cause),
				  "kind", model__kind_name(wait->state->kind), "object", object,
				  "by", who_json(wait->by), "evidence", json__text(wait->evidence),
				  "ns", (json_int_t)wait->ns, "count", (json_int_t)wait->count));
	}
	return list;
}

static json_t *syscalls_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->syscall_count; i++) {
		const struct model_syscall *call = &model->syscalls[i];

		json_array_append_new(
			list, json_pack("{s:o, s:I, s:I, s:I, s:o, s:o, s:I}", "name",
					json__text(call->name), "count", (json_int_t)call->count,
					"errors", (json_int_t)call->errors, "total_ns",
					(json_int_t)call->total_ns, "p50_ns",
					call->timed ? number(call->p50_ns) : json_null(), "p99_ns",
					call->timed ? number(call->p99_ns) : json_null(), "max_ns",
					(json_int_t)call->max_ns));
	}
	return list;
}

static json_t *threads_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		json_t *one, *states;

		if (!thread->measured)
			continue;
		one = who_json(thread);
		states = json_array();
		for (size_t j = 0; j < thread->cell_count; j++)
			json_array_append_new(states, state_json(thread->cells[j].state,
								 thread->cells[j].ns,
								 thread->cells[j].count));
		json_object_set_new(one, "process", json__text(thread->process_comm));
		json_object_set_new(one, "cgroup", text_or_null(thread->cgroup));
		json_object_set_new(one, "own", json_boolean(thread->flags & RECORDING_THREAD_OWN));
		json_object_set_new(one, "kernel",
				    json_boolean(thread->flags & RECORDING_THREAD_KERNEL));
		json_object_set_new(one, "lifetime_ns", number(thread->lifetime_ns));
		json_object_set_new(one, "unexplained_ns", number(thread->unexplained_ns));
		json_object_set_new(one, "states", states);
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *histograms_json(const struct model *model)
{
	json_t *list = json_array();

	for (size_t i = 0; i < model->histogram_count; i++) {
		const struct model_histogram *histogram = &model->histograms[i];
		json_t *buckets = json_array();

		for (size_t j = 0; j < histogram->bucket_count; j++) {
			const struct model_bucket *bucket = &histogram->buckets[j];
			__u64 start = histogram_bucket_start((__u32)bucket->bucket);

			json_array_append_new(buckets, json_pack("[I, I]", (json_int_t)start,
								 (json_int_t)bucket->count));
		}
		json_array_append_new(
			list, json_pack("{s:s, s:o, s:s?, s:I, s:o}", "of",
					histogram->is_syscall ? "syscall" : "state", "name",
					json__text(histogram->name), "kind", histogram->kind_name,
					"count", (json_int_t)histogram->count, "buckets", buckets));
	}
	return list;
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

static json_t *rows_json(const struct model *model)
{
	static const char *const names[MODEL_KINDS] = { "run_ns",       "ready_ns", "delaying_ns",
							"undecided_ns", "idle_ns",  "unseen_ns" };
	json_t *list = json_array();

	for (size_t i = 0; i < model->row_count; i++) {
		const struct model_row *row = &model->rows[i];
		json_t *one =
			json_pack("{s:o, s:I, s:I, s:I}", "name", json__text(row->name), "number",
				  (json_int_t)row->number, "threads", (json_int_t)row->threads,
				  "threads_ns", (json_int_t)row->lifetime_ns);

		for (int j = 0; j < MODEL_KINDS; j++)
			json_object_set_new(one, names[j], number(row->kind_ns[j]));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *findings_json(const struct model *model)
{
	struct finding findings[FINDINGS_MOST], empty;
	size_t count = findings__make(model, findings);
	json_t *list = json_array();

	findings__why_empty(model, &empty);
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:o, s:I, s:I}", "text",
						      json__text(findings[i].text), "ns",
						      (json_int_t)findings[i].ns, "of_ns",
						      (json_int_t)findings[i].of_ns));
	if (*empty.text)
		json_array_append_new(list, json_pack("{s:o, s:i, s:i}", "text",
						      json__text(empty.text), "ns", 0, "of_ns", 0));
	return list;
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
			 (json_int_t)model->kind_ns[MODEL_RUN]);
}

int print__json(const struct model *model, const struct report_options *options, FILE *out)
{
	size_t flags = JSON_INDENT(1) | (isatty(fileno(out)) ? JSON_ENSURE_ASCII : 0);
	const struct {
		const char *key;
		json_t *value;
	} members[] = {
		{ "target", text_or_null(model->target) },
		{ "level", text_or_null(model->level) },
		{ "kernel", text_or_null(model->kernel) },
		{ "complete", json_boolean(model->complete) },
		{ "start_unix_ns", number(model->start_unix_ns) },
		{ "cut", cut_json(model) },
		{ "wall_ns", number(model->wall_ns) },
		{ "threads_ns", number(model->threads_ns) },
		{ "unexplained_ns", number(model->unexplained_ns) },
		{ "remainder_ns", number(model->remainder_ns) },
		{ "findings", findings_json(model) },
		{ "states", states_json(model) },
		{ "waits", waits_json(model) },
		{ "syscalls", syscalls_json(model) },
		{ "by", options->by ? rows_json(model) : json_null() },
		{ "threads", threads_json(model) },
		{ "histograms", histograms_json(model) },
		{ "cpu", cpu_json(model) },
		{ "hooks", model->hooks ? json_incref(model->hooks) : json_null() },
		{ "quality", figures_json(model->qualities, model->quality_count) },
		{ "cost", figures_json(model->costs, model->cost_count) },
	};
	json_t *all = json_object();
	int err = 0;

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		err |= json_object_set_new(all, members[i].key, members[i].value);
	err |= json_dumpf(all, out, flags) || fputc('\n', out) == EOF;
	json_decref(all);
	return err ? -EIO : 0;
}
