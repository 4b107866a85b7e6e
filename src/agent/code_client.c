/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/code_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/code_client_internal.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "bpf/stack.h"
#include "fold/sampling.h"

#define SECOND_NS UINT64_C(1000000000)
/* Pages of the kernel in no known part, such as BPF programs, are not asked for again at once. */
#define KERNEL_AGAIN_NS (10 * SECOND_NS)
#define MOST_UNKNOWN    1024
/* Modules of the kernel can be unloaded, and others take their place. */
#define KERNEL_CHECK_NS (60 * SECOND_NS)
#define PAGE_SHIFT      12

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
	module->used_ns = module->checked_ns = clock__now_ns();
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
		(void)code_client__tell(client, CODE_LEAVE, id);
		return NULL;
	}
	module->id = id;
	return TAKE(module);
}

void code_client__adopt(struct code_client *client, uint64_t id, const struct code_answer *answer)
{
	(void)keep_file(client, (uint32_t)id, answer);
}

/* There is no answer yet. `at`: the module that stands for it. */
static struct code_module *count_unanswered(struct code_client *client, int at)
{
	client->unanswered++;
	return &client->pseudo[at];
}

static struct code_module *find_file(struct code_client *client, uint32_t id)
{
	struct code_module *known = map__get(&client->modules, id);
	struct code_answer answer;
	int err;

	if (!known && client->open.wish) {
		(void)code_client__listen(client);
		known = map__get(&client->modules, id);
	}
	if (known)
		return known;
	err = code_client__ask(client, CODE_MODULE, id, &answer);
	if (err)
		return err == -ENOENT ? NULL : count_unanswered(client, PSEUDO_LATE);
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

static struct code_module *known_kernel(const struct code_client *client, uint64_t address)
{
	for (size_t i = 0; i < client->kernel_count; i++)
		if (!client->kernel[i]->is_gone &&
		    address - client->kernel[i]->base < client->kernel[i]->size)
			return client->kernel[i];
	return NULL;
}

static struct code_module *keep_kernel(struct code_client *client, const struct code_answer *answer)
{
	cleanup(free_module_p) struct code_module *module = make_module(answer, "kernel");
	struct code_module **kept;

	if (!module)
		return NULL;
	kept = APPEND(&client->kernel, &client->kernel_count);
	if (!kept)
		return NULL;
	*kept = module;
	return TAKE(module);
}

/* Whether the answer is about the module that is known. */
static bool is_same(const struct code_module *module, const struct code_answer *answer)
{
	return module->base == answer->base && module->size == answer->size &&
	       !strcmp(module->path, answer->path) && !strcmp(module->build_id, answer->build_id);
}

static struct code_module *find_kernel(struct code_client *client, uint64_t address)
{
	struct code_module *known = known_kernel(client, address);
	struct code_answer answer;
	int err;

	if (known && clock__now_ns() - known->checked_ns < KERNEL_CHECK_NS)
		return known;
	if (!known && is_unknown(client, address))
		return NULL;
	err = code_client__ask(client, CODE_KERNEL, address, &answer);
	if (err && err != -ENOENT)
		return known ? known : count_unanswered(client, PSEUDO_LATE_KERNEL);
	if (known && !err && is_same(known, &answer)) {
		known->checked_ns = clock__now_ns();
		return known;
	}
	if (known) {
		known->is_gone = true;
		client->gone++;
	}
	if (err)
		note_unknown(client, address);
	return err ? NULL : keep_kernel(client, &answer);
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
	if (!code_client__tell(client, CODE_USED, module->id))
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
	if (code_client__tell(forget->client, CODE_LEAVE, id) && !forget->client->must_rest)
		return false;
	free_module(module);
	return true;
}

static void forget_kernel(struct code_client *client, uint64_t before_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < client->kernel_count; i++)
		if (client->kernel[i]->used_ns < before_ns)
			free_module(client->kernel[i]);
		else
			client->kernel[kept++] = client->kernel[i];
	client->kernel_count = kept;
}

void code_client__forget(struct code_client *client, uint64_t before_ns)
{
	struct forget forget = { client, before_ns };

	map__sweep(&client->modules, is_unused, &forget);
	forget_kernel(client, before_ns);
}

void code_client__rest(struct code_client *client)
{
	client->must_rest = true;
	code_client__forget(client, UINT64_MAX);
	client->must_rest = code_client__tell(client, CODE_REST, 0) != 0;
}

uint64_t code_client__gone(const struct code_client *client)
{
	return client->gone;
}

uint64_t code_client__anonymous(const struct code_client *client)
{
	return client->anonymous_count;
}

uint64_t code_client__unanswered(const struct code_client *client)
{
	return client->unanswered;
}
