/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function per kind of row. */
#include <stddef.h>

#include "recording/recording.h"
#include "recording/writer.h"

/* Several rows at once take half the time. */
#define OCCUPANTS_AT_ONCE 8
#define OCCUPANTS                                                                                  \
	"(?1, ?2, ?3, ?4), (?1, ?5, ?6, ?7), (?1, ?8, ?9, ?10), (?1, ?11, ?12, ?13),"              \
	" (?1, ?14, ?15, ?16), (?1, ?17, ?18, ?19), (?1, ?20, ?21, ?22), (?1, ?23, ?24, ?25)"

const char *const writer__sql[SQL_COUNT] = {
	[SQL_META] = "INSERT OR REPLACE INTO meta VALUES(?1, ?2)",
	[SQL_STATE] = "INSERT OR REPLACE INTO state VALUES(?1, ?2, ?3, ?4)",
	[SQL_PROCESS] = "INSERT OR REPLACE INTO process SELECT ?1, ?2, ?3, ?4, ?5,"
			" coalesce(?6, (SELECT cgroup FROM process WHERE id = ?1)),"
			" coalesce(?7, (SELECT container FROM process WHERE id = ?1)),"
			" (SELECT runtime FROM process WHERE id = ?1),"
			" (SELECT runtime_version FROM process WHERE id = ?1),"
			" (SELECT runtime_state FROM process WHERE id = ?1)",
	[SQL_RUNTIME] = "INSERT INTO process(id, runtime, runtime_version, runtime_state)"
			" VALUES(?1, ?2, ?3, ?4) ON CONFLICT(id) DO UPDATE SET"
			" runtime = excluded.runtime, runtime_version = excluded.runtime_version,"
			" runtime_state = excluded.runtime_state",
	[SQL_THREAD] = "INSERT OR REPLACE INTO thread VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
	[SQL_NAME] = "INSERT OR REPLACE INTO thread_name VALUES(?1, ?2, ?3)",
	[SQL_SLICE] = "INSERT OR REPLACE INTO slice VALUES(?1, ?2, ?3)",
	[SQL_ACCOUNT] = "INSERT INTO account VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
			" SET slice_from = min(slice_from, excluded.slice_from),"
			" ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_FAULTS] = "INSERT INTO fault_slice VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE"
		       " SET slice_from = min(slice_from, excluded.slice_from),"
		       " minor = minor + excluded.minor, major = major + excluded.major",
	[SQL_OBJECT] = "INSERT OR REPLACE INTO object VALUES(?1, ?2, ?3)",
	[SQL_WAIT] =
		"INSERT INTO wait VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"
		" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count",
	[SQL_DROP_WAITS] = "DELETE FROM wait WHERE thread = ?1",
	[SQL_BUCKET] = "INSERT INTO histogram VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
		       " SET slice_from = min(slice_from, excluded.slice_from),"
		       " count = count + excluded.count",
	[SQL_SYSCALL] = "INSERT INTO syscall VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE"
			" SET max_ns = max(max_ns, excluded.max_ns)",
	[SQL_SYSCALL_SLICE] = "INSERT INTO syscall_slice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
			      " ON CONFLICT DO UPDATE"
			      " SET slice_from = min(slice_from, excluded.slice_from),"
			      " count = count + excluded.count, errors = errors + excluded.errors,"
			      " total_ns = total_ns + excluded.total_ns,"
			      " run_ns = run_ns + excluded.run_ns",
	[SQL_SYSCALL_ERROR] = "INSERT INTO syscall_error VALUES(?1, ?2, ?3) ON CONFLICT DO UPDATE"
			      " SET count = count + excluded.count",
	[SQL_THREAD_CALLS] = "INSERT INTO syscall_thread VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT"
			     " DO UPDATE SET count = count + excluded.count,"
			     " errors = errors + excluded.errors,"
			     " total_ns = total_ns + excluded.total_ns,"
			     " run_ns = run_ns + excluded.run_ns",
	[SQL_ESTIMATE] = "INSERT INTO estimate VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE"
			 " SET slice_from = min(slice_from, excluded.slice_from),"
			 " untimed = untimed + excluded.untimed,"
			 " variance = variance + excluded.variance",
	[SQL_BUDGET_STEP] = "INSERT INTO budget_step VALUES(?1, ?2, ?3, ?4)",
	[SQL_FAILED_PATH] = "INSERT INTO failed_path VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT"
			    " DO UPDATE SET count = count + excluded.count",
	[SQL_DROP_FAILED_PATHS] = "DELETE FROM failed_path WHERE thread >= ?1",
	[SQL_OCCUPANT] = "INSERT INTO occupant VALUES(?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE"
			 " SET ns = ns + excluded.ns",
	[SQL_OCCUPANTS] = "INSERT INTO occupant VALUES" OCCUPANTS " ON CONFLICT DO UPDATE"
			  " SET ns = ns + excluded.ns",
	[SQL_CGROUP_LIMIT] = "INSERT OR REPLACE INTO cgroup_limit VALUES(?1, ?2, ?3, ?4, NULL)",
	[SQL_REFAULTS] = "INSERT INTO refault_slice VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT DO"
			 " UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
			 " file = file + excluded.file, anonymous = anonymous + excluded.anonymous",
	[SQL_RESIDENT] = "INSERT OR REPLACE INTO resident VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_ALLOCATED] = "INSERT OR REPLACE INTO allocated VALUES(?1, ?2, ?3, ?4)",
	[SQL_PRESSURE] = "INSERT OR REPLACE INTO pressure VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_THROTTLED] = "UPDATE cgroup_limit SET throttled_ns = ?3 WHERE kind = ?1"
			  " AND cgroup = ?2",
	[SQL_MODULE] = "INSERT OR REPLACE INTO module VALUES(?1, ?2, ?3, ?4)",
	[SQL_FRAME] = "INSERT INTO frame VALUES(?1, ?2, ?3)",
	[SQL_FUNCTION] = "INSERT INTO function VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_LINE] = "INSERT INTO frame_line VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_STACK] = "INSERT INTO stack VALUES(?1, ?2, ?3)",
	[SQL_SAMPLE] = "INSERT INTO sample VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
		       " ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
	[SQL_SIGNAL_SAMPLE] = "INSERT INTO signal_sample VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SQL_FATAL] = "INSERT INTO fatal VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[SQL_FIBER] = "INSERT OR REPLACE INTO fiber VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_FIBER_STATE] = "INSERT INTO fiber_state VALUES(?1, ?2, ?3)",
	[SQL_FIBER_TIME] = "INSERT INTO fiber_time VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
			   " ON CONFLICT DO UPDATE SET begin_ns = min(begin_ns, excluded.begin_ns),"
			   " ns = ns + excluded.ns, readings = readings + excluded.readings,"
			   " variance = variance + excluded.variance",
	[SQL_FIBER_EXACT] =
		"INSERT INTO fiber_exact VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)"
		" ON CONFLICT DO UPDATE SET begin_ns = min(begin_ns, excluded.begin_ns),"
		" ns = ns + excluded.ns, changes = changes + excluded.changes",
	[SQL_CPU] = "INSERT OR REPLACE INTO cpu VALUES(?1, ?2)",
	[SQL_QUALITY] = "INSERT OR REPLACE INTO quality VALUES(?1, ?2, ?3, ?4)",
	[SQL_COST] = "INSERT OR REPLACE INTO cost VALUES(?1, ?2, ?3)",
	[SQL_SIGNAL] = "INSERT INTO signal VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_MEASURE] = "INSERT INTO measure VALUES(?1, ?2, ?3, ?4)",
	[SQL_SERIES] = "INSERT INTO series VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, 0, 0, 0)",
	[SQL_SERIES_MAX] = "UPDATE series SET max0 = max(max0, ?2), max1 = max(max1, ?3),"
			   " max2 = max(max2, ?4), max3 = max(max3, ?5), max4 = max(max4, ?6),"
			   " max5 = max(max5, ?7) WHERE id = ?1",
	[SQL_SUM] =
		"INSERT INTO series_slice VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO"
		" UPDATE SET slice_from = min(slice_from, excluded.slice_from),"
		" count = count + excluded.count, sum0 = sum0 + excluded.sum0,"
		" sum1 = sum1 + excluded.sum1, sum2 = sum2 + excluded.sum2,"
		" sum3 = sum3 + excluded.sum3, sum4 = sum4 + excluded.sum4,"
		" sum5 = sum5 + excluded.sum5",
	[SQL_DISTRIBUTION] = "INSERT INTO distribution VALUES(?1, ?2, ?3, ?4, ?5)",
	[SQL_DISTRIBUTED] = "INSERT INTO distribution_slice VALUES(?1, ?2, ?3, ?4, ?5)"
			    " ON CONFLICT DO UPDATE"
			    " SET slice_from = min(slice_from, excluded.slice_from),"
			    " count = count + excluded.count",
	[SQL_OWNED] = "INSERT INTO thread_distribution VALUES(?1, ?2, ?3, ?4)"
		      " ON CONFLICT DO UPDATE SET count = count + excluded.count",
	[SQL_EVENT] = "INSERT INTO event VALUES(NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
	[SQL_DROP + RECORDING_DROP_STACK] = "DELETE FROM stack WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_FRAME] = "DELETE FROM frame WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_LINES] = "DELETE FROM frame_line WHERE frame = ?1",
	[SQL_DROP + RECORDING_DROP_FUNCTION] = "DELETE FROM function WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_MODULE] = "DELETE FROM module WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_OBJECT] = "DELETE FROM object WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_THREAD] = "DELETE FROM thread WHERE id = ?1",
	[SQL_DROP + RECORDING_DROP_PROCESS] = "DELETE FROM process WHERE id = ?1",
};

static struct value number(int64_t value)
{
	return (struct value) { .kind = VALUE_NUMBER, .number = value };
}

static struct value real(double value)
{
	return (struct value) { .kind = VALUE_REAL, .real = value };
}

static struct value text(const char *value)
{
	return (struct value) { .kind = VALUE_TEXT, .text = value };
}

#define ADD_ROW(recording, which, ...)                                                             \
	writer__add_row(recording, which, (const struct value[]) { __VA_ARGS__ },                  \
			sizeof((const struct value[]) { __VA_ARGS__ }) / sizeof(struct value))

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

int recording__add_resident(struct recording *recording, const struct recording_resident *resident)
{
	return ADD_ROW(recording, SQL_RESIDENT, number(resident->time_ns),
		       number(resident->process), number(resident->anonymous),
		       number(resident->file), number(resident->shared), number(resident->swap));
}

int recording__add_allocated(struct recording *recording,
			     const struct recording_allocated *allocated)
{
	return ADD_ROW(recording, SQL_ALLOCATED, number(allocated->end_ns),
		       number(allocated->thread), number(allocated->begin_ns),
		       number(allocated->bytes));
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
					   : number(sample->fiber));
}

int recording__put_fiber(struct recording *recording, const struct recording_fiber *fiber)
{
	return ADD_ROW(recording, SQL_FIBER, number(fiber->process), number(fiber->id),
		       number(fiber->start), number(fiber->created), number(fiber->first_ns));
}

int recording__add_fiber_state(struct recording *recording,
			       const struct recording_fiber_state *state)
{
	return ADD_ROW(recording, SQL_FIBER_STATE, number(state->id), text(state->state),
		       text(state->reason));
}

int recording__add_fiber_time(struct recording *recording, const struct recording_fiber_time *time)
{
	return ADD_ROW(recording, SQL_FIBER_TIME, number(time->end_ns), number(time->process),
		       number(time->fiber), number(time->state), number(time->object),
		       number(time->stack), number(time->begin_ns), number(time->ns),
		       number(time->readings), real(time->variance));
}

int recording__add_fiber_exact(struct recording *recording,
			       const struct recording_fiber_exact *exact)
{
	return ADD_ROW(recording, SQL_FIBER_EXACT, number(exact->end_ns), number(exact->process),
		       number(exact->fiber), number(exact->state), number(exact->begin_ns),
		       number(exact->ns), number(exact->changes));
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
