/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sentences from signals. Each names the object and the threads that use it, so that the next step
 * is clear. None is about gapless itself. They come in this order, and within one class the one
 * that exceeds its threshold most comes first:
 *
 *   0  what is lost and must be repeated: processes that were killed for lack of memory, full
 * accept queues, retransmitted segments, resets 1  what is slow: a disk, a file, accepting a
 * connection 2  what happens too often: lookups of files that do not exist, connections and
 * programs that live only briefly
 *
 * The thresholds are documented in gapless-report(1).
 */
#include "findings/signals.h"

#include <float.h>
#include <string.h>

#include "base/words.h"
#include "findings/signal_words.h"

#define NAME_COLUMNS   40
#define OBJECT_COLUMNS 100

#define LEAST_PERCENT      1 /* of the wall time, of segments, of connections */
#define LEAST_FILE_PERCENT 10
#define LEAST_EVENTS       10
#define LEAST_REQUESTS     20
#define LEAST_SLOW_NS      10000000
#define LEAST_MISSING      1000
#define LEAST_MISSING_RATE 10
#define LEAST_OPENED       100
#define LEAST_OPENED_RATE  20
#define MOST_SHORT_NS      100000000
#define MOSTLY_PERCENT     50
#define MOST_SENTENCES     3

enum rank { RANK_LOST, RANK_SLOW, RANK_OFTEN, RANK_NONE };

struct candidate;
typedef void say_it(struct finding *finding, const struct model *model,
		    const struct candidate *candidate);

struct candidate {
	enum rank rank;
	double over; /* value divided by its threshold */
	say_it *put;
	const struct signals_signal *signal;
	const void *about; /* a row, service, part, or program */
};

struct offers {
	const struct model *model;
	const struct finding *said; /* sentences that exist already */
	size_t said_count;
	struct candidate best[MOST_SENTENCES];
};

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

static double rate(const struct model *model, int64_t count)
{
	return model->wall_ns > 0 ? (double)count * 1e9 / (double)model->wall_ns : 0;
}

static struct words rate_words(const struct model *model, int64_t count)
{
	return words__number((int64_t)(rate(model, count) + 0.5));
}

static bool is_own(const struct model_group *group)
{
	return group && group->own;
}

static void offer(struct offers *offers, const struct candidate *candidate)
{
	struct candidate next = *candidate;

	for (size_t i = 0; i < MOST_SENTENCES; i++) {
		struct candidate other = offers->best[i];

		if (next.rank > other.rank || (next.rank == other.rank && next.over <= other.over))
			continue;
		offers->best[i] = next;
		next = other;
	}
}

static void say_who(struct finding *finding, const char *before, const struct model_group *group,
		    const struct model_thread *thread)
{
	char who[512] = "";

	if (signal_words__who(group, thread, who, sizeof(who)))
		say(finding, "%s%s", before, who);
}

/* --- disks ---------------------------------------------------------------------------------- */

/* The highest percentile up to p99, because a slow device may have had few requests. */
static int64_t highest_ns(const struct signals_signal *signal, const struct signals_row *row)
{
	const int64_t *values = row->percentiles[signal->main];

	return values[percentiles__highest(values)];
}

static bool is_slow_disk(const struct model *model, const struct signals_signal *block,
			 const struct signals_row *row)
{
	return row->part.sum.count >= LEAST_REQUESTS && highest_ns(block, row) >= LEAST_SLOW_NS &&
	       !is_own(row->part.group) &&
	       model__reaches(row->part.sum.sum[block->main], model->wall_ns, LEAST_PERCENT);
}

static void say_disk(struct finding *finding, const struct model *model,
		     const struct candidate *candidate)
{
	const struct signals_signal *signal = candidate->signal;
	const struct signals_row *row = candidate->about;
	const struct signals_part *part = &row->part;

	finding->ns = part->sum.sum[signal->main];
	finding->of_ns = signal->sum.sum[signal->main];
	signal_words__say_slowest(signal, row, NULL, "took", finding->text, sizeof(finding->text));
	say(finding, " (p50 %s)", words__time(row->percentiles[signal->main][P50]).text);
	if (model__reaches(part->group_size, part->size, MOSTLY_PERCENT))
		say_who(finding, ", most of them by ", part->group, part->thread);
	findings_signals__say_disk(model, signal, row, part->group, finding);
	for (size_t i = 0; i < signal->row_count; i++) {
		const struct signals_row *other = &signal->rows[signal->ranks[i]];

		if (other == row || strcmp(other->place, row->place) ||
		    !is_slow_disk(model, signal, other))
			continue;
		say(finding, "; ");
		signal_words__events(signal, other, other->part.sum.count, finding->text,
				     sizeof(finding->text));
		say(finding, " likewise (%s %s)",
		    percentiles__words(percentiles__highest(other->percentiles[signal->main]))
			    ->name,
		    words__time(highest_ns(signal, other)).text);
		break;
	}
	say(finding, ".");
}

/* Offers one sentence for each device, about the operation that took most of its time. */
static bool is_said(const struct offers *offers, const struct signals_row *row)
{
	for (size_t i = 0; i < offers->said_count; i++)
		if (offers->said[i].row == row)
			return true;
	return false;
}

static bool is_told(const struct offers *offers, const char *words)
{
	for (size_t i = 0; i < offers->said_count; i++)
		if (strstr(offers->said[i].text, words))
			return true;
	return false;
}

static void offer_disks(struct offers *offers)
{
	const struct signals_signal *block = signals__of(&offers->model->signals, ROLE_DISKS);

	for (size_t i = 0; block && block->main >= 0 && i < block->row_count; i++) {
		const struct signals_row *row = &block->rows[block->ranks[i]];
		bool known = is_said(offers, row);

		for (size_t j = 0; j < i && !known; j++) {
			const struct signals_row *other = &block->rows[block->ranks[j]];

			known = !is_said(offers, other) && !strcmp(other->place, row->place) &&
				is_slow_disk(offers->model, block, other);
		}
		if (!known && is_slow_disk(offers->model, block, row))
			offer(offers,
			      &(struct candidate) { RANK_SLOW,
						    (double)highest_ns(block, row) / LEAST_SLOW_NS,
						    say_disk, block, row });
	}
}

/* --- files ---------------------------------------------------------------------------------- */

/* The group with the largest share, as the beginning of a sentence. */
static void say_subject(struct finding *finding, const struct signals_part *part)
{
	char who[512] = "";

	if (!model__reaches(part->group_size, part->size, MOSTLY_PERCENT) ||
	    !signal_words__who(part->group, part->thread, who, sizeof(who)))
		snprintf(who, sizeof(who), part->group ? "several threads" : "somebody");
	*who = *who == 't' ? 'T' : *who == 's' ? 'S' : *who;
	say(finding, "%s", who);
}

static void say_file(struct finding *finding, const struct model *model,
		     const struct candidate *candidate)
{
	const struct signals_signal *signal = candidate->signal;
	const struct signals_part *part = candidate->about;

	finding->ns = part->size;
	finding->of_ns = signal->sum.sum[signal->main];
	say_subject(finding, part);
	say(finding, " spent %s in ", words__time(part->size).text);
	signal_words__events(signal, &signal->rows[part->first->row], part->sum.count,
			     finding->text, sizeof(finding->text));
	say(finding, " of %s: %s on average, %s at most.",
	    words__clean(part->first->object->name, OBJECT_COLUMNS).text,
	    words__time(part->size / part->sum.count).text,
	    words__time(part->sum.max[signal->main]).text);
}

/* Offers the file that took most time, unless a sentence about waiting already names it. */
static void offer_file(struct offers *offers)
{
	const struct signals_signal *files = signals__of(&offers->model->signals, ROLE_FILES);
	const struct signals_part *part = files ? files->objects.list : NULL;
	struct words name;

	if (!files || files->main < 0 || !files->objects.count ||
	    !model__reaches(part->size, offers->model->wall_ns, LEAST_FILE_PERCENT))
		return;
	name = words__clean(part->first->object->name, OBJECT_COLUMNS);
	if (is_told(offers, name.text))
		return;
	offer(offers, &(struct candidate) { RANK_SLOW,
					    (double)part->size * 100 / LEAST_FILE_PERCENT /
						    (double)(offers->model->wall_ns + 1),
					    say_file, files, part });
}

struct others {
	int64_t count, times;
};

/* Finds other missing files that the same threads look up equally often. Adds their time to *ns. */
static struct others others_missing(const struct signals_signal *signal,
				    const struct signals_part *most, int64_t *ns)
{
	struct others others = {};

	for (size_t i = 0; i < signal->missing.count; i++) {
		const struct signals_part *part = &signal->missing.list[i];

		if (part == most || part->group != most->group || part->sum.count < LEAST_MISSING)
			continue;
		others.count++;
		others.times += part->sum.count;
		*ns += signal->main < 0 ? 0 : part->sum.sum[signal->main];
	}
	return others;
}

static void say_missing(struct finding *finding, const struct model *model,
			const struct candidate *candidate)
{
	const struct signals_signal *signal = candidate->signal;
	const struct signals_part *part = candidate->about;
	struct others others;

	finding->ns = signal->main < 0 ? 0 : part->sum.sum[signal->main];
	finding->of_ns = signal->main < 0 ? 0 : signal->sum.sum[signal->main];
	say_subject(finding, part);
	say(finding, " looked for %s %s (%s a second) and did not find it",
	    words__clean(part->first->object->name, OBJECT_COLUMNS).text,
	    words__count(part->sum.count, "times").text, rate_words(model, part->sum.count).text);
	others = others_missing(signal, part, &finding->ns);
	if (others.count)
		say(finding, ", nor %s (%s)", words__count(others.count, "other paths").text,
		    words__count(others.times, "times").text);
	if (finding->ns)
		say(finding, ", which took %s", words__time(finding->ns).text);
	say(finding, ".");
}

static void offer_missing(struct offers *offers)
{
	const struct signals_signal *files = signals__of(&offers->model->signals, ROLE_FILES);
	const struct signals_part *part = files ? files->missing.list : NULL;

	if (files && files->missing.count && part->sum.count >= LEAST_MISSING &&
	    rate(offers->model, part->sum.count) >= LEAST_MISSING_RATE && !is_own(part->group))
		offer(offers,
		      &(struct candidate) { RANK_OFTEN, (double)part->sum.count / LEAST_MISSING,
					    say_missing, files, part });
}

/* --- network -------------------------------------------------------------------------------- */

static struct words clean_name(const struct signals_service *service)
{
	return words__clean(service->name, OBJECT_COLUMNS);
}

static void say_overflow(struct finding *finding, const struct model *model,
			 const struct candidate *candidate)
{
	const struct signals_service *service = candidate->about;

	say(finding, "The accept queue of %s was full %s", clean_name(service).text,
	    words__count(service->overflows, "times").text);
	say_who(finding, ": ", service->group, service->thread);
	say(finding, "%s accepts too slowly or too late, or the backlog of listen() is too short.",
	    service->group ? "" : ": whoever listens there");
}

static void say_again(struct finding *finding, const struct model *model,
		      const struct candidate *candidate)
{
	static const char *const why[] = {
		[SIGNALS_PEERS_UNKNOWN] = ".",
		[SIGNALS_PEERS_LOCAL] =
			(": both ends are on this machine, so it is here that segments or their "
			 "answers are dropped (a full queue or buffer, a packet filter) or late."),
		[SIGNALS_PEERS_AWAY] =
			": they or their answers are lost or late on the way, or at the other end.",
	};
	const struct signals_service *service = candidate->about;

	say(finding, "%s of the %s segments sent on connections %s %s had to be sent again (%s)",
	    words__about(service->again, service->segments).text,
	    words__number(service->segments).text, service->accepts ? "at" : "to",
	    clean_name(service).text, words__number(service->again).text);
	say_who(finding, ", by ", service->group, service->thread);
	say(finding, "%s", why[service->peers]);
}

static void say_resets(struct finding *finding, const struct model *model,
		       const struct candidate *candidate)
{
	const struct signals_service *service = candidate->about;

	say(finding, "%s connections %s %s were reset, of %s in all",
	    words__number(service->resets).text, service->accepts ? "at" : "to",
	    clean_name(service).text, words__number(service->connections).text);
	say_who(finding, ", by ", service->group, service->thread);
	say(finding, ".");
}

static void say_churn(struct finding *finding, const struct model *model,
		      const struct candidate *candidate)
{
	const struct signals_service *service = candidate->about;

	say_who(finding, "", service->group, service->thread);
	if (*finding->text == 't')
		*finding->text = 'T';
	say(finding,
	    "%s %s %s new connections a second %s %s (%s in all), each of which lived "
	    "%s on average: %s.",
	    service->group ? "" : "Somebody", service->accepts ? "accepted" : "opened",
	    rate_words(model, service->opened).text, service->accepts ? "at" : "to",
	    clean_name(service).text, words__number(service->opened).text,
	    words__time(service->lifetime_ns / service->ended).text,
	    service->accepts ? "let clients keep them" : "keep them in a pool");
}

static bool is_churn(const struct model *model, const struct signals_service *service)
{
	return service->opened >= LEAST_OPENED && service->ended &&
	       rate(model, service->opened) >= LEAST_OPENED_RATE &&
	       service->lifetime_ns / service->ended <= MOST_SHORT_NS;
}

static void offer_service(struct offers *offers, const struct signals_signal *tcp,
			  const struct signals_service *service)
{
	int64_t again_least = service->segments / 100 * LEAST_PERCENT;

	if (is_own(service->group))
		return;
	if (service->overflows)
		offer(offers, &(struct candidate) { RANK_LOST, (double)service->overflows,
						    say_overflow, tcp, service });
	if (service->again >= LEAST_EVENTS && service->segments &&
	    !is_told(offers, "had to be sent again") &&
	    model__reaches(service->again, service->segments, LEAST_PERCENT))
		offer(offers, &(struct candidate) {
				      RANK_LOST, (double)service->again / (double)(again_least + 1),
				      say_again, tcp, service });
	if (service->resets >= LEAST_EVENTS &&
	    model__reaches(service->resets, service->connections, LEAST_PERCENT))
		offer(offers,
		      &(struct candidate) { RANK_LOST, (double)service->resets / LEAST_EVENTS,
					    say_resets, tcp, service });
}

/* If both ends are recorded, the connecting end is named, because only that end can change it. */
static void offer_churn(struct offers *offers, const struct signals_signal *tcp)
{
	const struct signals_service *most = NULL;

	for (size_t i = 0; i < tcp->service_count; i++) {
		const struct signals_service *service = &tcp->services[i];

		if (is_own(service->group) || !is_churn(offers->model, service))
			continue;
		if (!most || (most->accepts && !service->accepts) ||
		    (most->accepts == service->accepts && most->opened < service->opened))
			most = service;
	}
	if (most)
		offer(offers, &(struct candidate) { RANK_OFTEN, (double)most->opened / LEAST_OPENED,
						    say_churn, tcp, most });
}

static void say_accept(struct finding *finding, const struct model *model,
		       const struct candidate *candidate)
{
	const struct signals_signal *signal = candidate->signal;
	const struct signals_row *row = candidate->about;

	finding->ns = row->part.sum.sum[signal->main];
	signal_words__say_slowest(signal, row, "new connections", "waited", finding->text,
				  sizeof(finding->text));
	say(finding, " to be accepted (p50 %s)",
	    words__time(row->percentiles[signal->main][P50]).text);
	say_who(finding, row->part.sum.count > 1 ? ", most of them by " : ", by ", row->part.group,
		row->part.thread);
	if (row->part.first->object)
		say(finding, ", as %s",
		    words__clean(row->part.first->object->name, OBJECT_COLUMNS).text);
	say(finding, ".");
}

static void offer_tcp(struct offers *offers)
{
	const struct signals_signal *tcp = signals__of(&offers->model->signals, ROLE_CONNECTIONS);

	if (!tcp)
		return;
	for (size_t i = 0; i < tcp->service_count; i++)
		offer_service(offers, tcp, &tcp->services[i]);
	offer_churn(offers, tcp);
	for (size_t i = 0; tcp->main >= 0 && i < tcp->row_count; i++) {
		const struct signals_row *row = &tcp->rows[i];

		if (!strcmp(row->operation, "accept") && !is_said(offers, row) &&
		    row->part.sum.count >= LEAST_EVENTS && highest_ns(tcp, row) >= LEAST_SLOW_NS)
			offer(offers,
			      &(struct candidate) { RANK_SLOW,
						    (double)highest_ns(tcp, row) / LEAST_SLOW_NS,
						    say_accept, tcp, row });
	}
}

static void say_kill(struct finding *finding, const struct model *model,
		     const struct candidate *candidate)
{
	const struct signals_row *row = candidate->about;

	say(finding, "The kernel killed %s for lack of memory",
	    words__count(row->part.sum.count, "processes").text);
	say_who(finding, ", when memory was needed by ", row->part.group, row->part.thread);
	say(finding, " in the cgroup %s.", words__clean(row->place, OBJECT_COLUMNS).text);
}

static void offer_kills(struct offers *offers)
{
	const struct signals_signal *memory = signals__of(&offers->model->signals, ROLE_MEMORY);

	for (size_t i = 0; memory && i < memory->row_count; i++)
		if (!strcmp(memory->rows[i].operation, "oom kill"))
			offer(offers, &(struct candidate) { RANK_LOST, DBL_MAX, say_kill, memory,
							    &memory->rows[i] });
}

size_t findings_signals__make(const struct model *model, struct finding *findings, size_t count,
			      size_t most)
{
	struct offers offers = {
		.model = model,
		.said = findings,
		.said_count = count,
		.best = { { .rank = RANK_NONE }, { .rank = RANK_NONE }, { .rank = RANK_NONE } },
	};

	offer_kills(&offers);
	offer_disks(&offers);
	offer_file(&offers);
	offer_missing(&offers);
	offer_tcp(&offers);
	for (size_t i = 0; count < most && i < MOST_SENTENCES; i++, count++) {
		const struct candidate *candidate = &offers.best[i];

		if (candidate->rank == RANK_NONE)
			break;
		findings[count] = (struct finding) {};
		candidate->put(&findings[count], model, candidate);
	}
	return count;
}
