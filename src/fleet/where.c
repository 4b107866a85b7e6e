/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/where.h"

#include <errno.h>
#include <string.h>

#include "base/term.h"
#include "base/words.h"
#include "fleet/moment.h"
#include "fleet/where_words.h"

#define PHRASE_COLUMNS 44
#define KIND_COLUMNS   9
#define TIME_COLUMNS   (-10)
#define SHARE_COLUMNS  (-9)
#define NAME_COLUMNS   40
#define CAUSES_SHOWN   12
#define WAITS_SHOWN    8
#define GROUPS_SHOWN   20

void where__release(struct where *where)
{
	period__release(&where->period);
	service_account__release(&where->account);
	coverage__release(&where->coverage);
	groups__release(&where->groups);
}

int where__load(struct connection *connection, enum groups_by by, uint64_t now_s,
		struct where *where)
{
	int err = period__find(&where->period, connection, &service_account_source, now_s);

	if (!err)
		err = service_account__load(connection, &where->period, &where->account);
	if (!err && !where->account.row_count)
		return -ENODATA;
	if (!err)
		err = coverage__load(connection, &where->period, now_s, &where->coverage);
	return err ?: groups__load(connection, &where->period, by, now_s, &where->groups);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_heading(FILE *out, const char *words)
{
	fprintf(out, "\n%s%s%s", term__on(out, TERM_BOLD), words, term__off(out, TERM_BOLD));
}

static void print_sentences(const struct where *where, FILE *out)
{
	struct where_words words;

	where_words__say(&where->account, &where->period, where->coverage.has_stacks, &words);
	print_heading(out, "in short");
	fputc('\n', out);
	for (size_t i = 0; i < words.count; i++) {
		fprintf(out, "%zu. ", i + 1);
		term__wrap(out, words.list[i].text, 3, term__width(out));
		if (!*words.list[i].next)
			continue;
		fputs("   more: ", out);
		term__wrap(out, words.list[i].next, 9, term__width(out));
	}
}

static void print_time(FILE *out, uint64_t ns, uint64_t all_ns)
{
	words__field(out, words__brief_time((int64_t)ns).text, TIME_COLUMNS);
	words__field(out, words__share((int64_t)ns, (int64_t)all_ns).text, SHARE_COLUMNS);
}

static void print_time_heads(FILE *out)
{
	words__field(out, "time", TIME_COLUMNS);
	words__field(out, "share", SHARE_COLUMNS);
}

static void print_causes(const struct where *where, FILE *out)
{
	const struct service_account *account = &where->account;

	print_heading(out, "");
	words__field(out, "where the time went", PHRASE_COLUMNS + KIND_COLUMNS);
	print_time_heads(out);
	fputs("  most of it by\n", out);
	for (size_t i = 0; i < account->cause_count && i < CAUSES_SHOWN; i++) {
		const struct service_cause *cause = &account->causes[i];

		fputs(term__colour(out, kinds__words(cause->kind)->terminal), out);
		words__field(out, where_words__phrase(cause).text, PHRASE_COLUMNS);
		fputs(term__plain(out), out);
		words__field(out, kinds__words(cause->kind)->brief, KIND_COLUMNS);
		print_time(out, cause->ns, account->ns);
		if (cause->threads.row)
			fprintf(out, "  %s (%s)",
				words__clean(cause->threads.row->threads, NAME_COLUMNS).text,
				words__about((int64_t)cause->threads.ns, (int64_t)cause->ns).text);
		fputc('\n', out);
	}
	fprintf(out, "of %s of thread time", words__time((int64_t)account->ns).text);
	if (account->cause_count > CAUSES_SHOWN)
		fprintf(out, "; %s [-j]",
			words__count((int64_t)(account->cause_count - CAUSES_SHOWN), "more states")
				.text);
	fputc('\n', out);
}

static bool is_wait(const struct service_row *row)
{
	return !strcmp(row->state, "wait") && row->kind != KIND_IDLE;
}

static void print_wait(FILE *out, const struct service_row *row, uint64_t all_ns)
{
	const char *role = where_words__role(row->evidence);
	char name[8];

	snprintf(name, sizeof(name), "%.7s", row->cause);
	words__field(out, words__clean(*row->object ? row->object : "-", 30).text, 32);
	words__field(out, words__clean(name, 7).text, 12);
	words__field(out, kinds__words(row->kind)->brief, KIND_COLUMNS);
	print_time(out, row->ns, all_ns);
	if (*row->by_service)
		fprintf(out, "  %s %s (%s)", role, words__clean(row->by_service, 30).text,
			words__clean(row->by_threads, 20).text);
	else if (!strcmp(row->evidence, states__evidence(EVIDENCE_TIMEOUT)))
		fprintf(out, "  %s", role);
	fputc('\n', out);
}

/* Single rows, so that object and culprit belong together. */
static void print_waits(const struct where *where, FILE *out)
{
	const struct service_account *account = &where->account;
	size_t shown = 0;

	for (size_t i = 0; i < account->row_count && shown < WAITS_SHOWN; i++) {
		if (!is_wait(&account->rows[i]))
			continue;
		if (!shown++) {
			print_heading(out, "");
			words__field(out, "what it waited for", 32 + 12 + KIND_COLUMNS);
			print_time_heads(out);
			fputs("  by\n", out);
		}
		print_wait(out, &account->rows[i], account->ns);
	}
}

static void print_groups(const struct where *where, FILE *out)
{
	static const enum kind shown[] = { KIND_RUN, KIND_READY, KIND_DELAYING, KIND_UNDECIDED };
	const struct groups *groups = &where->groups;

	if (groups->by == GROUPS_NONE)
		return;
	print_heading(out, "");
	words__field(out, groups->by == GROUPS_HOST ? "by host" : "by version", 30);
	words__field(out, "time", TIME_COLUMNS);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		words__field(out, kinds__words(shown[i])->brief, SHARE_COLUMNS);
	fputs("  held up most\n", out);
	if (groups->since_s)
		fprintf(out, "only since %s UTC: sums by host are kept for 35 days\n",
			moment__words(groups->since_s).text);
	for (size_t i = 0; i < groups->count && i < GROUPS_SHOWN; i++) {
		const struct groups_row *row = &groups->rows[i];

		words__field(out, words__clean(*row->name ? row->name : "(none)", 28).text, 30);
		words__field(out, words__brief_time((int64_t)row->ns).text, TIME_COLUMNS);
		for (size_t j = 0; j < sizeof(shown) / sizeof(*shown); j++)
			words__field(out,
				     words__share((int64_t)row->kind_ns[shown[j]], (int64_t)row->ns)
					     .text,
				     SHARE_COLUMNS);
		if (*row->cause)
			fprintf(out, "  %s", words__clean(row->cause, 30).text);
		fputc('\n', out);
	}
	if (groups->count > GROUPS_SHOWN)
		fprintf(out, "and %s [-j]\n",
			words__count((int64_t)(groups->count - GROUPS_SHOWN),
				     groups->count == GROUPS_MOST ? "or more others" : "others")
				.text);
}

static void print_minutes(const struct coverage *coverage, FILE *out)
{
	fprintf(out, "%s of %s reported", words__number((int64_t)coverage->hosts_seen).text,
		words__count((int64_t)coverage->hosts_known, "hosts").text);
	if (coverage->minutes_expected)
		fprintf(out, ", for %s of %s (%s)",
			words__number((int64_t)coverage->minutes_seen).text,
			words__count((int64_t)coverage->minutes_expected, "minutes").text,
			words__about((int64_t)coverage->minutes_seen,
				     (int64_t)coverage->minutes_expected)
				.text);
	fputc('\n', out);
	if (coverage->hosts_seen < coverage->hosts_known)
		fprintf(out,
			"nothing came from %s that had it in the period or in the hour before\n",
			words__count((int64_t)(coverage->hosts_known - coverage->hosts_seen),
				     "hosts")
				.text);
}

static void print_coverage(const struct where *where, FILE *out)
{
	const struct coverage *coverage = &where->coverage;

	print_heading(out, "coverage");
	fputs("  ", out);
	if (coverage->since_s >= where->period.to_s) {
		fprintf(out, "not known: which hosts reported is kept for %d days\n",
			(int)(PERIOD_LEDGER_S / PERIOD_DAY_S));
		return;
	}
	if (coverage->since_s > where->period.from_s)
		fprintf(out,
			"since %s UTC (not known before): ", moment__words(coverage->since_s).text);
	if (!coverage->hosts_known)
		fputs("not known: the store has no hosts of this service\n", out);
	else if (!coverage->minutes_expected)
		fprintf(out, "%s; no minute is due yet, because agents have %d s to send one\n",
			words__count((int64_t)coverage->hosts_known, "hosts").text,
			COVERAGE_LATE_S);
	else
		print_minutes(coverage, out);
	if (coverage->namespaces > 1)
		fprintf(out, "the times of %s are added up: %s%s\n",
			words__count((int64_t)coverage->namespaces, "namespaces").text,
			words__clean(coverage->namespace_names, 60).text,
			coverage->namespaces > 5 ? ", …" : "");
}

static void print_losses(const struct where *where, FILE *out)
{
	const struct coverage *coverage = &where->coverage;
	size_t losses = 0;

	if (coverage->since_s >= where->period.to_s) {
		fputs("; what was lost is not known any more\n", out);
		return;
	}
	for (size_t i = 0; i < coverage->loss_count; i++) {
		const struct coverage_loss *loss = &coverage->losses[i];

		if (!loss->is_loss)
			continue;
		fprintf(out, "%s%s %s on %s",
			losses++ ? ", " : "; lost: ", words__clean(loss->name, NAME_COLUMNS).text,
			words__number((int64_t)loss->value).text,
			words__count((int64_t)loss->hosts, "hosts").text);
	}
	fputs(losses ? "" : "; no loss reported", out);
	if (coverage->since_s > where->period.from_s)
		fprintf(out, " since %s UTC", moment__words(coverage->since_s).text);
	fputc('\n', out);
}

static void print_quality(const struct where *where, FILE *out)
{
	const struct service_account *account = &where->account;

	print_heading(out, "quality");
	fprintf(out, "   unexplained %s",
		words__tiny_share((int64_t)account->unexplained_ns, (int64_t)account->thread_ns)
			.text);
	/* Rows and lifetimes are sent together, so a difference means that rows are missing. */
	if (account->ns != account->thread_ns)
		fprintf(out, "; the rows have %s, the threads lived %s",
			words__time((int64_t)account->ns).text,
			words__time((int64_t)account->thread_ns).text);
	if (account->is_cut)
		fputs("; the smallest rows are left out", out);
	print_losses(where, out);
}

/* What is not in the answer, or may be missing in it. */
static void print_gaps(const struct period *period, FILE *out)
{
	if (period->unchecked_s)
		fprintf(out,
			"whether the sums of %s are complete is not known: their rows have expired\n",
			words__count((int64_t)(period->unchecked_s / 3600), "hours").text);
	if (period->expired_s)
		fprintf(out,
			"%s of this period has no hourly sums, and rows of minutes are kept for %d "
			"days: what was then, if anything, is missing here\n",
			words__time((int64_t)period->expired_s * 1000000000).text,
			(int)(PERIOD_LEDGER_S / PERIOD_DAY_S));
}

void where__print(const struct where *where, FILE *out)
{
	const struct period *period = &where->period;

	fprintf(out, "%s, %s", words__clean(period->service, NAME_COLUMNS).text,
		moment__span(period->from_s, period->to_s).text);
	if (*period->tenant)
		fprintf(out, ", tenant %s", words__clean(period->tenant, NAME_COLUMNS).text);
	fprintf(out, ", %s\n",
		period__has(period, true) ? "whole hours from hourly sums"
					  : "from the rows of minutes");
	print_gaps(period, out);
	print_sentences(where, out);
	print_causes(where, out);
	print_waits(where, out);
	print_groups(where, out);
	print_coverage(where, out);
	print_quality(where, out);
}
