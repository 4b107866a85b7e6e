/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/sessions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "core/series.h"
#include "vocabulary/counters.h"

struct sessions {
	struct session **all;
	size_t count;
	struct series_barrier barrier;
	struct recording *recording;
};

DEFINE_CLEANUP(struct sessions *, sessions__free)

/* Law 4: a report without data of a signal says why. A write error shows up with the next row. */
static void write_missing(struct recording *recording, const struct signal *signal)
{
	const struct counter_words *words = counters__words(COUNTER_MISSING);
	char name[96];

	snprintf(name, sizeof(name), "%s_%s", signal->name, words->name);
	recording__put_quality(recording, name, 1, words->bias, words->remedy);
}

int sessions__open(struct part *parts, struct session_options options, struct sessions **ret)
{
	cleanup(sessions__free_p) struct sessions *sessions = calloc(1, sizeof(*sessions));
	size_t most = 0;

	while (parts[most].signal)
		most++;
	if (sessions)
		sessions->all = calloc(most + 1, sizeof(*sessions->all));
	if (!sessions || !sessions->all)
		return -ENOMEM;
	sessions->recording = options.recording;
	if (most)
		sessions->barrier = series__barrier();
	for (size_t i = 0; i < most; i++) {
		options.number = (int)i + 1;
		if (parts[i].is_on &&
		    !session__open(&parts[i], &options, &sessions->all[sessions->count]))
			sessions->count++;
		else
			write_missing(options.recording, parts[i].signal);
	}
	*ret = TAKE(sessions);
	return 0;
}

void sessions__free(struct sessions *sessions)
{
	if (!sessions)
		return;
	for (size_t i = 0; i < sessions->count; i++)
		session__free(sessions->all[i]);
	series__barrier_close(&sessions->barrier);
	free(sessions->all);
	free(sessions);
}

size_t sessions__count(const struct sessions *sessions)
{
	return sessions->count;
}

/*
 * Attaching and detaching take milliseconds each. This switch makes all signals start and end
 * together.
 */
static void enable_all(struct sessions *sessions, bool on)
{
	for (size_t i = 0; i < sessions->count; i++)
		session__enable(sessions->all[i], on);
}

static void refresh_all(struct sessions *sessions, bool is_last)
{
	for (size_t i = 0; i < sessions->count; i++)
		session__refresh(sessions->all[i], is_last);
}

void sessions__attach(struct sessions *sessions)
{
	size_t count = 0;

	for (size_t i = 0; i < sessions->count; i++) {
		struct session *session = sessions->all[i];

		if (!session__start(session)) {
			sessions->all[count++] = session;
			continue;
		}
		write_missing(sessions->recording, session__signal(session));
		session__free(session);
	}
	sessions->count = count;
}

void sessions__start(struct sessions *sessions)
{
	enable_all(sessions, true);
	refresh_all(sessions, false);
}

void sessions__stop(struct sessions *sessions)
{
	refresh_all(sessions, true);
	enable_all(sessions, false);
	for (size_t i = 0; i < sessions->count; i++)
		session__stop(sessions->all[i]);
}

const char *sessions__hold_back(struct sessions *sessions, uint64_t least_ns)
{
	struct session *costliest = NULL;

	for (size_t i = 0; i < sessions->count; i++) {
		uint64_t cost_ns = session__cost_ns(sessions->all[i]);

		if (cost_ns < least_ns || !session__is_enabled(sessions->all[i]))
			continue;
		costliest = sessions->all[i];
		least_ns = cost_ns;
	}
	if (!costliest)
		return NULL;
	session__enable(costliest, false);
	return session__signal(costliest)->name;
}

const char *sessions__let_go(struct sessions *sessions)
{
	for (size_t i = 0; i < sessions->count; i++) {
		if (session__is_enabled(sessions->all[i]))
			continue;
		session__enable(sessions->all[i], true);
		return session__signal(sessions->all[i])->name;
	}
	return NULL;
}

int sessions__poll(struct sessions *sessions)
{
	int err = 0;

	for (size_t i = 0; i < sessions->count && err >= 0; i++)
		err = session__poll(sessions->all[i]);
	return err < 0 ? err : 0;
}

int sessions__write(struct sessions *sessions, int64_t from, int64_t to)
{
	int err = 0;

	if (!sessions->count)
		return 0;
	refresh_all(sessions, false);
	for (size_t i = 0; i < sessions->count; i++)
		session__switch(sessions->all[i]);
	series__settle(&sessions->barrier);
	/* First handle the records, because they have the names of objects. */
	err = sessions__poll(sessions);
	for (size_t i = 0; i < sessions->count && !err; i++) {
		err = session__write(sessions->all[i], from, to);
		if (!err)
			err = session__write_quality(sessions->all[i]);
		session__hold_rate(sessions->all[i]);
	}
	return err;
}

int sessions__forget(struct sessions *sessions, uint64_t before_ns)
{
	int err = 0;

	for (size_t i = 0; i < sessions->count && !err; i++)
		err = session__forget(sessions->all[i], before_ns);
	return err;
}

void sessions__add_hooks(const struct sessions *sessions, json_t *list)
{
	for (size_t i = 0; i < sessions->count; i++)
		session__add_hooks(sessions->all[i], list);
}
