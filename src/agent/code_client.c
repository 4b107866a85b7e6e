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
#include "agent/code_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/code_wire.h"
#include "agent/patience.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/stack.h"
#include "fold/sampling.h"

#define SECOND_NS UINT64_C(1000000000)
/* After this, sampling that was asked for and did not begin is a problem. */
#define LATE_NS (5 * SECOND_NS)
/* After this, an answer was lost: a worker that read no answers for long gets none. */
#define LOST_NS (60 * SECOND_NS)
/* Pages of the kernel in no known part, such as BPF programs, are not asked for again at once. */
#define KERNEL_AGAIN_NS (10 * SECOND_NS)
#define MOST_UNKNOWN    1024
#define PAGE_SHIFT      12

/* Code that is in no file, or whose file is not known. */
enum pseudo {
	PSEUDO_ANON,
	PSEUDO_KERNEL,
	PSEUDO_UNMAPPED,
	PSEUDO_LATE,
	PSEUDO_LATE_KERNEL,
	PSEUDO_COUNT
};

static const struct {
	const char *kind, *path;
	bool is_late;
} pseudos[PSEUDO_COUNT] = {
	[PSEUDO_ANON] = { "jit", "[anon]", false },
	[PSEUDO_KERNEL] = { "kernel", "[kernel]", false },
	[PSEUDO_UNMAPPED] = { "jit", "[not mapped yet]", false },
	[PSEUDO_LATE] = { "jit", "[unanswered]", true },
	[PSEUDO_LATE_KERNEL] = { "kernel", "[kernel]", true },
};

struct code_client {
	int fd;
	uint32_t sequence;
	struct patience patience;
	/* The question about code that has no answer yet; wish 0: none. */
	struct code_question open;
	uint64_t opened_ns;
	/* Sampling: what was asked for, and what the supervisor did. */
	struct {
		bool is_wanted, is_sent, is_answered;
		uint32_t sequence; /* of the last question */
		uint64_t asked_ns;
		int err; /* of the last answer */
		bool is_on;
		uint64_t since_ns, on_ns; /* the last change; the sum of earlier times */
	} sampling;
	bool must_rest;     /* CODE_REST could not be sent yet */
	struct map modules; /* by id of the mapper: struct code_module */
	struct code_module **kernel;
	size_t kernel_count;
	struct map unknown; /* by page of the kernel: when it was asked for */
	struct code_module pseudo[PSEUDO_COUNT];
	uint64_t anonymous_count, unanswered;
};

static uint64_t wall_s(void)
{
	return clock__read_ns(CLOCK_REALTIME) / SECOND_NS;
}

int code_client__new(int fd, struct code_client **ret)
{
	struct code_client *client = calloc(1, sizeof(*client));

	if (!client) {
		close(fd);
		return -ENOMEM;
	}
	for (size_t i = 0; i < PSEUDO_COUNT; i++)
		client->pseudo[i] = (struct code_module) {
			.kind = pseudos[i].kind,
			.build_id = (char *)"",
			.path = (char *)pseudos[i].path,
			.hash = sampling__hash_file(pseudos[i].path, 0),
			.first_seen_s = wall_s(),
			.is_late = pseudos[i].is_late,
		};
	client->fd = fd;
	client->patience = patience__full();
	client->sampling.is_sent = client->sampling.is_answered = true; /* it is off */
	*ret = client;
	return 0;
}

static void free_module(struct code_module *module)
{
	if (!module)
		return;
	free(module->build_id);
	free(module->path);
	free(module);
}

DEFINE_CLEANUP(struct code_module *, free_module)

void code_client__free(struct code_client *client)
{
	struct code_module *module;
	size_t at = 0;

	if (!client)
		return;
	while ((module = map__next(&client->modules, &at)))
		free_module(module);
	map__release(&client->modules);
	for (size_t i = 0; i < client->kernel_count; i++)
		free_module(client->kernel[i]);
	free(client->kernel);
	map__release(&client->unknown);
	close(client->fd);
	free(client);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Never blocks: -EAGAIN if there is no room. */
static int tell(struct code_client *client, enum code_wish wish, uint64_t number)
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

static void adopt(struct code_client *client, uint64_t id, const struct code_answer *answer);

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
static int take_late(struct code_client *client)
{
	struct code_answer answer;
	int err;

	while (!(err = take_answer(client, &answer))) {
		if (client->open.wish == CODE_MODULE && !answer.err)
			adopt(client, client->open.number, &answer);
		client->open.wish = 0;
	}
	if (client->open.wish && clock__now_ns() - client->opened_ns > LOST_NS)
		client->open.wish = 0;
	return err == -EAGAIN ? 0 : err;
}

static int ask(struct code_client *client, enum code_wish wish, uint64_t number,
	       struct code_answer *ret)
{
	int err = take_late(client);

	/* What it did not answer is before this one. */
	if (!err && client->open.wish)
		return -ETIMEDOUT;
	if (!err)
		err = tell(client, wish, number);
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
	client->sampling.is_sent = !tell(client, CODE_SAMPLE, client->sampling.is_wanted);
	client->sampling.sequence = client->sequence;
}

void code_client__sample(struct code_client *client, bool on)
{
	int err = take_late(client);

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
		err = take_late(client);
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
	(void)take_late(client);
	if (!client->sampling.is_answered &&
	    clock__now_ns() - client->sampling.asked_ns > LOST_NS) {
		client->sampling.is_sent = false;
		client->sampling.asked_ns = clock__now_ns();
	}
	send_sampling(client);
	if (client->must_rest)
		client->must_rest = tell(client, CODE_REST, 0) != 0;
}

int code_client__cost(struct code_client *client, uint64_t *ret_cpu_ns, uint64_t *ret_bytes)
{
	struct code_answer answer;
	int err = ask(client, CODE_COST, 0, &answer);

	if (err)
		return err;
	*ret_cpu_ns = answer.size;
	*ret_bytes = answer.base;
	return 0;
}

/* --- modules ---------------------------------------------------------------------------------- */

static struct code_module *make_module(const struct code_answer *answer, const char *kind)
{
	cleanup(free_module_p) struct code_module *module = calloc(1, sizeof(*module));

	if (!module)
		return NULL;
	module->build_id = strdup(answer->build_id);
	module->path = strdup(answer->path);
	if (!module->build_id || !module->path)
		return NULL;
	module->kind = kind;
	module->size = answer->size;
	module->base = answer->base;
	module->first_seen_s = wall_s();
	module->hash = *module->build_id ? sampling__hash_build_id(module->build_id)
					 : sampling__hash_file(module->path, module->size);
	return TAKE(module);
}

static struct code_module *keep_file(struct code_client *client, uint32_t id,
				     const struct code_answer *answer)
{
	cleanup(free_module_p) struct code_module *module =
		make_module(answer, answer->is_vdso     ? "vdso"
				    : *answer->build_id ? "elf"
							: "file");

	if (!module || map__put(&client->modules, id, module)) {
		(void)tell(client, CODE_LEAVE, id);
		return NULL;
	}
	module->id = id;
	module->used_ns = clock__now_ns();
	return TAKE(module);
}

static void adopt(struct code_client *client, uint64_t id, const struct code_answer *answer)
{
	(void)keep_file(client, (uint32_t)id, answer);
}

static struct code_module *find_file(struct code_client *client, uint32_t id)
{
	struct code_module *known = map__get(&client->modules, id);
	struct code_answer answer;
	int err;

	if (!known && client->open.wish) {
		(void)take_late(client);
		known = map__get(&client->modules, id);
	}
	if (known)
		return known;
	err = ask(client, CODE_MODULE, id, &answer);
	if (err)
		return err == -ENOENT ? NULL : &client->pseudo[PSEUDO_LATE];
	return keep_file(client, id, &answer);
}

static bool is_unknown(const struct code_client *client, uint64_t address)
{
	uint64_t asked_ns = (uintptr_t)map__get(&client->unknown, address >> PAGE_SHIFT);

	return asked_ns && clock__now_ns() - asked_ns < KERNEL_AGAIN_NS;
}

static void note_unknown(struct code_client *client, uint64_t address)
{
	if (client->unknown.count >= MOST_UNKNOWN) {
		map__release(&client->unknown);
		client->unknown = (struct map) {};
	}
	(void)map__put(&client->unknown, address >> PAGE_SHIFT,
		       (void *)(uintptr_t)clock__now_ns()); // NOLINT(performance-no-int-to-ptr)
}

static struct code_module *find_kernel(struct code_client *client, uint64_t address)
{
	cleanup(free_module_p) struct code_module *module = NULL;
	struct code_module **kept;
	struct code_answer answer;
	int err;

	for (size_t i = 0; i < client->kernel_count; i++)
		if (address - client->kernel[i]->base < client->kernel[i]->size)
			return client->kernel[i];
	if (is_unknown(client, address))
		return NULL;
	err = ask(client, CODE_KERNEL, address, &answer);
	if (err == -ENOENT)
		note_unknown(client, address);
	if (err)
		return err == -ENOENT ? NULL : &client->pseudo[PSEUDO_LATE_KERNEL];
	module = make_module(&answer, "kernel");
	if (!module)
		return NULL;
	kept = APPEND(&client->kernel, &client->kernel_count);
	if (!kept)
		return NULL;
	*kept = module;
	return TAKE(module);
}

struct code_module *code_client__find(struct code_client *client, uint64_t frame,
				      uint64_t *ret_offset)
{
	bool is_kernel = FRAME_IS_KERNEL(frame);
	struct code_module *module = NULL;

	if (is_kernel)
		module = find_kernel(client, frame);
	else if (FRAME_IS_MODULE(frame))
		module = find_file(client, FRAME_MODULE(frame));
	*ret_offset = 0;
	if (!module) {
		client->anonymous_count++;
		return &client->pseudo[is_kernel ? PSEUDO_KERNEL : PSEUDO_ANON];
	}
	client->unanswered += module->is_late;
	if (!module->is_late)
		*ret_offset = is_kernel ? frame - module->base : FRAME_ADDRESS(frame);
	return module;
}

struct code_module *code_client__unmapped(struct code_client *client)
{
	return &client->pseudo[PSEUDO_UNMAPPED];
}

void code_client__use(struct code_client *client, struct code_module *module, uint64_t now_ns)
{
	module->used_ns = now_ns;
	if (!module->id || now_ns - module->told_ns < SECOND_NS)
		return;
	if (!tell(client, CODE_USED, module->id))
		module->told_ns = now_ns;
}

struct forget {
	struct code_client *client;
	uint64_t before_ns;
};

static bool is_unused(void *context, uint64_t id, void *value)
{
	const struct forget *forget = context;
	struct code_module *module = value;

	if (module->used_ns >= forget->before_ns)
		return false;
	/* Else it is told the next time, unless the supervisor forgets all of them. */
	if (tell(forget->client, CODE_LEAVE, id) && !forget->client->must_rest)
		return false;
	free_module(module);
	return true;
}

void code_client__forget(struct code_client *client, uint64_t before_ns)
{
	struct forget forget = { client, before_ns };

	map__sweep(&client->modules, is_unused, &forget);
}

void code_client__rest(struct code_client *client)
{
	client->must_rest = true;
	code_client__forget(client, UINT64_MAX);
	client->must_rest = tell(client, CODE_REST, 0) != 0;
}

uint64_t code_client__anonymous(const struct code_client *client)
{
	return client->anonymous_count;
}

uint64_t code_client__unanswered(const struct code_client *client)
{
	return client->unanswered;
}
