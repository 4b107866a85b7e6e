/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The loader for exports. It uses the model's loaders for head, threads, code and samples. What a
 * killed recorder did not write (descriptions of threads, names of functions) gets a substitute. So
 * does a reference to a row that is missing or comes later. Stacks and samples with such references
 * are counted, as in the report.
 */
#include "model/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/profile_rows.h"
#include "model/runtime_rows.h"
#include "model/sample.h"
#include "model/sql.h"
#include "recording/recording.h"

DEFINE_CLEANUP(struct profile *, profile__free)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)
DEFINE_CLEANUP(sqlite3 *, sqlite3_close)

static void loader__release(struct loader *loader)
{
	ids__release(&loader->processes);
	ids__release(&loader->threads);
	ids__release(&loader->states);
	ids__release(&loader->objects);
	map__release(&loader->strangers);
	free(loader->object_names);
}

int profile_rows__each(struct loader *loader, const char *sql, profile_take *take)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(loader->model, loader->db, sql, &row), rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take(loader, row) : load__error(rc);
	return err;
}

int64_t profile_rows__clamp(int64_t value, int64_t least, int64_t most)
{
	return value < least ? least : value > most ? most : value;
}

static int64_t clamp_time(const struct profile *profile, int64_t time_ns)
{
	return profile_rows__clamp(time_ns, profile->start_ns, profile->end_ns);
}

static int take_process(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_process *process =
		APPEND_ROW(&loader->processes, row, &profile->processes, &profile->process_count);

	if (!process)
		return -ENOMEM;
	process->id = sqlite3_column_int64(row, 0);
	process->pid = (int)load__index(row, 1);
	process->comm = load__name(loader->model, row, 2);
	return 0;
}

static int take_object(struct loader *loader, sqlite3_stmt *row)
{
	const char **name =
		APPEND_ROW(&loader->objects, row, &loader->object_names, &loader->object_count);

	if (!name)
		return -ENOMEM;
	*name = load__text(loader->model, row, 1);
	return 0;
}

static int add_states(struct loader *loader)
{
	const struct model *model = loader->model;
	struct profile *profile = loader->profile;

	for (size_t i = 0; i < model->state_count; i++) {
		const struct model_state *from = &model->states[i];
		struct profile_state *state =
			ids__append(&loader->states, from->id, &profile->states,
				    &profile->state_count, sizeof(*state));

		if (!state)
			return -ENOMEM;
		state->id = (int)from->id;
		state->state = from->state;
		state->cause = from->cause;
		state->kind = model__kind_name(from->kind);
		state->is_run = from->kind == KIND_RUN;
		state->look = states__look(from->state, from->cause, from->kind);
	}
	return 0;
}

static void name_runtime(struct loader *loader, struct profile_process *process,
			 const struct model_runtime *runtime)
{
	char name[80];

	if (process->runtime)
		return;
	runtime_rows__name(runtime, name, sizeof(name));
	process->runtime = load__keep(loader->model, name);
}

static int add_threads(struct loader *loader)
{
	const struct model *model = loader->model;
	struct profile *profile = loader->profile;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *from = &model->threads[i];
		bool is_described = from->first_ns || from->last_ns;
		struct profile_thread *thread =
			ids__append(&loader->threads, from->id, &profile->threads,
				    &profile->thread_count, sizeof(*thread));

		if (!thread)
			return -ENOMEM;
		thread->id = from->id;
		thread->process = ids__find(&loader->processes, from->process);
		thread->tid = from->tid < 0 || from->tid > INT32_MAX ? 0 : (int)from->tid;
		thread->comm = from->comm;
		thread->first_ns = clamp_time(profile, from->first_ns);
		thread->last_ns =
			is_described ? clamp_time(profile, from->last_ns) : profile->end_ns;
		thread->is_own = (from->flags & RECORDING_THREAD_OWN) != 0;
		thread->is_kernel = (from->flags & RECORDING_THREAD_KERNEL) != 0;
		thread->is_outside = from->outside;
		if (from->runtime && thread->process != PROFILE_NONE)
			name_runtime(loader, &profile->processes[thread->process], from->runtime);
	}
	return 0;
}

/* Returns the index of a thread. Adds a thread that the recorder had no time to describe. */
static int find_thread(struct loader *loader, int64_t id, uint32_t *ret)
{
	struct profile *profile = loader->profile;
	uintptr_t stranger;

	*ret = ids__find(&loader->threads, id);
	if (*ret != PROFILE_NONE)
		return 0;
	stranger = (uintptr_t)map__get(&loader->strangers, (uint64_t)id);
	if (!stranger) {
		struct profile_thread *thread = APPEND(&profile->threads, &profile->thread_count);

		if (!thread)
			return -ENOMEM;
		thread->id = id;
		thread->process = PROFILE_NONE;
		thread->comm = "?";
		thread->first_ns = profile->start_ns;
		thread->last_ns = profile->end_ns;
		stranger = profile->thread_count;
		if (map__put(&loader->strangers, (uint64_t)id, (void *)stranger))
			return -ENOMEM;
	}
	*ret = (uint32_t)(stranger - 1);
	return 0;
}

/* Returns the index of the thread that a sample blames. Id 0 gives PROFILE_NONE. */
static int find_culprit(struct loader *loader, int64_t id, uint32_t *ret)
{
	*ret = PROFILE_NONE;
	return id ? find_thread(loader, id, ret) : 0;
}

static enum profile_evidence evidence_of(const char *text)
{
	if (text && !strcmp(text, "owner"))
		return PROFILE_OWNER;
	if (text && !strcmp(text, "handed"))
		return PROFILE_HANDED;
	return text && !strcmp(text, "timeout") ? PROFILE_TIMEOUT : PROFILE_WAKER;
}

/* Work that follows the answer is kept apart from the window in the account too. */
static bool is_after(const struct profile_window *window, const struct sample *sample)
{
	return sample->time_ns - sample->whole_wait_ns >= window->start_ns + window->length_ns;
}

static int fill_sample(struct loader *loader, const struct sample *from,
		       struct profile_sample *sample)
{
	struct profile *profile = loader->profile;
	uint32_t object = ids__find(&loader->objects, from->object);
	int err;

	if (__builtin_add_overflow(loader->total_ns, from->whole_weight_ns, &loader->total_ns) ||
	    __builtin_add_overflow(loader->total_wait_ns, from->whole_wait_ns,
				   &loader->total_wait_ns))
		return -EBADMSG;
	sample->stack = code__stack(&profile->code, from->stack);
	sample->waker_stack = code__stack(&profile->code, from->waker_stack);
	sample->time_ns = clamp_time(profile, from->time_ns);
	sample->weight_ns = from->weight_ns;
	sample->wait_ns = from->wait_ns;
	sample->evidence = evidence_of(from->evidence);
	sample->object = object == PROFILE_NONE ? NULL : loader->object_names[object];
	sample->count = (uint32_t)profile_rows__clamp(from->count, 0, INT32_MAX);
	sample->window = profile_windows__find(profile, from->window);
	if (sample->window != PROFILE_NONE)
		sample->is_after = is_after(&profile->windows[sample->window], from);
	sample->is_tick = (from->flags & RECORDING_SAMPLE_TICK) != 0;
	if (sample->is_tick && !profile->period_ns)
		profile->period_ns = from->period_ns;
	err = find_culprit(loader, from->first, &sample->first);
	return err ? err
		   : find_culprit(loader, sample->evidence == PROFILE_TIMEOUT ? 0 : from->by,
				  &sample->by);
}

static const char *keep_reason(struct loader *loader, const char *words)
{
	return words ? texts__repeat(&loader->model->texts, words) : NULL;
}

static int take_sample(void *context, const struct sample *from)
{
	struct loader *loader = context;
	struct profile *profile = loader->profile;
	struct profile_sample sample = { .state = ids__find(&loader->states, from->state) };
	struct profile_sample *kept;
	const char *kind;
	int err = find_thread(loader, from->thread, &sample.thread);

	if (err)
		return err;
	if (sample.state == PROFILE_NONE)
		return -EBADMSG;
	if (profile->threads[sample.thread].is_outside ||
	    (profile->threads[sample.thread].is_own && !loader->options->with_own))
		return 0;
	err = fill_sample(loader, from, &sample);
	if (err)
		return err;
	kind = profile->states[sample.state].kind;
	if (loader->options->no_idle && kind && !strcmp(kind, kinds__words(KIND_IDLE)->key)) {
		profile->left_out_ns += sample.weight_ns;
		return 0;
	}
	sample.none = keep_reason(loader, from->none);
	sample.end = keep_reason(loader, from->end);
	kept = APPEND(&profile->samples, &profile->sample_count);
	if (!kept)
		return -ENOMEM;
	*kept = sample;
	return 0;
}

/* Cuts an account to the part of begin_ns … end_ns that lies within the profile. */
static bool cut_account(const struct profile *profile, struct profile_account *account)
{
	int64_t begin_ns = clamp_time(profile, account->begin_ns);
	int64_t end_ns = clamp_time(profile, account->end_ns);
	int64_t whole_ns = account->end_ns - account->begin_ns, part_ns = end_ns - begin_ns;

	if (part_ns <= 0)
		return false;
	if (part_ns < whole_ns)
		account->ns = (int64_t)((__int128)account->ns * part_ns / whole_ns);
	account->begin_ns = begin_ns;
	account->end_ns = end_ns;
	return true;
}

static int take_account(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_account account = {
		.state = ids__find(&loader->states, sqlite3_column_int64(row, 1)),
		.begin_ns = profile_rows__clamp(sqlite3_column_int64(row, 2), 0, INT64_MAX),
		.end_ns = profile_rows__clamp(sqlite3_column_int64(row, 3), 0, INT64_MAX),
		.ns = sqlite3_column_int64(row, 4),
	};
	struct profile_account *kept;
	int err = find_thread(loader, sqlite3_column_int64(row, 0), &account.thread);

	if (err)
		return err;
	if (account.state == PROFILE_NONE || account.ns < 0 ||
	    __builtin_add_overflow(loader->total_account_ns, account.ns, &loader->total_account_ns))
		return -EBADMSG;
	/*
	 * Exporters place spans one after another from a start in the lower half of the range, so
	 * this sum must fit into the upper half.
	 */
	if (loader->total_account_ns > INT64_MAX / 2)
		return -EBADMSG;
	if (profile->threads[account.thread].is_own && !loader->options->with_own)
		return 0;
	if (!cut_account(profile, &account))
		return 0;
	kept = APPEND(&profile->accounts, &profile->account_count);
	if (!kept)
		return -ENOMEM;
	*kept = account;
	return 0;
}

static int load_head(struct loader *loader)
{
	const struct profile_options *options = loader->options;
	struct profile *profile = loader->profile;
	struct model *model = loader->model;
	/*
	 * Exports are meant to be shared, so secrets are redacted unless the user says otherwise.
	 */
	enum redact_args args = options->args == REDACT_DEFAULT ? REDACT_SECRETS : options->args;
	cleanup(free_p) char *command = NULL;
	int err = load__head(model, loader->db);

	if (!err)
		err = scope__cut(&options->scope, model);
	if (!err)
		err = scope__narrow(&options->scope, model, loader->db);
	if (err)
		return err;
	model->args = args;
	command = redact__line(model->command_line ? model->command_line : "", args);
	profile->command = command ? load__keep(model, command) : NULL;
	profile->target = model->target ? model->target : "?";
	profile->version = model->version ? model->version : "?";
	profile->kernel = model->kernel ? model->kernel : "?";
	profile->start_ns = model->from_ns;
	profile->end_ns = model->to_ns;
	profile->start_unix_ns = model->start_unix_ns + (model->from_ns - model->start_ns);
	return profile->command ? add_states(loader) : -ENOMEM;
}

static int load_threads(struct loader *loader)
{
	/* Processes of threads without an account are only named. */
	int err = profile_rows__each(loader,
				     "SELECT id, pid, comm FROM process p WHERE NOT EXISTS"
				     " (SELECT 1 FROM thread WHERE id = p.id AND process = p.id"
				     " AND flags & 8) ORDER BY id",
				     take_process);

	if (!err)
		err = load__threads(loader->model, loader->db);
	if (!err)
		err = runtime_rows__load(loader->model, loader->db);
	return err ? err : add_threads(loader);
}

static int load_samples(struct loader *loader)
{
	int err =
		profile_rows__each(loader, "SELECT id, name FROM object ORDER BY id", take_object);

	if (!err)
		err = code__load(&loader->profile->code, loader->model, loader->db);
	return err ? err : sample__each(loader->model, loader->db, true, take_sample, loader);
}

/* The interval of an account is that of its slices, cut to the life of its thread. */
static int load_accounts(struct loader *loader)
{
	return profile_rows__each(loader, sql__account_rows_in_order, take_account);
}

static int load_tables(struct loader *loader)
{
	struct profile *profile = loader->profile;
	bool has_samples;
	int err;

	/* Read all tables in one snapshot, even while the recording is being made. */
	if (sqlite3_exec(loader->db, "BEGIN", NULL, NULL, NULL))
		return -EBADMSG;
	err = load_head(loader);
	if (err)
		return err;
	/* Recordings of older versions have no stacks. */
	has_samples = !sqlite3_table_column_metadata(loader->db, "main", "sample", "stack", NULL,
						     NULL, NULL, NULL, NULL);
	if (!has_samples && !loader->options->accounts)
		return -ENODATA;
	err = load_threads(loader);
	if (!err)
		err = profile_windows__load(loader);
	if (!err && has_samples)
		err = load_samples(loader);
	if (!err && loader->options->accounts)
		err = load_accounts(loader);
	if (!err && loader->options->accounts)
		err = profile_signals__load(loader);
	if (!err && loader->model->texts.failed)
		return -ENOMEM;
	if (!err && !profile->sample_count && !profile->account_count && !profile->left_out_ns)
		return -ENODATA;
	return err;
}

int profile__load(const char *path, const struct profile_options *options, struct profile **ret)
{
	cleanup(profile__free_p) struct profile *profile = calloc(1, sizeof(*profile));
	cleanup(model__release) struct model model = { .texts.clean = true };
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	cleanup(loader__release) struct loader loader = { .profile = profile,
							  .options = options,
							  .model = &model };
	int err = profile ? recording__open(path, &db) : -ENOMEM;

	loader.db = db;
	if (!err)
		err = load_tables(&loader);
	if (err)
		return err;
	profile->texts = model.texts;
	model.texts = (struct texts) {};
	*ret = TAKE(profile);
	return 0;
}

int profile__pid(const struct profile *profile, uint32_t thread)
{
	uint32_t process = profile->threads[thread].process;

	return process == PROFILE_NONE ? profile->threads[thread].tid
				       : profile->processes[process].pid;
}

void profile__free(struct profile *profile)
{
	if (!profile)
		return;
	texts__release(&profile->texts);
	free(profile->processes);
	free(profile->threads);
	free(profile->states);
	code__release(&profile->code);
	free(profile->samples);
	free(profile->accounts);
	free(profile->events);
	free(profile->counters);
	free(profile->points);
	free(profile->classes);
	free(profile->windows);
	free(profile->parts);
	free(profile);
}
