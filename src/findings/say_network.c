/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a sentence that says for which answer of the network a thread waited. */
#include <string.h>

#include "base/words.h"
#include "findings/say.h"
#include "vocabulary/roles.h"

#define LOST_PERCENT 1

static bool is_about(const struct model_wait *wait, const struct cause *cause)
{
	const char *name = wait->own_name ? wait->own_name : wait->object_name;

	return wait->waiter->group == cause->group && wait->turn == (int)cause->turn && name &&
	       strstr(name, cause->peer);
}

/*
 * How many of the waits a timeout ended; 0 if something else ended one of them. The sums of waits
 * are exact; a short wait may have no sample.
 */
static int64_t count_timeouts(const struct analysis *analysis, const struct cause *cause,
			      int64_t *ret_longest_ns)
{
	const struct model *model = analysis->model;
	int64_t count = 0;

	*ret_longest_ns = 0;
	for (size_t i = 0; i < cause->sample_count; i++) {
		const struct model_sample *sample = &model->samples[cause->samples[i]];

		if (sample->ended != ENDED_TIMEOUT)
			return 0;
		if (sample->wait_ns > *ret_longest_ns)
			*ret_longest_ns = sample->wait_ns;
	}
	for (size_t i = 0; i < model->wait_count; i++) {
		if (!is_about(&model->waits[i], cause))
			continue;
		if (strcmp(model->waits[i].ended, states__ended(ENDED_TIMEOUT)))
			return 0;
		count += model->waits[i].count;
	}
	return count;
}

static void say_timeouts(struct finding *finding, const struct analysis *analysis,
			 const struct cause *cause)
{
	int64_t longest_ns, count = count_timeouts(analysis, cause, &longest_ns);

	if (!count)
		return;
	say(finding, ", but none came: ");
	if (count > 1)
		say(finding, "all %s timed out, the longest after %s",
		    words__count(count, "waits").text, words__time(longest_ns).text);
	else
		say(finding, "the wait timed out after %s", words__time(longest_ns).text);
}

/* Whether a connection, "10.0.0.2:40000 → 10.0.0.1:5432" or "to 10.0.0.1:5432", is to this peer. */
static bool is_to(const struct signals_object *connection, const char *peer)
{
	const char *name = connection && connection->name ? connection->name : "";
	size_t length = strlen(name), tail = strlen(peer);

	return length > tail && name[length - tail - 1] == ' ' &&
	       !strcmp(name + length - tail, peer);
}

/*
 * The part of a wait that had passed when a segment was sent again for the last time. What came
 * after that is the time that the wait takes without a loss.
 */
static double part_until_resent(const struct signals *signals, const struct model_sample *sample,
				const char *peer)
{
	int64_t begin_ns = sample->time_ns - sample->wait_ns;
	size_t low = 0, high = signals->resent_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (signals->resent[middle].time_ns <= sample->time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && signals->resent[low - 1].time_ns > begin_ns; low--) {
		const struct signals_resent *resent = &signals->resent[low - 1];

		if (resent->thread == sample->thread && is_to(resent->connection, peer))
			return (double)(resent->time_ns - begin_ns) / (double)sample->wait_ns;
	}
	return 0;
}

/* Time of the waits that had passed when lost segments were sent again. */
static int64_t resent_ns(const struct analysis *analysis, const struct cause *cause)
{
	double ns = 0;

	for (size_t i = 0; i < cause->sample_count; i++) {
		const struct model_sample *sample = &analysis->model->samples[cause->samples[i]];

		if (!sample->summed && sample->wait_ns > 0)
			ns += (double)analysis->judged[cause->samples[i]].ns *
			      part_until_resent(&analysis->model->signals, sample, cause->peer);
	}
	return (int64_t)ns;
}

/* Segments that had to be sent again on connections to this peer. */
static void say_lost(struct finding *finding, const struct analysis *analysis,
		     const struct cause *cause)
{
	const struct signals_signal *tcp = signals__of(&analysis->model->signals, ROLE_CONNECTIONS);
	int64_t ns = cause->peer ? resent_ns(analysis, cause) : 0;

	for (size_t i = 0; tcp && cause->peer && i < tcp->service_count; i++) {
		const struct signals_service *service = &tcp->services[i];

		if (strcmp(service->name, cause->peer) || service->accepts ||
		    !model__reaches(service->again, service->segments, LOST_PERCENT))
			continue;
		say(finding, "; ");
		if (ns)
			say(finding,
			    "%s of this wait had passed when segments were sent again, because ",
			    words__about(ns, cause->ns).text);
		say(finding,
		    "%s of the %s segments sent there, or their answers, were lost or late",
		    words__about(service->again, service->segments).text,
		    words__number(service->segments).text);
		say(finding, " (%s)", words__count(service->again, "retransmits").text);
	}
}

/* How many connections to this peer failed, and the error of one of them. */
static void say_failed(struct finding *finding, const struct model *model, const char *peer)
{
	const struct signals_signal *tcp = signals__of(&model->signals, ROLE_CONNECTIONS);
	int64_t count = 0, error = 0;

	for (size_t i = 0; tcp && peer && i < tcp->series_count; i++) {
		const struct signals_series *series = &tcp->series[i];

		if (!series->error || strcmp(tcp->rows[series->row].operation, "connect") ||
		    !is_to(series->object, peer))
			continue;
		count += series->sum.count;
		error = series->error;
	}
	if (count)
		say(finding, "; %s there failed: %s", words__count(count, "connections").text,
		    strerrordesc_np((int)error) ? strerrordesc_np((int)error) : "unknown error");
}

void say_network__put(struct finding *finding, const struct analysis *analysis,
		      const struct cause *cause)
{
	if (cause->turn == TURN_CONNECTING)
		say(finding, " for a connection to ");
	else if (cause->what && strstr(cause->what, "name server"))
		say(finding, " for an answer of the name server ");
	else
		say(finding, " for an answer from ");
	say__peer(finding, cause->peer);
	if (!analysis->has_turns)
		say(finding, " (inferred from the port numbers)");
	if (cause->turn == TURN_CONNECTING)
		say_failed(finding, analysis->model, cause->peer);
	else
		say_timeouts(finding, analysis, cause);
	say_lost(finding, analysis, cause);
	if (cause->turn == TURN_UNSENT)
		say(finding,
		    "; part of what it sent was held back until an acknowledgement came (Nagle's "
		    "algorithm: TCP_NODELAY turns it off)");
}
