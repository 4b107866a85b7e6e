/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A step is added in three passes. The first finds the services of the rows and their time; the
 * second gives places to new services; the third adds, and cannot fail. So a step is added wholly
 * or not at all.
 */
#include "metrics/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "metrics/totals_internal.h"
#include "vocabulary/states.h"

#define MOST_SERVICES      200
#define MOST_SERIES        5000
#define MOST_SIGNAL_SERIES 200
#define KEEP_NS            UINT64_C(3600000000000)

/* How a service is looked up; labels cannot tell longer names apart. */
struct name {
	char namespace_name[EXPOSITION_LABEL_BYTES], service[EXPOSITION_LABEL_BYTES];
	uint64_t hash;
};

struct step {
	const struct bucket_row *rows;
	size_t count;
	struct totals_service **services; /* of each row */
	struct totals_service **new;      /* without an account before the step */
	size_t new_count;
};

static void step_release(struct step *step)
{
	free(step->services);
	free(step->new);
}

static void make_name(const char *namespace_name, const char *service, struct name *ret)
{
	exposition__clean(namespace_name, ret->namespace_name);
	exposition__clean(service, ret->service);
	ret->hash = 0;
	for (const char *at = ret->namespace_name; *at; at++)
		ret->hash = map__mix(ret->hash, (unsigned char)*at);
	ret->hash = map__mix(ret->hash, 256);
	for (const char *at = ret->service; *at; at++)
		ret->hash = map__mix(ret->hash, (unsigned char)*at);
}

static void name_workload(const struct totals *totals, const struct workload *workload,
			  struct name *ret)
{
	if (totals->options.detail == TOTALS_NODE)
		make_name("", "", ret);
	else if (!workload || !*workload->service)
		make_name(workload ? workload->namespace_name : "", TOTALS_UNKNOWN, ret);
	else
		make_name(workload->namespace_name, workload->service, ret);
}

static void free_service(struct totals_service *service)
{
	free(service->namespace_name);
	free(service->service);
	free(service->account);
	free(service);
}
DEFINE_CLEANUP(struct totals_service *, free_service)

void totals__free(struct totals *totals)
{
	struct totals_service *service, *next;
	size_t at = 0;

	if (!totals)
		return;
	while ((service = map__next(&totals->services, &at)))
		for (; service; service = next) {
			next = service->next;
			free_service(service);
		}
	map__release(&totals->services);
	totals__free_families(totals);
	free(totals);
}
DEFINE_CLEANUP(struct totals *, totals__free)

static struct totals_service *find(const struct totals *totals, const struct name *name)
{
	struct totals_service *service = map__get(&totals->services, name->hash);

	while (service && (strcmp(service->service, name->service) ||
			   strcmp(service->namespace_name, name->namespace_name)))
		service = service->next;
	return service;
}

struct totals_service *totals__find(const struct totals *totals, const struct workload *workload)
{
	struct name name;

	name_workload(totals, workload, &name);
	return find(totals, &name);
}

/* NULL if out of memory. */
static struct totals_service *add_service(struct totals *totals, const struct name *name)
{
	cleanup(free_service_p) struct totals_service *service = calloc(1, sizeof(*service));

	if (!service)
		return NULL;
	service->namespace_name = strdup(name->namespace_name);
	service->service = strdup(name->service);
	service->next = map__get(&totals->services, name->hash);
	if (!service->namespace_name || !service->service ||
	    map__put(&totals->services, name->hash, service))
		return NULL;
	return TAKE(service);
}

static void remove_service(struct totals *totals, struct totals_service *gone)
{
	struct totals_service *first;
	struct name name;

	make_name(gone->namespace_name, gone->service, &name);
	first = map__take(&totals->services, name.hash);
	if (first == gone) {
		first = gone->next;
	} else {
		struct totals_service *before = first;

		while (before->next != gone)
			before = before->next;
		before->next = gone->next;
	}
	/* The map has just become smaller, so there is room. */
	if (first)
		map__put(&totals->services, name.hash, first);
	free_service(gone);
}

static size_t account_series(const struct totals *totals)
{
	return TOTALS_ACCOUNT_SERIES + (totals->options.with_calls ? TOTALS_CALL_SERIES : 0);
}

/* Gives the service an account. -ENOMEM. */
static int place(struct totals *totals, struct totals_service *service)
{
	service->account = calloc(1, sizeof(*service->account));
	if (!service->account)
		return -ENOMEM;
	service->account->series = account_series(totals);
	service->account->age_ns = totals->age_ns;
	totals->series += service->account->series;
	return 0;
}

static void set_defaults(struct totals_options *options)
{
	if (!options->most_services)
		options->most_services = MOST_SERVICES;
	if (!options->most_series)
		options->most_series = MOST_SERIES;
	if (!options->most_signal_series)
		options->most_signal_series = MOST_SIGNAL_SERIES;
	if (!options->keep_ns)
		options->keep_ns = KEEP_NS;
}

int totals__new(const struct totals_options *options, struct totals **ret)
{
	cleanup(totals__free_p) struct totals *totals = calloc(1, sizeof(*totals));
	struct name name;
	size_t reserved;

	if (!totals)
		return -ENOMEM;
	totals->options = *options;
	set_defaults(&totals->options);
	reserved = TOTALS_AGENT_SERIES + (SLOT_COUNT - SLOT_FIRST) * BOUNDS_SERIES +
		   totals->options.most_signal_series;
	if (totals->options.most_series < TOTALS_LEAST_SERIES ||
	    totals->options.most_series < reserved + 2 * TOTALS_CELLS)
		return -EINVAL;
	totals->series = reserved;
	make_name("", options->detail == TOTALS_NODE ? "" : TOTALS_OTHER, &name);
	totals->other = add_service(totals, &name);
	if (!totals->other || place(totals, totals->other))
		return -ENOMEM;
	*ret = TAKE(totals);
	return 0;
}

/* The first slot with the same words. */
static enum ledger_slot same_words(enum ledger_slot slot)
{
	const struct state_words *words = states__words(slot);

	for (enum ledger_slot i = SLOT_FIRST; i < slot; i++)
		if (!strcmp(states__words(i)->cause, words->cause) &&
		    !strcmp(states__words(i)->state, words->state))
			return i;
	return slot;
}

unsigned int totals__state(enum ledger_slot slot)
{
	return SLOT_IS_RUN(slot) ? 0 : SLOT_IS_READY(slot) ? 1 : SLOT_IS_WAIT(slot) ? 2 : 3;
}

static void add_row(struct totals *totals, struct totals_account *account,
		    const struct bucket_row *row)
{
	enum ledger_slot slot = row->key.slot >= SLOT_FIRST && row->key.slot < SLOT_COUNT
					? (enum ledger_slot)row->key.slot
					: SLOT_UNSEEN;
	enum kind kind =
		row->key.kind < KIND_COUNT ? (enum kind)row->key.kind : states__words(slot)->kind;
	size_t cell = TOTALS_CELL(same_words(slot), kind);

	if (account->places[cell] == CELL_ABSENT && row->ns) {
		bool has_room = totals->series < totals->options.most_series;

		account->places[cell] = has_room ? CELL_OWN : CELL_FOLDED;
		account->series += has_room;
		totals->series += has_room;
	}
	account->ns[cell] += row->ns;
	account->transitions[totals__state(slot)] += row->count;
	account->thread_ns += row->thread_ns;
	account->unexplained_ns += row->unexplained_ns;
}

/* Takes the place of the service that has been without threads for the longest time. */
static bool end_one(struct totals *totals)
{
	struct totals_service *ended = NULL, *service;
	size_t at = 0;

	while ((service = map__next(&totals->services, &at)))
		for (; service; service = service->next) {
			bool is_over = service != totals->other && service->account &&
				       !service->is_in_step &&
				       service->account->quiet_ns >= totals->options.keep_ns;

			if (is_over &&
			    (!ended || service->account->quiet_ns > ended->account->quiet_ns))
				ended = service;
		}
	if (!ended)
		return false;
	for (size_t i = 0; i < TOTALS_CELLS; i++)
		totals->ended_ns += ended->account->ns[i];
	totals->series -= ended->account->series;
	totals->calls_used -= ended->account->call_count * TOTALS_CALL_SERIES;
	totals->placed--;
	remove_service(totals, ended);
	return true;
}

static bool has_place(struct totals *totals)
{
	return totals->placed < totals->options.most_services &&
	       totals->series + account_series(totals) < totals->options.most_series;
}

static int by_time(const void *left, const void *right)
{
	const struct totals_service *a = *(struct totals_service *const *)left;
	const struct totals_service *b = *(struct totals_service *const *)right;
	int order = strcmp(a->namespace_name, b->namespace_name);

	if (a->step_ns != b->step_ns)
		return a->step_ns < b->step_ns ? 1 : -1;
	return order ? order : strcmp(a->service, b->service);
}

static int place_new(struct totals *totals, struct step *step)
{
	int err;

	if (step->new_count)
		qsort(step->new, step->new_count, sizeof(struct totals_service *), by_time);
	for (size_t i = 0; i < step->new_count; i++) {
		if (!has_place(totals) && !(end_one(totals) && has_place(totals)))
			return 0;
		err = place(totals, step->new[i]);
		if (err)
			return err;
		totals->placed++;
	}
	return 0;
}

/* Forgets the services without an account; they are in `new`. */
static void forget(struct totals *totals, const struct step *step)
{
	struct totals_service *service;
	size_t at = 0;

	totals->unplaced = 0;
	for (size_t i = 0; i < step->new_count; i++)
		if (!step->new[i]->account) {
			remove_service(totals, step->new[i]);
			totals->unplaced++;
		}
	while ((service = map__next(&totals->services, &at)))
		for (; service; service = service->next) {
			service->is_in_step = false;
			service->step_ns = 0;
		}
}

static struct totals_service *add_new(struct totals *totals, struct step *step,
				      const struct name *name)
{
	struct totals_service *service = add_service(totals, name), **added;

	if (!service)
		return NULL;
	added = APPEND(&step->new, &step->new_count);
	if (!added) {
		remove_service(totals, service);
		return NULL;
	}
	return *added = service;
}

static int find_services(struct totals *totals, struct step *step, totals_lookup_fn lookup,
			 void *context)
{
	struct totals_service *service;
	struct name name;

	for (size_t i = 0; i < step->count; i++) {
		name_workload(totals, lookup(context, step->rows[i].key.workload), &name);
		service = find(totals, &name);
		if (!service)
			service = add_new(totals, step, &name);
		if (!service)
			return -ENOMEM;
		service->is_in_step = true;
		service->step_ns += step->rows[i].ns;
		step->services[i] = service;
	}
	return 0;
}

static void each_account(struct totals *totals, uint64_t step_ns,
			 void (*visit)(struct totals_account *account, uint64_t step_ns))
{
	struct totals_service *service;
	size_t at = 0;

	while ((service = map__next(&totals->services, &at)))
		for (; service; service = service->next)
			if (service->account)
				visit(service->account, step_ns);
}

static void begin_step(struct totals_account *account, uint64_t step_ns)
{
	account->thread_ns = 0;
}

static void end_step(struct totals_account *account, uint64_t step_ns)
{
	account->quiet_ns = account->thread_ns ? 0 : account->quiet_ns + step_ns;
}

int totals__add_step(struct totals *totals, const struct bucket_row *rows, size_t count,
		     uint64_t step_ns, totals_lookup_fn lookup, void *context)
{
	cleanup(step_release) struct step step = { .rows = rows, .count = count };
	int err;

	step.services = calloc(count ? count : 1, sizeof(struct totals_service *));
	if (!step.services)
		return -ENOMEM;
	err = find_services(totals, &step, lookup, context);
	if (!err)
		err = place_new(totals, &step);
	if (!err) {
		each_account(totals, step_ns, begin_step);
		for (size_t i = 0; i < count; i++)
			add_row(totals,
				step.services[i]->account ? step.services[i]->account
							  : totals->other->account,
				&rows[i]);
		each_account(totals, step_ns, end_step);
		totals->step_ns = step_ns;
		totals->age_ns += step_ns;
		totals->signals_folded = 0;
	}
	forget(totals, &step);
	return err;
}
