/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/where.h"

#include "base/json.h"
#include "fleet/where_words.h"

#define ROWS_SHOWN 100

static json_t *whole(uint64_t number)
{
	return json_integer((json_int_t)number);
}

/* Appends to a list. NULL stays NULL. */
static void append(json_t **list, json_t *item)
{
	if (!*list || json_array_append_new(*list, item)) {
		json_decref(*list);
		*list = NULL;
	}
}

static json_t *sentences(const struct where *where)
{
	json_t *list = json_array();
	struct where_words words;

	where_words__say(&where->account, &where->period, where->coverage.has_stacks, &words);
	for (size_t i = 0; i < words.count; i++)
		append(&list, json_pack("{s:o, s:o}", "text", json__text(words.list[i].text),
					"next", json__text(words.list[i].next)));
	return list;
}

static json_t *causes(const struct service_account *account)
{
	json_t *list = json_array();

	for (size_t i = 0; i < account->cause_count; i++) {
		const struct service_cause *cause = &account->causes[i];

		append(&list, json_pack("{s:o, s:o, s:s, s:o, s:o, s:o}", "state",
					json__text(cause->state), "cause", json__text(cause->cause),
					"kind", kinds__words(cause->kind)->key, "phrase",
					json__text(where_words__phrase(cause).text), "ns",
					whole(cause->ns), "count", whole(cause->count)));
	}
	return list;
}

static json_t *rows(const struct service_account *account)
{
	json_t *list = json_array();

	for (size_t i = 0; i < account->row_count && i < ROWS_SHOWN; i++) {
		const struct service_row *row = &account->rows[i];

		append(&list,
		       json_pack("{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "threads",
				 json__text(row->threads), "state", json__text(row->state), "cause",
				 json__text(row->cause), "kind", kinds__words(row->kind)->key,
				 "object", json__text(row->object), "by_service",
				 json__text(row->by_service), "by_threads",
				 json__text(row->by_threads), "evidence", json__text(row->evidence),
				 "ns", whole(row->ns), "count", whole(row->count)));
	}
	return list;
}

static json_t *coverage_of(const struct coverage *coverage)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "since_s", whole(coverage->since_s),
			 "until_s", whole(coverage->until_s), "hosts_known",
			 whole(coverage->hosts_known), "hosts_reported",
			 whole(coverage->hosts_seen), "minutes_expected",
			 whole(coverage->minutes_expected), "minutes_seen",
			 whole(coverage->minutes_seen), "namespaces", whole(coverage->namespaces));
}

static json_t *losses(const struct coverage *coverage)
{
	json_t *list = json_array();

	for (size_t i = 0; i < coverage->loss_count; i++) {
		const struct coverage_loss *loss = &coverage->losses[i];

		append(&list, json_pack("{s:o, s:o, s:o, s:b}", "name", json__text(loss->name),
					"value", whole(loss->value), "hosts", whole(loss->hosts),
					"is_loss", loss->is_loss));
	}
	return list;
}

static json_t *groups_of(const struct groups *groups)
{
	json_t *list = json_array();

	for (size_t i = 0; i < groups->count; i++) {
		const struct groups_row *row = &groups->rows[i];
		json_t *item = json_pack("{s:o, s:o, s:o, s:o}", "name", json__text(row->name),
					 "ns", whole(row->ns), "cause", json__text(row->cause),
					 "cause_ns", whole(row->cause_ns));

		for (int kind = 0; kind < KIND_COUNT; kind++)
			json_object_set_new(item, kinds__words(kind)->key,
					    whole(row->kind_ns[kind]));
		append(&list, item);
	}
	return list;
}

json_t *where__json(const struct where *where)
{
	const struct period *period = &where->period;
	const struct service_account *account = &where->account;
	json_t *json = json_pack(
		"{s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
		"service", json__text(period->service), "tenant", json__text(period->tenant),
		"from_s", whole(period->from_s), "to_s", whole(period->to_s), "hourly",
		period__has(period, true), "hourly_unchecked_s", whole(period->unchecked_s),
		"expired_s", whole(period->expired_s), "in_short", sentences(where), "ns",
		whole(account->ns), "thread_ns", whole(account->thread_ns), "unexplained_ns",
		whole(account->unexplained_ns), "states", causes(account), "rows", rows(account),
		"coverage", coverage_of(&where->coverage), "quality", losses(&where->coverage),
		"has_stacks", where->coverage.has_stacks);

	if (json && where->groups.since_s)
		json_object_set_new(json, "hosts_since_s", whole(where->groups.since_s));
	if (json && where->groups.by != GROUPS_NONE)
		json_object_set_new(json, where->groups.by == GROUPS_HOST ? "hosts" : "versions",
				    groups_of(&where->groups));
	return json;
}
