/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Means are exact, and so are their differences. A reason is named only if the difference is
 * larger than two standard errors, and large enough to matter.
 */
#include "findings/requests.h"

#include <string.h>

#include "base/words.h"
#include "findings/findings.h"
#include "model/model.h"
#include "vocabulary/states.h"

#define LEAST_SHARE 0.05 /* of the difference */
#define HALF_FROM   45   /* percent of all that count as a half */
#define HALF_TO     55

#define OBJECT_COLUMNS 60
#define KIND_COLUMNS   20

#define SHARED_WORDS                                                                               \
	"because they waited for another server's answer on a connection that they share (inferred)"

static const char *const because[WORDS_PARTS] = {
	[WORDS_PART_QUEUED_ASLEEP] = "because the thread that read them was asleep",
	[WORDS_PART_QUEUED_READY] = "because the thread that read them had no CPU",
	[WORDS_PART_QUEUED_BUSY] = "because the thread that read them served other requests first",
	[WORDS_PART_QUEUED_READ] = "until the thread that read them came to it",
	[WORDS_PART_DOWNSTREAM] = "because they waited for another server's answer",
	[WORDS_PART_SHARED] = SHARED_WORDS,
	[WORDS_PART_NOTICED] = "because nobody read what had arrived",
	[WORDS_PART_CLIENT_BYTES] = "because the client had not sent all of the request",
	[WORDS_PART_CLIENT_WINDOW] = "because the client took the answer slowly",
	[WORDS_PART_SET_ASIDE] = "because their thread served other requests in between",
	[WORDS_PART_HANDED] = "because they were in the program's own queue",
	[WORDS_PART_RECEIVING] = "because the answer took longer to arrive",
	[WORDS_PART_ELSEWHERE] = "elsewhere in the program, where no thread is known",
};

static bool is_running(const struct windows_reason *reason)
{
	return !strcmp(reason->part, WINDOW_WORDS_OWN) && reason->state && !reason->cause;
}

/*
 * SLOT_NONE: none, or one of another version. A wait that may be for a condition variable is not
 * called a lock.
 */
static enum ledger_slot slot_of(const struct windows_reason *reason)
{
	return reason->state && reason->cause
		       ? states__find(reason->state, reason->cause, KIND_UNDECIDED)
		       : SLOT_NONE;
}

static void add_reason(struct requests_slow *slow, const struct windows_row *row)
{
	double share = row->more_ns / (double)slow->more_ns;

	if (!row->is_claimed || share < LEAST_SHARE || slow->reason_count == REQUESTS_REASONS ||
	    model_windows__sign(&slow->windows->reasons[row->reason]) < 0)
		return;
	slow->reasons[slow->reason_count].row = row;
	slow->reasons[slow->reason_count++].share = share;
}

bool requests_words__slow(const struct windows *windows, const struct windows_service *service,
			  struct requests_slow *ret)
{
	struct requests_slow slow = { .windows = windows, .service = service };

	slow.more_ns = (int64_t)(service->all.more_ns + 0.5);
	if (service->is_own || !model_windows__is_compared(service) || !service->all.is_claimed ||
	    slow.more_ns <= 0)
		return false;
	for (size_t i = 0; i < service->row_count; i++) {
		const struct windows_row *row = &service->rows[i];

		add_reason(&slow, row);
		if (is_running(&windows->reasons[row->reason]))
			slow.running = row;
	}
	*ret = slow;
	return true;
}

static bool is_client(const struct windows_service *service)
{
	return !strcmp(service->first->kind, window_words__kind(WORDS_KIND_CLIENT)->key);
}

const char *requests_words__many(const struct windows_service *service)
{
	return strcmp(service->first->kind, window_words__kind(WORDS_KIND_CALL)->key) ? "requests"
										      : "calls";
}

struct words requests_words__band(const struct windows_service *service, enum windows_bands band)
{
	int64_t count = service->bands[band].count;

	if (count < WINDOWS_LEAST)
		return (struct words) { "-" };
	return words__about(count, service->count);
}

/* --- the sentence ----------------------------------------------------------------------------- */

/* "the fastest half" */
static void say_fastest(const struct windows_service *service, char *text, size_t size)
{
	double percent = 100 * (double)service->bands[WINDOWS_FAST].count / (double)service->count;

	if (percent >= HALF_FROM && percent <= HALF_TO)
		words__say(text, size, "the fastest half");
	else
		words__say(text, size, "the fastest %s",
			   requests_words__band(service, WINDOWS_FAST).text);
}

/* "waiting for the disk" */
static void say_state(const struct windows_reason *reason, char *text, size_t size)
{
	enum ledger_slot slot = slot_of(reason);

	if (slot == SLOT_NONE)
		model_windows__say_reason(reason, text, size);
	else
		words__say(text, size, "%s", states__words(slot)->phrase);
}

/* Which request to another server took more than half of that time. */
static void say_asked(const struct windows_service *service, char *text, size_t size)
{
	double ns = 0;

	for (size_t i = 0; i < service->asked_count; i++)
		ns += service->asked[i].ns;
	if (!service->asked_count || service->asked[0].ns * 2 <= ns)
		return;
	words__say(text, size, ", %s", service->asked_count > 1 ? "mostly to " : "to ");
	model_windows__say_class(service->asked[0].class, text, size);
}

static void say_reason(const struct requests_slow *slow, size_t i, char *text, size_t size)
{
	const struct windows_reason *reason = &slow->windows->reasons[slow->reasons[i].row->reason];
	int part = window_words__find_part(reason->part);

	words__say(text, size, "%s%s ", i ? ", " : ": ",
		   words__about((int64_t)slow->reasons[i].row->more_ns, slow->more_ns).text);
	if (part == WORDS_PART_DOWNSTREAM && is_client(slow->service)) {
		words__say(text, size, "because the other server answered later");
	} else if (part >= 0 && because[part]) {
		words__say(text, size, "%s", because[part]);
		if (part == WORDS_PART_DOWNSTREAM)
			say_asked(slow->service, text, size);
	} else if (is_running(reason)) {
		words__say(text, size, "because their threads ran longer");
	} else {
		say_state(reason, text, size);
	}
}

/* What everybody asks first: whether the slow ones are more work. */
static void say_running(const struct requests_slow *slow, char *text, size_t size)
{
	const struct windows_row *row = slow->running;
	int64_t fast_ns, slow_ns;

	for (size_t i = 0; i < slow->reason_count; i++)
		if (slow->reasons[i].row == row)
			return;
	if (!row)
		return;
	fast_ns = model_windows__mean_ns(slow->service, row, WINDOWS_FAST);
	slow_ns = model_windows__mean_ns(slow->service, row, WINDOWS_SLOW);
	if (slow_ns <= fast_ns)
		words__say(text, size, " They do not run longer (%s and %s).",
			   words__time(slow_ns).text, words__time(fast_ns).text);
	else
		words__say(text, size, " Running time is %s of that (%s instead of %s).",
			   words__about(slow_ns - fast_ns, slow->more_ns).text,
			   words__time(slow_ns).text, words__time(fast_ns).text);
}

void requests_words__say(const struct requests_slow *slow, char *text, size_t size)
{
	const struct windows_service *service = slow->service;

	words__say(text, size, "The slowest %s of %s%s",
		   requests_words__band(service, WINDOWS_SLOW).text,
		   service->n == service->count ? "" : "windows of ",
		   requests_words__many(service));
	model_windows__say_service(service, text, size);
	words__say(text, size, " take on average %s longer than ", words__time(slow->more_ns).text);
	say_fastest(service, text, size);
	for (size_t i = 0; i < slow->reason_count; i++)
		say_reason(slow, i, text, size);
	words__say(text, size, slow->reason_count ? "." : "; no single reason stands out.");
	say_running(slow, text, size);
}

/* --- what they waited for --------------------------------------------------------------------- */

void requests_words__say_culprit(const struct model *model, const struct windows_wait *wait,
				 char *text, size_t size)
{
	enum ledger_slot slot = slot_of(&model->windows.reasons[wait->reason]);
	char name[200];

	if (slot != SLOT_NONE && states__words(slot)->flags & STATE_NO_CULPRIT)
		return;

	if (wait->evidence && !strcmp(wait->evidence, "timeout")) {
		words__say(text, size, ", timed out");
		return;
	}
	if (!wait->by)
		return;
	findings__name(wait->by->group, wait->by_many ? NULL : wait->by, name, sizeof(name));
	words__say(text, size, ", %s %s",
		   wait->evidence && !strcmp(wait->evidence, "owner") ? "held by" : "woken by",
		   name);
}

void requests_words__say_wait(const struct model *model, const struct windows_wait *wait,
			      char *text, size_t size)
{
	struct words kind = words__clean(wait->object_kind ? wait->object_kind : "", KIND_COLUMNS);
	struct words name =
		words__clean(wait->object_name ? wait->object_name : "", OBJECT_COLUMNS);

	model_windows__say_reason(&model->windows.reasons[wait->reason], text, size);
	if (*kind.text && !strstr(name.text, kind.text))
		words__say(text, size, ", %s%s%s", kind.text, *name.text ? " " : "", name.text);
	else if (*name.text)
		words__say(text, size, ", %s", name.text);
	requests_words__say_culprit(model, wait, text, size);
}

/* --- what they are part of -------------------------------------------------------------------- */

static void add_link(struct requests_links *links, const char *evidence)
{
	size_t i = 0;

	links->all++;
	while (i < links->count && strcmp(links->list[i].evidence, evidence) != 0)
		i++;
	if (i == REQUESTS_EVIDENCES)
		return;
	links->list[i].evidence = evidence;
	links->list[i].count++;
	links->count += i == links->count;
	for (; i > 0 && links->list[i].count > links->list[i - 1].count; i--) {
		const int64_t count = links->list[i].count;

		links->list[i] = links->list[i - 1];
		links->list[i - 1].evidence = evidence;
		links->list[i - 1].count = count;
	}
}

void requests_words__links(const struct windows *windows, const struct windows_service *service,
			   struct requests_links *ret)
{
	*ret = (struct requests_links) {};
	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];

		if (one->parent && model_windows__service(windows, one->class) == service)
			add_link(ret, one->evidence ? one->evidence : "");
	}
}
