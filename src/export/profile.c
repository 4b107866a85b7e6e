/*
 * A recording into arrays. Rows are read in the order of their ids, so an id becomes an index by a
 * search in a sorted array: no hash that a hostile file could fill with collisions. What a killed
 * recorder leaves out (a thread's description, names of functions) has a substitute, and so has
 * what refers to a row that is not there, or comes later; stacks and samples that do are counted,
 * as the report counts them.
 */
#include "export/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/profile_rows.h"
#include "recording/recording.h"

DEFINE_CLEANUP(struct profile *, profile__free)

/* An export is there to be sent around. */
static int take_command(struct loader *loader, const char *line)
{
	enum redact_args how = loader->options->args;
	cleanup(free_p) char *shown =
		redact__line(line ? line : "", how == REDACT_UNSAID ? REDACT_SECRETS : how);

	loader->profile->command = shown ? texts__keep(loader->texts, shown) : NULL;
	return loader->profile->command ? 0 : -ENOMEM;
}

static int take_meta(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	const struct {
		const char *key;
		const char **text;
		int64_t *number;
	} known[] = {
		{ .key = "target", .text = &profile->target },
		{ .key = "kernel", .text = &profile->kernel },
		{ .key = "gapless_version", .text = &profile->version },
		{ .key = "start_unix_ns", .number = &profile->start_unix_ns },
		{ .key = "start_ns", .number = &profile->start_ns },
		{ .key = "end_ns", .number = &profile->end_ns },
	};
	const char *key = (const char *)sqlite3_column_text(row, 0);

	if (key && !strcmp(key, "command_line"))
		return take_command(loader, (const char *)sqlite3_column_text(row, 1));
	if (key && !strcmp(key, "complete"))
		loader->complete = sqlite3_column_int64(row, 1) == 1;
	for (size_t i = 0; key && i < sizeof(known) / sizeof(*known); i++) {
		if (strcmp(key, known[i].key))
			continue;
		if (known[i].text)
			return rows__text(loader, row, 1, known[i].text);
		/* Times up to the year 2116, so that sums of two fit. */
		if (known[i].number)
			*known[i].number =
				rows__clamp(sqlite3_column_int64(row, 1), 0, INT64_MAX / 2);
	}
	return 0;
}

/* What meta does not say (yet), the slices do. */
static int take_span(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;

	if (!profile->start_ns)
		profile->start_ns = rows__clamp(sqlite3_column_int64(row, 0), 0, INT64_MAX / 2);
	if (profile->end_ns < profile->start_ns || !loader->complete)
		profile->end_ns = rows__clamp(sqlite3_column_int64(row, 1), 0, INT64_MAX / 2);
	if (profile->end_ns < profile->start_ns)
		profile->end_ns = profile->start_ns;
	return 0;
}

static int take_process(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_process *process =
		APPEND_ROW(&loader->processes, row, &profile->processes, &profile->process_count);

	if (!process)
		return -ENOMEM;
	process->id = sqlite3_column_int64(row, 0);
	process->pid = (int)rows__number(row, 1);
	return rows__name(loader, row, 2, &process->comm);
}

static int take_thread(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_thread *thread =
		APPEND_ROW(&loader->threads, row, &profile->threads, &profile->thread_count);
	int64_t flags = sqlite3_column_int64(row, 6);

	if (!thread)
		return -ENOMEM;
	thread->id = sqlite3_column_int64(row, 0);
	thread->process = rows__find(&loader->processes, sqlite3_column_int64(row, 1));
	thread->tid = (int)rows__number(row, 2);
	thread->first_ns = rows__time(loader, row, 4);
	thread->last_ns = rows__time(loader, row, 5);
	thread->is_own = (flags & RECORDING_THREAD_OWN) != 0;
	thread->is_kernel = (flags & RECORDING_THREAD_KERNEL) != 0;
	return rows__name(loader, row, 3, &thread->comm);
}

static int take_state(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_state *state =
		APPEND_ROW(&loader->states, row, &profile->states, &profile->state_count);
	int err;

	if (!state)
		return -ENOMEM;
	state->id = (int)rows__number(row, 0);
	err = rows__name(loader, row, 1, &state->state);
	if (!err)
		err = rows__name(loader, row, 2, &state->cause);
	if (!err)
		err = rows__text(loader, row, 3, &state->kind);
	state->is_run = !err && !strcmp(state->state, "run");
	return err;
}

static int take_object(struct loader *loader, sqlite3_stmt *row)
{
	const char **name =
		APPEND_ROW(&loader->objects, row, &loader->object_names, &loader->object_count);

	return name ? rows__text(loader, row, 1, name) : -ENOMEM;
}

/* A stack's index, or none: for 0, and if there is no such stack. */
static uint32_t find_stack(const struct loader *loader, int64_t id)
{
	uint32_t stack = id ? rows__find(&loader->stacks, id) : PROFILE_NONE;

	loader->profile->torn += id && stack == PROFILE_NONE;
	return stack;
}

static int take_reason(struct loader *loader, sqlite3_stmt *row, int column, const char **ret)
{
	const char *text = (const char *)sqlite3_column_text(row, column);

	*ret = text ? texts__repeat(loader->texts, text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* `weight_ns` of a wait from begin_ns to its end, as far as it lies within the profile. */
static void cut_sample(const struct profile *profile, int64_t end_ns, struct profile_sample *sample)
{
	int64_t whole_ns = sample->wait_ns;
	int64_t begin_ns = rows__clamp(end_ns - whole_ns, profile->start_ns, profile->end_ns);

	if (whole_ns <= 0 || sample->time_ns - begin_ns >= whole_ns)
		return;
	sample->wait_ns = sample->time_ns - begin_ns;
	sample->weight_ns = (int64_t)((__int128)sample->weight_ns * sample->wait_ns / whole_ns);
}

static enum profile_evidence evidence_of(const char *text)
{
	if (text && !strcmp(text, "owner"))
		return PROFILE_OWNER;
	if (text && !strcmp(text, "handed"))
		return PROFILE_HANDED;
	return text && !strcmp(text, "timeout") ? PROFILE_TIMEOUT : PROFILE_WAKER;
}

static int fill_sample(struct loader *loader, sqlite3_stmt *row, struct profile_sample *sample)
{
	int64_t flags = sqlite3_column_int64(row, 11);
	uint32_t object = rows__find(&loader->objects, sqlite3_column_int64(row, 6));

	sample->stack = find_stack(loader, sqlite3_column_int64(row, 3));
	sample->waker_stack = find_stack(loader, sqlite3_column_int64(row, 4));
	sample->time_ns = rows__time(loader, row, 0);
	sample->first = rows__find(&loader->threads, sqlite3_column_int64(row, 15));
	sample->evidence = evidence_of((const char *)sqlite3_column_text(row, 14));
	sample->by = sample->evidence == PROFILE_TIMEOUT
			     ? PROFILE_NONE
			     : rows__find(&loader->threads, sqlite3_column_int64(row, 5));
	sample->object = object == PROFILE_NONE ? NULL : loader->object_names[object];
	sample->weight_ns = sqlite3_column_int64(row, 7);
	sample->wait_ns = sqlite3_column_int64(row, 8);
	if (sample->weight_ns < 0 || sample->wait_ns < 0 ||
	    __builtin_add_overflow(loader->total_ns, sample->weight_ns, &loader->total_ns) ||
	    __builtin_add_overflow(loader->total_wait_ns, sample->wait_ns, &loader->total_wait_ns))
		return -EBADMSG;
	cut_sample(loader->profile, rows__clamp(sqlite3_column_int64(row, 0), 0, INT64_MAX / 2),
		   sample);
	sample->count = rows__number(row, 10);
	sample->is_tick = (flags & RECORDING_SAMPLE_TICK) != 0;
	if (sample->is_tick && !loader->profile->period_ns)
		loader->profile->period_ns =
			rows__clamp(sqlite3_column_int64(row, 9), 0, INT64_MAX);
	return 0;
}

static int take_sample(struct loader *loader, sqlite3_stmt *row)
{
	struct profile *profile = loader->profile;
	struct profile_sample sample = {
		.thread = rows__find(&loader->threads, sqlite3_column_int64(row, 1)),
		.state = rows__find(&loader->states, sqlite3_column_int64(row, 2)),
	};
	struct profile_sample *kept;
	const char *kind;
	int err;

	if (sample.thread == PROFILE_NONE || sample.state == PROFILE_NONE)
		return -EBADMSG;
	if (profile->threads[sample.thread].is_own && !loader->options->with_own)
		return 0;
	err = fill_sample(loader, row, &sample);
	if (err)
		return err;
	kind = profile->states[sample.state].kind;
	if (loader->options->no_idle && kind && !strcmp(kind, "idle")) {
		profile->left_out_ns += sample.weight_ns;
		return 0;
	}
	err = take_reason(loader, row, 12, &sample.none);
	if (!err)
		err = take_reason(loader, row, 13, &sample.end);
	if (err)
		return err;
	kept = APPEND(&profile->samples, &profile->sample_count);
	if (!kept)
		return -ENOMEM;
	*kept = sample;
	return 0;
}

/* `ns` of begin_ns … end_ns, as far as it lies within the profile. */
static bool cut_account(const struct profile *profile, struct profile_account *account)
{
	int64_t begin_ns = rows__clamp(account->begin_ns, profile->start_ns, profile->end_ns);
	int64_t end_ns = rows__clamp(account->end_ns, profile->start_ns, profile->end_ns);
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
		.thread = rows__find(&loader->threads, sqlite3_column_int64(row, 0)),
		.state = rows__find(&loader->states, sqlite3_column_int64(row, 1)),
		.begin_ns = rows__clamp(sqlite3_column_int64(row, 2), 0, INT64_MAX),
		.end_ns = rows__clamp(sqlite3_column_int64(row, 3), 0, INT64_MAX),
		.ns = sqlite3_column_int64(row, 4),
	};
	struct profile_account *kept;

	if (account.thread == PROFILE_NONE || account.state == PROFILE_NONE || account.ns < 0 ||
	    __builtin_add_overflow(loader->total_account_ns, account.ns, &loader->total_account_ns))
		return -EBADMSG;
	/* Spans follow each other from a time on, which is in the lower half. */
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

static int take_existence(struct loader *loader, sqlite3_stmt *row)
{
	return sqlite3_column_int64(row, 0) ? 0 : -ENODATA;
}

/* The cut becomes the profile's begin and end. */
static int cut(struct profile *profile, const struct profile_options *options)
{
	int64_t length_ns = profile->end_ns - profile->start_ns;
	int64_t to_ns = options->to_ns && options->to_ns < length_ns ? options->to_ns : length_ns;

	if (!options->from_ns && !options->to_ns)
		return 0;
	if (options->from_ns < 0 || options->from_ns >= to_ns)
		return -ERANGE;
	profile->end_ns = profile->start_ns + to_ns;
	profile->start_ns += options->from_ns;
	profile->start_unix_ns += options->from_ns;
	return 0;
}

static int load_head(struct loader *loader)
{
	struct profile *profile = loader->profile;
	int err = rows__each(loader, "SELECT key, value FROM meta", take_meta);

	profile->target = profile->target ? profile->target : "?";
	profile->version = profile->version ? profile->version : "?";
	profile->kernel = profile->kernel ? profile->kernel : "?";
	profile->command = profile->command ? profile->command : "";
	if (!err)
		err = rows__each(loader, "SELECT min(begin_ns), max(end_ns) FROM slice", take_span);
	if (!err)
		err = cut(profile, loader->options);
	if (!err)
		err = rows__each(loader, "SELECT id, state, cause, kind FROM state ORDER BY id",
				 take_state);
	if (!err)
		err = rows__each(loader, "SELECT id, pid, comm FROM process ORDER BY id",
				 take_process);
	return err;
}

/* A thread goes by its last name within the cut. Those that only samples know are there too. */
#define THREADS(more)                                                                              \
	"SELECT i.id, t.process, t.tid, coalesce((SELECT n.comm FROM thread_name n"                \
	" WHERE n.thread = i.id AND n.time_ns < ?2 ORDER BY n.time_ns DESC LIMIT 1), t.comm),"     \
	" coalesce(t.first_ns, ?1), coalesce(t.last_ns, ?2), t.flags"                              \
	" FROM (SELECT id FROM thread UNION SELECT thread FROM account" more ") i"                 \
	" LEFT JOIN thread t ON t.id = i.id ORDER BY i.id"

#define SAMPLES                                                                                    \
	"SELECT x.time_ns, x.thread, x.state, " RECORDING_STACK ", x.waker_stack, x.by, x.object," \
	" x.weight_ns, x.wait_ns, x.period_ns, x.count, x.flags, " RECORDING_NONE ", x.end, "
#define SAMPLES_IN_CUT                                                                             \
	" FROM sample x WHERE x.time_ns > ?1"                                                      \
	" AND (x.time_ns <= ?2 OR x.time_ns - x.wait_ns < ?2) ORDER BY x.time_ns, x.id"
#define SAMPLES_IN_ALL " FROM sample x ORDER BY x.time_ns, x.id"
/* An older gapless has the evidence with the sums of waits only. */
#define EVIDENCE_OF_SUM                                                                            \
	"(SELECT w.evidence FROM wait w WHERE w.thread = x.thread AND w.state = x.state"           \
	" AND w.object = x.object AND w.by = x.by ORDER BY w.ns DESC LIMIT 1), 0"

static int load_samples(struct loader *loader)
{
	bool whole = !loader->options->from_ns && !loader->options->to_ns;
	bool knows = !sqlite3_table_column_metadata(loader->db, NULL, "sample", "evidence", NULL,
						    NULL, NULL, NULL, NULL);
	int err =
		rows__each(loader,
			   knows ? THREADS(" UNION SELECT thread FROM sample"
					   " UNION SELECT x.by FROM sample x WHERE x.by != 0"
					   " UNION SELECT x.first FROM sample x WHERE x.first != 0")
				 : THREADS(" UNION SELECT thread FROM sample"
					   " UNION SELECT x.by FROM sample x WHERE x.by != 0"),
			   take_thread);

	if (!err)
		err = rows__each(loader, "SELECT id, name FROM object ORDER BY id", take_object);
	if (!err)
		err = profile_code__load(loader);
	if (err)
		return err;
	if (knows)
		return rows__each(loader,
				  whole ? SAMPLES "x.evidence, x.first" SAMPLES_IN_ALL
					: SAMPLES "x.evidence, x.first" SAMPLES_IN_CUT,
				  take_sample);
	return rows__each(loader,
			  whole ? SAMPLES EVIDENCE_OF_SUM SAMPLES_IN_ALL
				: SAMPLES EVIDENCE_OF_SUM SAMPLES_IN_CUT,
			  take_sample);
}

/* A row's time is that of its slices, as far as its thread lived. */
static int load_accounts(struct loader *loader)
{
	return rows__each(loader,
			  "SELECT a.thread, a.state, max(f.begin_ns, coalesce(t.first_ns, 0)),"
			  " CASE WHEN t.last_ns > f.begin_ns THEN min(l.end_ns, t.last_ns)"
			  " ELSE l.end_ns END, a.ns FROM account a"
			  " JOIN slice f ON f.id = a.slice_from JOIN slice l ON l.id = a.slice_to"
			  " LEFT JOIN thread t ON t.id = a.thread"
			  " ORDER BY a.thread, a.slice_to, a.state",
			  take_account);
}

static int load_tables(struct loader *loader)
{
	struct profile *profile = loader->profile;
	int err;

	/* One moment for all tables, even if the recording is being made. */
	if (sqlite3_exec(loader->db, "BEGIN", NULL, NULL, NULL))
		return -EBADMSG;
	err = load_head(loader);
	if (err)
		return err;
	/* An older gapless had no stacks. */
	err = rows__each(loader,
			 "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
			 " AND name = 'sample'",
			 take_existence);
	if (!err)
		err = load_samples(loader);
	else if (err == -ENODATA && loader->options->accounts)
		err = rows__each(loader, THREADS(""), take_thread);
	if (!err && loader->options->accounts)
		err = load_accounts(loader);
	if (!err && loader->options->accounts)
		err = profile_signals__load(loader);
	if (!err && !profile->sample_count && !profile->account_count && !profile->left_out_ns)
		return -ENODATA;
	return err;
}

int profile__load(const char *path, const struct profile_options *options, struct profile **ret)
{
	cleanup(profile__free_p) struct profile *profile = calloc(1, sizeof(*profile));
	cleanup(loader__release) struct loader loader = { .profile = profile, .options = options };
	int err;

	if (!profile)
		return -ENOMEM;
	profile->internal = loader.texts = calloc(1, sizeof(*loader.texts));
	if (!loader.texts)
		return -ENOMEM;
	err = recording__open(path, &loader.db);
	if (!err)
		err = load_tables(&loader);
	if (err)
		return err;
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
	if (profile->internal)
		texts__release(profile->internal);
	free(profile->internal);
	free(profile->processes);
	free(profile->threads);
	free(profile->states);
	free(profile->modules);
	free(profile->functions);
	free(profile->lines);
	free(profile->frames);
	free(profile->stacks);
	free(profile->samples);
	free(profile->accounts);
	free(profile->events);
	free(profile->counters);
	free(profile->points);
	free(profile);
}
