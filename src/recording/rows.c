/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function per kind of row; statements.c has the SQL. */
#include <stddef.h>

#include "recording/recording.h"
#include "recording/writer.h"

/* Several rows at once take half the time. */
#define OCCUPANTS_AT_ONCE 8

int recording__set_text(struct recording *recording, const char *key, const char *value)
{
	return ADD_ROW(recording, SQL_META, text(key), text(value));
}

int recording__set_number(struct recording *recording, const char *key, int64_t value)
{
	return ADD_ROW(recording, SQL_META, text(key), number(value));
}

int recording__add_state(struct recording *recording, const struct recording_state *state)
{
	return ADD_ROW(recording, SQL_STATE, number(state->id), text(state->state),
		       text(state->cause), text(state->kind));
}

int recording__put_process(struct recording *recording, const struct recording_process *process)
{
	return ADD_ROW(recording, SQL_PROCESS, number(process->id), number(process->pid),
		       number(process->parent_pid), number(process->start_ns), text(process->comm),
		       text(process->cgroup), text(process->container));
}

int recording__set_runtime(struct recording *recording, int64_t process, const char *runtime,
			   const char *version, const char *state)
{
	return ADD_ROW(recording, SQL_RUNTIME, number(process), text(runtime), text(version),
		       text(state));
}

int recording__put_thread(struct recording *recording, const struct recording_thread *thread)
{
	return ADD_ROW(recording, SQL_THREAD, number(thread->id), number(thread->process),
		       number(thread->tid), text(thread->comm), number(thread->first_ns),
		       number(thread->last_ns), number(thread->unexplained_ns),
		       number(thread->flags));
}

int recording__add_name(struct recording *recording, int64_t thread, int64_t time_ns,
			const char *comm)
{
	return ADD_ROW(recording, SQL_NAME, number(thread), number(time_ns), text(comm));
}

int recording__add_slice(struct recording *recording, int64_t id, int64_t begin_ns, int64_t end_ns)
{
	return ADD_ROW(recording, SQL_SLICE, number(id), number(begin_ns), number(end_ns));
}

int recording__add_account(struct recording *recording, const struct recording_account *account)
{
	return ADD_ROW(recording, SQL_ACCOUNT, number(account->to), number(account->thread),
		       number(account->state), number(account->from), number(account->ns),
		       number(account->count));
}

int recording__add_faults(struct recording *recording, const struct recording_faults *faults)
{
	return ADD_ROW(recording, SQL_FAULTS, number(faults->to), number(faults->thread),
		       number(faults->from), number(faults->minor), number(faults->major));
}

int recording__put_object(struct recording *recording, const struct recording_object *object)
{
	return ADD_ROW(recording, SQL_OBJECT, number(object->id), text(object->kind),
		       text(object->name));
}

int recording__add_wait(struct recording *recording, const struct recording_wait *wait)
{
	return ADD_ROW(recording, SQL_WAIT, number(wait->thread), number(wait->state),
		       number(wait->object), number(wait->by), text(wait->evidence),
		       number(wait->ns), number(wait->count), number(wait->first),
		       text(wait->ended ? wait->ended : ""), number(wait->turn),
		       number(wait->in_request));
}

int recording__drop_waits(struct recording *recording, int64_t thread)
{
	return ADD_ROW(recording, SQL_DROP_WAITS, number(thread));
}

int recording__add_bucket(struct recording *recording, const struct recording_bucket *bucket)
{
	return ADD_ROW(recording, SQL_BUCKET, number(bucket->to), number(bucket->of),
		       number(bucket->key), number(bucket->bucket), number(bucket->from),
		       number(bucket->count));
}

int recording__add_syscall(struct recording *recording, const struct recording_syscall *syscall)
{
	int err = ADD_ROW(recording, SQL_SYSCALL, number(syscall->number), text(syscall->name),
			  number(syscall->max_ns));

	if (err)
		return err;
	return ADD_ROW(recording, SQL_SYSCALL_SLICE, number(syscall->to), number(syscall->number),
		       number(syscall->from), number(syscall->count), number(syscall->errors),
		       number(syscall->total_ns), number(syscall->run_ns));
}

int recording__add_estimate(struct recording *recording, const struct recording_estimate *estimate)
{
	return ADD_ROW(recording, SQL_ESTIMATE, number(estimate->to), number(estimate->thread),
		       number(estimate->number), number(estimate->from), number(estimate->untimed),
		       real(estimate->variance));
}

int recording__add_budget_step(struct recording *recording,
			       const struct recording_budget_step *step)
{
	return ADD_ROW(recording, SQL_BUDGET_STEP, number(step->time_ns), text(step->what),
		       number(step->value), number(step->threads));
}

int recording__add_syscall_error(struct recording *recording, int number_of_call, int err,
				 int64_t count)
{
	return ADD_ROW(recording, SQL_SYSCALL_ERROR, number(number_of_call), number(err),
		       number(count));
}

int recording__add_thread_calls(struct recording *recording,
				const struct recording_thread_calls *calls)
{
	return ADD_ROW(recording, SQL_THREAD_CALLS, number(calls->thread), number(calls->number),
		       number(calls->count), number(calls->errors), number(calls->total_ns),
		       number(calls->run_ns));
}

int recording__add_failed_path(struct recording *recording,
			       const struct recording_failed_path *path)
{
	return ADD_ROW(recording, SQL_FAILED_PATH, number(path->thread), number(path->number),
		       number(path->error), text(path->pattern), number(path->count),
		       number(path->paths));
}

int recording__drop_failed_paths(struct recording *recording)
{
	return ADD_ROW(recording, SQL_DROP_FAILED_PATHS, number(0));
}

int recording__add_occupant(struct recording *recording, int64_t to, int64_t thread, int64_t by,
			    int64_t ns)
{
	return ADD_ROW(recording, SQL_OCCUPANT, number(to), number(thread), number(by), number(ns));
}

int recording__add_occupants(struct recording *recording, int64_t to,
			     const struct recording_occupant *list, size_t count)
{
	struct value values[1 + 3 * OCCUPANTS_AT_ONCE] = { number(to) };
	int err = 0;

	for (; count >= OCCUPANTS_AT_ONCE && !err; count -= OCCUPANTS_AT_ONCE) {
		struct value *at = values + 1;

		for (int i = 0; i < OCCUPANTS_AT_ONCE; i++, list++) {
			*at++ = number(list->thread);
			*at++ = number(list->by);
			*at++ = number(list->ns);
		}
		err = writer__add_row(recording, SQL_OCCUPANTS, values,
				      (int)(sizeof(values) / sizeof(*values)));
	}
	for (; count && !err; count--, list++)
		err = recording__add_occupant(recording, to, list->thread, list->by, list->ns);
	return err;
}

int recording__put_cgroup_limit(struct recording *recording,
				const struct recording_cgroup_limit *limit)
{
	return ADD_ROW(recording, SQL_CGROUP_LIMIT, number(limit->process), text(limit->cgroup),
		       text(limit->kind), text(limit->value));
}

int recording__set_throttled(struct recording *recording, const char *kind, const char *cgroup,
			     int64_t ns)
{
	return ADD_ROW(recording, SQL_THROTTLED, text(kind), text(cgroup), number(ns));
}

int recording__add_refaults(struct recording *recording, const struct recording_refaults *refaults)
{
	return ADD_ROW(recording, SQL_REFAULTS, number(refaults->to), text(refaults->cgroup),
		       number(refaults->from), number(refaults->file), number(refaults->anonymous));
}

int recording__put_pressure(struct recording *recording, const struct recording_pressure *pressure)
{
	return ADD_ROW(recording, SQL_PRESSURE, text(pressure->cgroup), text(pressure->kind),
		       number(pressure->some_ns), number(pressure->full_ns),
		       number(pressure->of_ns));
}

int recording__add_module(struct recording *recording, const struct recording_module *module)
{
	return ADD_ROW(recording, SQL_MODULE, number(module->id), text(module->kind),
		       text(module->path), text(module->build_id));
}

int recording__add_frame(struct recording *recording, int64_t id, int64_t module, int64_t address)
{
	return ADD_ROW(recording, SQL_FRAME, number(id), number(module), number(address));
}

int recording__add_function(struct recording *recording, const struct recording_function *function)
{
	return ADD_ROW(recording, SQL_FUNCTION, number(function->id), number(function->module),
		       text(function->name), text(function->system_name), text(function->file),
		       number(function->start_line), text(function->source));
}

int recording__add_line(struct recording *recording, const struct recording_line *line)
{
	return ADD_ROW(recording, SQL_LINE, number(line->frame), number(line->depth),
		       number(line->function), number(line->line), number(line->column));
}

int recording__add_stack(struct recording *recording, int64_t id, int64_t parent, int64_t frame)
{
	return ADD_ROW(recording, SQL_STACK, number(id), number(parent), number(frame));
}

int recording__add_sample(struct recording *recording, const struct recording_sample *sample)
{
	return ADD_ROW(recording, SQL_SAMPLE, number(sample->time_ns), number(sample->thread),
		       number(sample->state), number(sample->stack), number(sample->waker_stack),
		       number(sample->by), number(sample->object), number(sample->weight_ns),
		       number(sample->wait_ns), number(sample->period_ns), number(sample->count),
		       number(sample->flags), text(sample->none), text(sample->end),
		       text(sample->how), text(sample->evidence), number(sample->first),
		       sample->cpu < 0 ? text(NULL) : number(sample->cpu), text(sample->ended),
		       number(sample->turn), number(sample->in_request),
		       !sample->fiber      ? text(NULL)
		       : sample->fiber < 0 ? number(0)
					   : number(sample->fiber),
		       sample->window ? number(sample->window) : text(NULL));
}

int recording__add_signal_sample(struct recording *recording,
				 const struct recording_signal_sample *sample)
{
	return ADD_ROW(recording, SQL_SIGNAL_SAMPLE, number(sample->time_ns), text(sample->signal),
		       number(sample->thread), text(sample->operation), number(sample->stack),
		       number(sample->count), number(sample->bytes));
}

int recording__add_fatal(struct recording *recording, const struct recording_fatal *fatal)
{
	return ADD_ROW(recording, SQL_FATAL, number(fatal->time_ns), number(fatal->thread),
		       number(fatal->signal), number(fatal->code), number(fatal->address),
		       number(fatal->stack));
}

int recording__put_cpu(struct recording *recording, int cpu, int64_t idle_ns)
{
	return ADD_ROW(recording, SQL_CPU, number(cpu), number(idle_ns));
}

int recording__put_quality(struct recording *recording, const char *name, int64_t value,
			   const char *bias, const char *remedy)
{
	return ADD_ROW(recording, SQL_QUALITY, text(name), number(value), text(bias), text(remedy));
}

int recording__put_cost(struct recording *recording, const char *name, double value,
			const char *unit)
{
	return ADD_ROW(recording, SQL_COST, text(name), real(value), text(unit));
}

int recording__add_signal(struct recording *recording, const struct recording_signal *signal)
{
	return ADD_ROW(recording, SQL_SIGNAL, number(signal->id), text(signal->name),
		       text(signal->about), text(signal->events), text(signal->role));
}

int recording__add_measure(struct recording *recording, int signal, int id, const char *name,
			   const char *unit)
{
	return ADD_ROW(recording, SQL_MEASURE, number(signal), number(id), text(name), text(unit));
}

int recording__add_series(struct recording *recording, const struct recording_series *series)
{
	return ADD_ROW(recording, SQL_SERIES, number(series->id), number(series->signal),
		       number(series->thread), number(series->object), text(series->place),
		       text(series->operation), number(series->error));
}

int recording__add_sum(struct recording *recording, const struct recording_sum *sum)
{
	int err = ADD_ROW(recording, SQL_SERIES_MAX, number(sum->series), number(sum->max[0]),
			  number(sum->max[1]), number(sum->max[2]), number(sum->max[3]),
			  number(sum->max[4]), number(sum->max[5]));

	if (err)
		return err;
	return ADD_ROW(recording, SQL_SUM, number(sum->to), number(sum->series), number(sum->from),
		       number(sum->count), number(sum->sum[0]), number(sum->sum[1]),
		       number(sum->sum[2]), number(sum->sum[3]), number(sum->sum[4]),
		       number(sum->sum[5]));
}

int recording__add_distribution(struct recording *recording,
				const struct recording_distribution *distribution)
{
	return ADD_ROW(recording, SQL_DISTRIBUTION, number(distribution->id),
		       number(distribution->signal), number(distribution->measure),
		       text(distribution->place), text(distribution->operation));
}

int recording__add_distributed(struct recording *recording, int64_t distribution, int bucket,
			       int64_t from, int64_t to, int64_t count)
{
	return ADD_ROW(recording, SQL_DISTRIBUTED, number(to), number(distribution), number(bucket),
		       number(from), number(count));
}

int recording__add_owned(struct recording *recording, int64_t distribution, int64_t thread,
			 int bucket, int64_t count)
{
	return ADD_ROW(recording, SQL_OWNED, number(distribution), number(thread), number(bucket),
		       number(count));
}

int recording__add_event(struct recording *recording, const struct recording_event *event)
{
	return ADD_ROW(recording, SQL_EVENT, number(event->signal), number(event->time_ns),
		       number(event->duration_ns), number(event->thread), number(event->object),
		       text(event->place), text(event->operation), number(event->error),
		       text(event->fields), number(event->stack));
}

int recording__drop(struct recording *recording, enum recording_dropped what, int64_t id)
{
	return ADD_ROW(recording, SQL_DROP + what, number(id));
}
