/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The supervisor answers within microseconds, unless it begins sampling or does not get a CPU. The
 * worker waits for it a small part of its time (patience.h): less than 100 ms in ten seconds. Only
 * one question waits for its answer at a time, and nothing is sent that would block. Whatever is
 * not answered is asked for again later.
 *
 * The supervisor answers in the order of the questions. So it ends in the state that was asked for
 * last, even if nobody waited for the answers.
 */
#include <errno.h>
#include <sys/socket.h>

#include "agent/code_client_internal.h"
#include "base/clock.h"

#define SECOND_NS UINT64_C(1000000000)
/* After this, sampling that was asked for and did not begin is a problem. */
#define LATE_NS (5 * SECOND_NS)
/* After this, an answer was lost: a worker that read no answers for long gets none. */
#define LOST_NS (60 * SECOND_NS)

/* --- questions -------------------------------------------------------------------------------- */

/* Never blocks: -EAGAIN if there is no room. */
int code_client__tell(struct code_client *client, enum code_wish wish, uint64_t number)
{
	const struct code_question question = { .wish = wish,
						.sequence = ++client->sequence,
						.number = number };

	return send(client->fd, &question, sizeof(question), MSG_NOSIGNAL | MSG_DONTWAIT) < 0
		       ? -errno
		       : 0;
}

static void note_sampling(struct code_client *client, const struct code_answer *answer)
{
	bool is_on = answer->size;

	if (client->sampling.is_on && !is_on && answer->base > client->sampling.since_ns)
		client->sampling.on_ns += answer->base - client->sampling.since_ns;
	if (client->sampling.is_on != is_on)
		client->sampling.since_ns = answer->base;
	client->sampling.is_on = is_on;
	if (answer->sequence != client->sampling.sequence)
		return;
	client->sampling.is_answered = true;
	client->sampling.err = answer->err;
}

/*
 * Takes an answer that is there. 0: it answers the open question. -EAGAIN: there is none; -EPIPE:
 * there will be none.
 */
static int take_answer(struct code_client *client, struct code_answer *ret)
{
	for (;;) {
		ssize_t size = recv(client->fd, ret, sizeof(*ret), MSG_DONTWAIT);

		if (size == 0)
			return -EPIPE;
		if (size < 0)
			return errno == EINTR ? -EAGAIN : -errno;
		if (size != sizeof(*ret))
			continue;
		ret->build_id[sizeof(ret->build_id) - 1] = '\0';
		ret->path[sizeof(ret->path) - 1] = '\0';
		if (ret->wish == CODE_SAMPLE)
			note_sampling(client, ret);
		else if (client->open.wish && ret->sequence == client->open.sequence)
			return 0;
	}
}

/* Answers that came after they were given up: they are used all the same. -EPIPE: none will come.
 */
int code_client__listen(struct code_client *client)
{
	struct code_answer answer;
	int err;

	while (!(err = take_answer(client, &answer))) {
		if (client->open.wish == CODE_MODULE && !answer.err)
			code_client__adopt(client, client->open.number, &answer);
		client->open.wish = 0;
	}
	if (client->open.wish && clock__now_ns() - client->opened_ns > LOST_NS)
		client->open.wish = 0;
	return err == -EAGAIN ? 0 : err;
}

int code_client__ask(struct code_client *client, enum code_wish wish, uint64_t number,
		     struct code_answer *ret)
{
	int err = code_client__listen(client);

	/* What it did not answer is before this one. */
	if (!err && client->open.wish)
		return -ETIMEDOUT;
	if (!err)
		err = code_client__tell(client, wish, number);
	if (err)
		return err;
	client->open = (struct code_question) { wish, client->sequence, number };
	client->opened_ns = clock__now_ns();
	do {
		err = take_answer(client, ret);
	} while (err == -EAGAIN && patience__wait(&client->patience, client->fd));
	if (err)
		return err == -EAGAIN ? -ETIMEDOUT : err;
	client->open.wish = 0;
	return ret->err;
}

/* --- sampling --------------------------------------------------------------------------------- */

static void send_sampling(struct code_client *client)
{
	if (client->sampling.is_sent)
		return;
	client->sampling.is_sent =
		!code_client__tell(client, CODE_SAMPLE, client->sampling.is_wanted);
	client->sampling.sequence = client->sequence;
}

void code_client__sample(struct code_client *client, bool on)
{
	int err = code_client__listen(client);

	if (on != client->sampling.is_wanted || client->sampling.err) {
		client->sampling.is_wanted = on;
		client->sampling.is_sent = client->sampling.is_answered = false;
		client->sampling.err = 0;
		client->sampling.asked_ns = clock__now_ns();
	}
	if (on)
		client->must_rest = false;
	send_sampling(client);
	while (!err && client->sampling.is_sent && !client->sampling.is_answered &&
	       patience__wait(&client->patience, client->fd))
		err = code_client__listen(client);
}

int code_client__problem(const struct code_client *client)
{
	if (client->sampling.is_answered)
		return client->sampling.err;
	return clock__now_ns() - client->sampling.asked_ns > LATE_NS ? -ETIMEDOUT : 0;
}

bool code_client__is_on(const struct code_client *client)
{
	return client->sampling.is_on;
}

uint64_t code_client__on_ns(const struct code_client *client, uint64_t now_ns)
{
	uint64_t on_ns = client->sampling.on_ns;

	if (client->sampling.is_on && now_ns > client->sampling.since_ns)
		on_ns += now_ns - client->sampling.since_ns;
	return on_ns;
}

void code_client__step(struct code_client *client)
{
	(void)code_client__listen(client);
	if (!client->sampling.is_answered &&
	    clock__now_ns() - client->sampling.asked_ns > LOST_NS) {
		client->sampling.is_sent = false;
		client->sampling.asked_ns = clock__now_ns();
	}
	send_sampling(client);
	if (client->must_rest)
		client->must_rest = code_client__tell(client, CODE_REST, 0) != 0;
}

int code_client__cost(struct code_client *client, uint64_t *ret_cpu_ns, uint64_t *ret_bytes)
{
	struct code_answer answer;
	int err = code_client__ask(client, CODE_COST, 0, &answer);

	if (err)
		return err;
	*ret_cpu_ns = answer.size;
	*ret_bytes = answer.base;
	return 0;
}
