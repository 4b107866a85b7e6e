/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/code_client.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "agent/code_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "bpf/stack.h"
#include "fold/sampling.h"

/* The supervisor attaches hooks meanwhile; usually it takes microseconds. */
#define PATIENCE_MS 2000
#define SECOND_NS   UINT64_C(1000000000)
/* Pages of the kernel in no known part, such as BPF programs, are not asked for again at once. */
#define KERNEL_AGAIN_NS (10 * SECOND_NS)
#define MOST_UNKNOWN    1024
#define PAGE_SHIFT      12

struct code_client {
	int fd;
	uint32_t sequence;
	struct map modules; /* by id of the mapper: struct code_module */
	struct code_module **kernel;
	size_t kernel_count;
	struct map unknown;                   /* by page of the kernel: when it was asked for */
	struct code_module anonymous, hidden; /* generated code; code of the kernel in no part */
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
	client->anonymous = (struct code_module) { .kind = "jit",
						   .build_id = (char *)"",
						   .path = (char *)"[anon]",
						   .hash = sampling__hash_file("[anon]", 0),
						   .first_seen_s = wall_s() };
	client->hidden = client->anonymous;
	client->hidden.kind = "kernel";
	client->hidden.path = (char *)"[kernel]";
	client->hidden.hash = sampling__hash_file("[kernel]", 0);
	client->fd = fd;
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

static int tell(struct code_client *client, enum code_wish wish, uint64_t number)
{
	const struct code_question question = { .wish = wish,
						.sequence = ++client->sequence,
						.number = number };

	return send(client->fd, &question, sizeof(question), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int receive(struct code_client *client, struct code_answer *ret)
{
	uint64_t until_ns = clock__now_ns() + PATIENCE_MS * UINT64_C(1000000), now_ns;
	struct pollfd wish = { .fd = client->fd, .events = POLLIN };

	while ((now_ns = clock__now_ns()) < until_ns) {
		ssize_t size;

		/* A signal ends the wait for records, not this one, which is short. */
		if (poll(&wish, 1, (int)((until_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		size = recv(client->fd, ret, sizeof(*ret), MSG_DONTWAIT);
		if (size == 0)
			return -EPIPE;
		/* Else it answers a question that was given up. */
		if (size == sizeof(*ret) && ret->sequence == client->sequence)
			return ret->err;
	}
	return -ETIMEDOUT;
}

static int ask(struct code_client *client, enum code_wish wish, uint64_t number,
	       struct code_answer *ret)
{
	int err = tell(client, wish, number);

	if (!err)
		err = receive(client, ret);
	client->unanswered += err && err != -ENOENT;
	if (err)
		return err;
	ret->build_id[sizeof(ret->build_id) - 1] = '\0';
	ret->path[sizeof(ret->path) - 1] = '\0';
	return 0;
}

int code_client__sample(struct code_client *client, bool on)
{
	struct code_answer answer;

	return ask(client, CODE_SAMPLE, on, &answer);
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

static struct code_module *find_file(struct code_client *client, uint32_t id)
{
	cleanup(free_module_p) struct code_module *module = NULL;
	struct code_module *known = map__get(&client->modules, id);
	struct code_answer answer;

	if (known)
		return known;
	if (ask(client, CODE_MODULE, id, &answer))
		return NULL;
	module = make_module(&answer, answer.is_vdso ? "vdso" : *answer.build_id ? "elf" : "file");
	if (!module || map__put(&client->modules, id, module)) {
		(void)tell(client, CODE_LEAVE, id);
		return NULL;
	}
	module->id = id;
	module->used_ns = clock__now_ns();
	return TAKE(module);
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

	for (size_t i = 0; i < client->kernel_count; i++)
		if (address - client->kernel[i]->base < client->kernel[i]->size)
			return client->kernel[i];
	if (is_unknown(client, address))
		return NULL;
	if (ask(client, CODE_KERNEL, address, &answer)) {
		note_unknown(client, address);
		return NULL;
	}
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
	if (module) {
		*ret_offset = is_kernel ? frame - module->base : FRAME_ADDRESS(frame);
		return module;
	}
	client->anonymous_count++;
	*ret_offset = 0;
	return is_kernel ? &client->hidden : &client->anonymous;
}

void code_client__use(struct code_client *client, struct code_module *module, uint64_t now_ns)
{
	module->used_ns = now_ns;
	if (!module->id || now_ns - module->told_ns < SECOND_NS)
		return;
	module->told_ns = now_ns;
	(void)tell(client, CODE_USED, module->id);
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
	(void)tell(forget->client, CODE_LEAVE, id);
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
	code_client__forget(client, UINT64_MAX);
	(void)tell(client, CODE_REST, 0);
}

uint64_t code_client__anonymous(const struct code_client *client)
{
	return client->anonymous_count;
}

uint64_t code_client__unanswered(const struct code_client *client)
{
	return client->unanswered;
}
