/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread is known by its tid. If its start shows that another thread had the tid before, that one
 * keeps its row, and this one gets another id. The process of such a thread has a row of its own,
 * with the id of the thread: no account refers to it.
 */
#include "record/strangers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "record/describe.h"

/* Ids of threads without an account start above all ids of accounts. */
#define STRANGER_BASE  (INT64_C(1) << 40)
#define STRANGER_OTHER (STRANGER_BASE - 1)
/* A tid has 22 bits. */
#define TIDS (INT64_C(1) << 22)

/* A limit, because a run may last for weeks. All beyond it share OTHER_NAME. */
#define MOST_STRANGERS 16384

struct stranger {
	int64_t id;
	uint64_t used_ns;
	uint64_t start; /* 0: not known */
};

struct strangers {
	struct recording *recording;
	struct map by_tid; /* key: 1 + tid; those that had the tid before: 1 + id */
	int64_t reuses;    /* how often a tid was seen again with another start */
	uint64_t overflowed;
};

int strangers__new(struct recording *recording, struct strangers **ret)
{
	struct strangers *strangers = calloc(1, sizeof(*strangers));

	if (!strangers)
		return -ENOMEM;
	strangers->recording = recording;
	*ret = strangers;
	return 0;
}

void strangers__free(struct strangers *strangers)
{
	if (!strangers)
		return;
	map__free_values(&strangers->by_tid);
	free(strangers);
}

static int write_stranger(struct strangers *strangers, int64_t id, uint64_t tid)
{
	char comm[32];

	describe__comm((uint32_t)tid, comm, sizeof(comm));
	return recording__put_thread(
		strangers->recording,
		&(struct recording_thread) { .id = id,
					     .tid = (int)tid,
					     .comm = tid ? comm : "[idle]",
					     .flags = RECORDING_THREAD_NO_ACCOUNT });
}

static int write_named(struct strangers *strangers, int64_t id, const struct stranger_facts *facts)
{
	int err = recording__put_process(strangers->recording,
					 &(struct recording_process) { .id = id,
								       .pid = (int)facts->pid,
								       .comm = facts->process });

	if (err)
		return err;
	return recording__put_thread(
		strangers->recording,
		&(struct recording_thread) { .id = id,
					     .process = id,
					     .tid = (int)facts->tid,
					     .comm = facts->comm,
					     .flags = RECORDING_THREAD_NO_ACCOUNT });
}

/* *ret is NULL if the limit is reached. */
static int add(struct strangers *strangers, uint64_t tid, struct stranger **ret)
{
	struct stranger *stranger;

	*ret = NULL;
	if (strangers->by_tid.count >= MOST_STRANGERS)
		return 0;
	stranger = calloc(1, sizeof(*stranger));
	if (!stranger || map__put(&strangers->by_tid, tid + 1, stranger)) {
		free(stranger);
		return -ENOMEM;
	}
	stranger->id = STRANGER_BASE + strangers->reuses * TIDS + (int64_t)tid;
	*ret = stranger;
	if (strangers->by_tid.count < MOST_STRANGERS)
		return 0;
	/* The limit is reached: write the shared thread for all others. */
	return recording__put_thread(
		strangers->recording,
		&(struct recording_thread) { .id = STRANGER_OTHER,
					     .comm = OTHER_NAME,
					     .flags = RECORDING_THREAD_NO_ACCOUNT });
}

static int64_t use(struct strangers *strangers, struct stranger *stranger)
{
	if (!stranger) {
		strangers->overflowed++;
		return STRANGER_OTHER;
	}
	stranger->used_ns = clock__now_ns();
	return stranger->id;
}

int strangers__find(struct strangers *strangers, uint64_t tid, int64_t *ret_id)
{
	struct stranger *stranger = map__get(&strangers->by_tid, tid + 1);
	int err = 0;

	if (!stranger) {
		err = add(strangers, tid, &stranger);
		if (!err && stranger)
			err = write_stranger(strangers, stranger->id, tid);
	}
	if (!err)
		*ret_id = use(strangers, stranger);
	return err;
}

/* Another thread has this tid now. */
static int set_aside(struct strangers *strangers, uint64_t tid)
{
	struct stranger *stranger = map__take(&strangers->by_tid, tid + 1);
	int err = map__put(&strangers->by_tid, (uint64_t)stranger->id + 1, stranger);

	strangers->reuses++;
	if (err)
		free(stranger);
	return err;
}

int strangers__find_named(struct strangers *strangers, const struct stranger_facts *facts,
			  int64_t *ret_id)
{
	struct stranger *stranger = map__get(&strangers->by_tid, (uint64_t)facts->tid + 1);
	int err = 0;

	if (stranger && stranger->start && stranger->start != facts->start) {
		err = set_aside(strangers, facts->tid);
		stranger = NULL;
	}
	if (!err && !stranger)
		err = add(strangers, facts->tid, &stranger);
	if (!err && stranger && !stranger->start) {
		stranger->start = facts->start;
		err = write_named(strangers, stranger->id, facts);
	}
	if (!err)
		*ret_id = use(strangers, stranger);
	return err;
}

uint64_t strangers__overflowed(const struct strangers *strangers)
{
	return strangers->overflowed;
}

struct sweep {
	struct recording *recording;
	uint64_t before_ns;
	int err; /* the first error */
};

static bool forget(void *context, uint64_t key, void *value)
{
	struct sweep *sweep = context;
	struct stranger *stranger = value;

	if (stranger->used_ns >= sweep->before_ns)
		return false;
	if (!sweep->err)
		sweep->err = recording__drop(sweep->recording, RECORDING_DROP_THREAD, stranger->id);
	if (!sweep->err && stranger->start)
		sweep->err =
			recording__drop(sweep->recording, RECORDING_DROP_PROCESS, stranger->id);
	free(stranger);
	return true;
}

int strangers__forget(struct strangers *strangers, uint64_t before_ns)
{
	struct sweep sweep = { strangers->recording, before_ns, 0 };

	map__sweep(&strangers->by_tid, forget, &sweep);
	return sweep.err;
}
