/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples have hashes of stacks, stacks have modules and offsets, symbols have their names. Each is
 * asked for by the keys that the one before has, some thousand at a time, because a question must
 * not be longer than what servers accept by default (256 kB).
 */
#include "fleet/fleet_flame.h"
#include "fleet/service_account.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "fleet/coverage.h"
#include "fleet/flame_error.h"
#include "fleet/flame_profile.h"
#include "fleet/moment.h"

#define STACKS_AT_ONCE 5000
#define FRAMES_AT_ONCE 3000
#define MOST_INLINED   64

static const struct period_source source = {
	"samples_1h", "samples", "stack, state, cause, kind, ns, toFloat64(ns2) AS square, n",
	PERIOD_SAMPLES_S
};

struct row {
	uint64_t stack, ns, n;
	char *state, *cause;
	enum kind kind;
};

struct place {
	uint64_t module, offset;
};

struct stack {
	uint64_t id;
	struct place *places; /* root first */
	size_t depth;
	uint32_t at; /* in the profile */
	bool is_cut, is_placed, has_unnamed;
};

struct loading {
	struct connection *connection;
	const struct query_tables *tables;
	const struct period *period;
	struct row *rows;
	size_t row_count;
	struct map stacks;  /* by id: struct stack */
	struct map places;  /* by hash: struct place */
	struct map named;   /* by hash: something */
	struct map modules; /* by id: something */
	struct flame_profile profile;
	struct fleet_flame *ret;
};

static void loading__release(struct loading *loading)
{
	struct stack *stack;
	size_t at = 0;

	for (size_t i = 0; i < loading->row_count; i++) {
		free(loading->rows[i].state);
		free(loading->rows[i].cause);
	}
	free(loading->rows);
	while ((stack = map__next(&loading->stacks, &at)))
		free(stack->places);
	map__free_values(&loading->stacks);
	map__free_values(&loading->places);
	map__release(&loading->named);
	map__release(&loading->modules);
	flame_profile__release(&loading->profile);
}

void fleet_flame__release(struct fleet_flame *flame)
{
	profile__free(flame->profile);
	*flame = (struct fleet_flame) {};
}

static uint64_t hash_of(uint64_t module, uint64_t offset)
{
	return map__mix(map__mix(0, module), offset);
}

/* --- rows ------------------------------------------------------------------------------------- */

static int take_total(void *context, char *const *fields)
{
	struct fleet_flame *flame = context;
	double square;
	int err = tsv__number(fields[0], &flame->total_ns);

	err = err ?: tsv__real(fields[1], &square);
	err = err ?: tsv__number(fields[2], &flame->samples);
	err = err ?: tsv__number(fields[3], &flame->idle_ns);
	if (!err)
		flame->drawing_ns = square > 0 ? sqrt(square) : 0;
	return err;
}

static int load_total(struct loading *loading)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT sum(ns), sum(square), sum(n), sumIf(ns, kind = 'idle') FROM ");
	period__rows(loading->period, loading->tables, &source, &query);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(loading->connection, &query, 4, take_total, loading->ret);
}

static int take_row(void *context, char *const *fields)
{
	struct loading *loading = context;
	struct row *row = APPEND(&loading->rows, &loading->row_count);
	struct stack *stack;
	int err;

	if (!row)
		return -ENOMEM;
	row->state = strdup(fields[1]);
	row->cause = strdup(fields[2]);
	row->kind = service_account__kind(fields[1], fields[3]);
	err = row->state && row->cause ? tsv__number(fields[0], &row->stack) : -ENOMEM;
	err = err ?: tsv__number(fields[4], &row->ns);
	err = err ?: tsv__number(fields[5], &row->n);
	if (err || map__get(&loading->stacks, row->stack))
		return err;
	stack = calloc(1, sizeof(*stack));
	if (!stack || map__put(&loading->stacks, row->stack, stack)) {
		free(stack);
		return -ENOMEM;
	}
	stack->id = row->stack;
	stack->at = PROFILE_NONE;
	return 0;
}

static int load_rows(struct loading *loading, bool with_idle)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT stack, state, cause, kind, sum(ns) AS w, sum(n) FROM ");
	period__rows(loading->period, loading->tables, &source, &query);
	if (!with_idle)
		query__add(&query, " WHERE kind != 'idle'");
	query__add(&query, " GROUP BY stack, state, cause, kind ORDER BY w DESC, stack LIMIT ");
	query__number(&query, FLEET_FLAME_MOST_ROWS);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(loading->connection, &query, 6, take_row, loading);
}

/* --- stacks ----------------------------------------------------------------------------------- */

static int want_place(struct loading *loading, uint64_t module, uint64_t offset)
{
	uint64_t hash = hash_of(module, offset);
	struct place *place;

	if (map__put(&loading->modules, module, loading))
		return -ENOMEM;
	if (map__get(&loading->places, hash))
		return 0;
	place = calloc(1, sizeof(*place));
	if (!place || map__put(&loading->places, hash, place)) {
		free(place);
		return -ENOMEM;
	}
	*place = (struct place) { module, offset };
	return 0;
}

static int take_stack(void *context, char *const *fields)
{
	struct loading *loading = context;
	const char *modules = fields[1], *offsets = fields[2];
	struct stack *stack;
	uint64_t id, module, offset;
	int err = tsv__number(fields[0], &id);

	stack = err ? NULL : map__get(&loading->stacks, id);
	/* Nobody asked for it, or it came before. */
	if (!stack || stack->depth)
		return err;
	while (!(err = tsv__next(&modules, &module)) && !(err = tsv__next(&offsets, &offset))) {
		struct place *place = APPEND(&stack->places, &stack->depth);

		if (!place || want_place(loading, module, offset))
			return -ENOMEM;
		*place = (struct place) { module, offset };
	}
	return err == -ENOENT ? 0 : err;
}

/* A list of keys of a map, `most` at a time from *at on. False at the end. */
static bool add_keys(struct query *query, const struct map *stacks, size_t *at, size_t most)
{
	const struct stack *stack;
	size_t count = 0;

	while (count < most && (stack = map__next(stacks, at))) {
		query__add(query, count++ ? "," : "");
		query__number(query, stack->id);
	}
	return count > 0;
}

static int load_stacks(struct loading *loading)
{
	bool is_over = false;
	size_t at = 0;
	int err = 0;

	while (!err && !is_over) {
		cleanup(query__release) struct query query = {};

		query__begin(&query);
		query__add(&query, "SELECT stack, modules, offsets FROM ");
		query__table(&query, loading->tables, "stacks");
		query__add(&query, " WHERE stack IN (");
		is_over = !add_keys(&query, &loading->stacks, &at, STACKS_AT_ONCE);
		query__add(&query, ") LIMIT 1 BY stack FORMAT TabSeparated");
		if (!is_over)
			err = connection__ask(loading->connection, &query, 3, take_stack, loading);
	}
	return err;
}

/* --- modules and names ------------------------------------------------------------------------ */

static int take_module(void *context, char *const *fields)
{
	struct loading *loading = context;
	uint64_t module;
	int err = tsv__number(fields[0], &module);

	return err ?: flame_profile__add_module(&loading->profile, module, fields[1], fields[2]);
}

/* Modules are some thousand in a whole fleet, so all are asked for. */
static int load_modules(struct loading *loading)
{
	cleanup(query__release) struct query query = {};

	query__begin(&query);
	query__add(&query, "SELECT module, argMax(kind, last_seen), argMax(path, last_seen) FROM ");
	query__table(&query, loading->tables, "modules");
	query__add(&query, " GROUP BY module FORMAT TabSeparated");
	return connection__ask(loading->connection, &query, 3, take_module, loading);
}

static int take_symbol(void *context, char *const *fields)
{
	struct loading *loading = context;
	struct flame_function functions[MOST_INLINED];
	char *names = fields[2], *files = fields[3], *name;
	const char *lines = fields[4];
	uint64_t module, offset, line;
	size_t count = 0;
	int err = tsv__number(fields[0], &module) ?: tsv__number(fields[1], &offset);

	while (!err && count < MOST_INLINED && (name = tsv__next_line(&names)) && *name) {
		const char *file = tsv__next_line(&files);

		line = 0;
		err = tsv__next(&lines, &line);
		err = err == -ENOENT ? 0 : err;
		functions[count++] =
			(struct flame_function) { name, file ? file : "",
						  line <= UINT32_MAX ? (uint32_t)line : 0 };
	}
	if (err || !count)
		return err;
	err = flame_profile__add_frame(&loading->profile, module, offset, functions, count);
	return err ?: map__put(&loading->named, hash_of(module, offset), loading);
}

static bool add_places(struct query *query, const struct map *places, size_t *at)
{
	const struct place *place;
	size_t count = 0;

	while (count < FRAMES_AT_ONCE && (place = map__next(places, at))) {
		query__add(query, count++ ? ",(" : "(");
		query__number(query, place->module);
		query__add(query, ",");
		query__number(query, place->offset);
		query__add(query, ")");
	}
	return count > 0;
}

static int load_symbols(struct loading *loading)
{
	bool is_over = false;
	size_t at = 0;
	int err = 0;

	while (!err && !is_over) {
		cleanup(query__release) struct query query = {};

		query__begin(&query);
		query__add(&query,
			   "SELECT module, offset, "
			   "arrayStringConcat(arrayMap(x -> toString(x), functions), '\\n'), "
			   "arrayStringConcat(arrayMap(x -> toString(x), files), '\\n'), "
			   "lines FROM ");
		query__table(&query, loading->tables, "symbols");
		query__add(&query, " FINAL WHERE (module, offset) IN (");
		is_over = !add_places(&query, &loading->places, &at);
		query__add(&query, ") FORMAT TabSeparated");
		if (!is_over)
			err = connection__ask(loading->connection, &query, 5, take_symbol, loading);
	}
	return err;
}

/* --- account ---------------------------------------------------------------------------------- */

static int take_ledger(void *context, char *const *fields)
{
	return tsv__number(fields[0], context);
}

/*
 * Weights are divided by the probability with which a host was chosen in a minute. So they stand
 * for the time of all hosts, also in minutes without samples, as long as stacks could be chosen.
 * Hours have sums of the account where they have none of samples, and the other way round.
 */
static int load_ledger(struct loading *loading, uint64_t now_s)
{
	static const struct period_source ledger = { "ledger_1h", "ledger", "ns", PERIOD_LEDGER_S };
	cleanup(period__release) struct period period = { .tenant = loading->period->tenant,
							  .service = loading->period->service,
							  .from_s = loading->period->from_s,
							  .to_s = loading->period->to_s };
	cleanup(query__release) struct query query = {};
	int err = period__find(&period, loading->connection, &ledger, now_s);

	if (err)
		return err;
	if (period.expired_s > loading->ret->expired_s)
		loading->ret->expired_s = period.expired_s;
	query__begin(&query);
	query__add(&query, "SELECT sum(ns) FROM ");
	period__rows(&period, loading->tables, &ledger, &query);
	query__add(&query, " FORMAT TabSeparated");
	return connection__ask(loading->connection, &query, 1, take_ledger,
			       &loading->ret->ledger_ns);
}

/* Hourly sums have no minutes, so the minutes are asked again; they may have expired. */
static int load_error(struct loading *loading)
{
	struct fleet_flame *flame = loading->ret;
	struct flame_error error = {};
	int err = flame_error__load(loading->connection, loading->period, &error);

	if (err)
		return err;
	flame->minutes = error.minutes;
	flame->is_cut = error.is_cut;
	flame->has_error = !error.is_cut && error.ns >= flame->total_ns;
	flame->error_ns = flame->has_error ? flame_error__of(&error) : 0;
	return 0;
}

static int load_coverage(struct loading *loading, uint64_t now_s)
{
	cleanup(coverage__release) struct coverage coverage = {};
	int err = coverage__load(loading->connection, loading->period, now_s, &coverage);

	if (!err && coverage.since_s == loading->period->from_s)
		loading->ret->minutes_seen = coverage.minutes_seen;
	return err;
}

/* --- profile ---------------------------------------------------------------------------------- */

static int place_stack(struct loading *loading, struct stack *stack)
{
	int err = 0;

	if (stack->is_placed)
		return 0;
	stack->is_placed = true;
	for (size_t i = 0; i < stack->depth && !err; i++) {
		const struct place *place = &stack->places[i];

		if (!map__get(&loading->named, hash_of(place->module, place->offset)))
			stack->has_unnamed = true;
		err = flame_profile__descend(&loading->profile, place->module, place->offset,
					     &stack->at);
	}
	stack->is_cut = err == -EMLINK;
	return err == -EMLINK ? 0 : err;
}

static int add_samples(struct loading *loading)
{
	uint64_t drawn_ns = (uint64_t)loading->profile.profile->left_out_ns;
	int err = 0;

	for (size_t i = 0; i < loading->row_count && !err; i++) {
		const struct row *row = &loading->rows[i];
		struct stack *stack = map__get(&loading->stacks, row->stack);
		struct flame_sample sample = { .state = row->state,
					       .cause = row->cause,
					       .kind = row->kind,
					       .ns = row->ns,
					       .n = row->n };

		err = place_stack(loading, stack);
		if (err)
			return err;
		sample.stack = stack->at;
		sample.none = stack->depth ? NULL
			      : row->stack ? "not in the store"
					   : "not recorded";
		sample.end = stack->is_cut ? "too deep" : NULL;
		loading->ret->unnamed_ns += stack->has_unnamed ? row->ns : 0;
		drawn_ns += row->ns;
		err = flame_profile__add_sample(&loading->profile, &sample);
	}
	if (loading->ret->total_ns > drawn_ns)
		loading->ret->left_out_ns = loading->ret->total_ns - drawn_ns;
	return err;
}

static int begin_profile(struct loading *loading, bool with_idle)
{
	const struct period *period = loading->period;
	struct words title = words__clean(period->service, 60);
	struct profile *profile;
	int err;

	words__say(title.text, sizeof(title.text), ", %s",
		   moment__span(period->from_s, period->to_s).text);
	err = flame_profile__begin(&loading->profile, title.text, period->service);
	if (err)
		return err;
	profile = loading->profile.profile;
	profile->start_unix_ns = (int64_t)period->from_s * 1000000000;
	profile->end_ns = (int64_t)(period->to_s - period->from_s) * 1000000000;
	profile->left_out_ns = with_idle ? 0 : (int64_t)loading->ret->idle_ns;
	return 0;
}

int fleet_flame__load(struct connection *connection, struct period *period, bool with_idle,
		      uint64_t now_s, struct fleet_flame *ret)
{
	cleanup(loading__release) struct loading loading = {
		.connection = connection,
		.tables = connection__tables(connection),
		.period = period,
		.ret = ret,
	};
	int err = period__find(period, connection, &source, now_s);

	ret->expired_s = period->expired_s;
	err = err ?: load_total(&loading);
	if (!err && !ret->samples)
		return -ENODATA;
	err = err ?: begin_profile(&loading, with_idle);
	err = err ?: load_rows(&loading, with_idle);
	err = err ?: load_stacks(&loading);
	err = err ?: load_modules(&loading);
	err = err ?: load_symbols(&loading);
	err = err ?: load_ledger(&loading, now_s);
	err = err ?: load_error(&loading);
	err = err ?: load_coverage(&loading, now_s);
	err = err ?: add_samples(&loading);
	if (!err)
		ret->profile = TAKE(loading.profile.profile);
	return err;
}
