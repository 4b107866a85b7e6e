/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/code_server.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/collector.h"
#include "agent/ending.h"
#include "agent/kernel_code.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/log.h"
#include "bpf/stack.h"
#include "stacks/mapper.h"

/* How long the next worker, or the end, waits for the mapper. */
#define END_NS UINT64_C(5000000000)
/* Answers at once, before the supervisor looks at other things. */
#define MOST_AT_ONCE 256

struct code_server {
	struct ledger *ledger;
	struct kernel_code *kernel;
	struct mapper *mapper; /* NULL: none */
	struct ending *ending; /* of the last mapper; NULL: it has ended */
	int fd;                /* -1: no worker */
	bool is_on;            /* samples are taken */
	uint64_t changed_ns;   /* when that changed */
};

DEFINE_CLEANUP(struct code_server *, code_server__free)

int code_server__new(struct ledger *ledger, struct code_server **ret)
{
	cleanup(code_server__free_p) struct code_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return -ENOMEM;
	server->fd = -1;
	server->ledger = ledger;
	err = kernel_code__new(&server->kernel);
	if (!err)
		*ret = TAKE(server);
	return err;
}

void code_server__free(struct code_server *server)
{
	if (!server)
		return;
	(void)code_server__end(server);
	kernel_code__free(server->kernel);
	free(server);
}

int code_server__connect(struct code_server *server, int *ret_fd)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	server->fd = pair[0];
	*ret_fd = pair[1];
	return 0;
}

void code_server__disconnect(struct code_server *server)
{
	if (server->fd >= 0)
		close(server->fd);
	server->fd = -1;
}

static void end_mapper(void *mapper)
{
	mapper__free(mapper);
}

/* Whether the last mapper has ended; only then are its tables nobody's. */
static bool has_ended(struct code_server *server, uint64_t most_ns)
{
	if (!server->ending)
		return true;
	if (!ending__is_over(server->ending, most_ns))
		return false;
	free(server->ending);
	server->ending = NULL;
	ledger__forget_stacks(server->ledger);
	malloc_trim(0);
	return true;
}

/*
 * Without samples, nobody needs tables, and following all processes costs. The mapper ends in a
 * thread of its own, because it may be reading /proc of a process that does not let it.
 */
static void rest(struct code_server *server)
{
	if (!server->mapper || server->ending)
		return;
	server->ending = calloc(1, sizeof(*server->ending));
	if (!server->ending)
		return;
	ending__begin(server->ending, end_mapper, server->mapper);
	server->mapper = NULL;
}

static int start_mapper(struct code_server *server)
{
	struct ledger_tables tables = ledger__tables(server->ledger);
	const struct mapper_options options = { .processes_fd = tables.processes_fd,
						.pages_fd = tables.pages_fd,
						.asked_fd = tables.asked_fd,
						.requests_fd = tables.requests_fd,
						.budget_bytes = COLLECTOR_TABLE_BYTES };

	if (server->mapper)
		return 0;
	/* Until it has ended, the last one may write into the same tables. */
	return has_ended(server, 0) ? mapper__new(&options, &server->mapper) : -EBUSY;
}

static int sample(struct code_server *server, bool on)
{
	int err = on ? start_mapper(server) : 0;

	if (!err)
		err = ledger__sample(server->ledger, on);
	/* Not half of it. */
	if (err && on && !server->is_on)
		(void)ledger__sample(server->ledger, false);
	if (!err && server->is_on != on) {
		server->is_on = on;
		server->changed_ns = clock__now_ns();
	}
	return err;
}

int code_server__end(struct code_server *server)
{
	code_server__disconnect(server);
	if (server->is_on)
		(void)sample(server, false);
	rest(server);
	return has_ended(server, END_NS) ? 0 : -EBUSY;
}

int code_server__fd(const struct code_server *server)
{
	return server->fd;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* A long path without its begin: the name of the file counts. */
static void copy_path(const char *path, char ret[static CODE_PATH_BYTES])
{
	size_t length = strlen(path);

	if (length >= CODE_PATH_BYTES)
		path += length - (CODE_PATH_BYTES - 1);
	snprintf(ret, CODE_PATH_BYTES, "%s", path);
}

static int answer_module(struct code_server *server, uint64_t number, struct code_answer *ret)
{
	struct mapper_module module;
	int err;

	if (!number || number > FRAME_MOST_MODULES)
		return -EINVAL;
	err = mapper__hold(server->mapper, (uint32_t)number, &module);
	if (err)
		return err;
	ret->size = module.size;
	ret->is_vdso = module.is_vdso;
	snprintf(ret->build_id, sizeof(ret->build_id), "%s", module.build_id ?: "");
	copy_path(module.path, ret->path);
	return 0;
}

static int answer_kernel(struct code_server *server, uint64_t address, struct code_answer *ret)
{
	const struct kernel_code_part *part = kernel_code__find(server->kernel, address);

	if (!part)
		return -ENOENT;
	ret->base = part->begin;
	ret->size = part->end - part->begin;
	memcpy(ret->build_id, part->build_id, sizeof(ret->build_id));
	copy_path(part->name, ret->path);
	return 0;
}

static int answer_sample(struct code_server *server, uint64_t number, struct code_answer *ret)
{
	int err = number > 1 ? -EINVAL : sample(server, number);

	ret->size = server->is_on;
	ret->base = server->changed_ns;
	return err;
}

static int answer(struct code_server *server, const struct code_question *question,
		  struct code_answer *ret)
{
	switch (question->wish) {
	case CODE_KERNEL:
		return answer_kernel(server, question->number, ret);
	case CODE_COST:
		ret->size = clock__read_ns(CLOCK_PROCESS_CPUTIME_ID) + helper__all_cpu_ns();
		ret->base = server->mapper ? mapper__quality(server->mapper).table_bytes : 0;
		return 0;
	case CODE_MODULE:
		return server->mapper ? answer_module(server, question->number, ret) : -ENOENT;
	case CODE_SAMPLE:
		return answer_sample(server, question->number, ret);
	default:
		return -EINVAL;
	}
}

/* Whether the question gets no answer. */
static bool is_note(struct code_server *server, const struct code_question *question)
{
	if (question->wish == CODE_REST && !server->is_on)
		rest(server);
	if (question->wish != CODE_USED && question->wish != CODE_LEAVE)
		return question->wish == CODE_REST;
	if (!server->mapper || !question->number || question->number > FRAME_MOST_MODULES)
		return true;
	if (question->wish == CODE_USED)
		mapper__used(server->mapper, (uint32_t)question->number);
	else
		mapper__leave(server->mapper, (uint32_t)question->number);
	return true;
}

int code_server__serve(struct code_server *server)
{
	struct code_question question;
	ssize_t size = 0;

	(void)has_ended(server, 0);
	for (int i = 0; i < MOST_AT_ONCE; i++) {
		struct code_answer reply = {};

		size = recv(server->fd, &question, sizeof(question), MSG_DONTWAIT | MSG_TRUNC);
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (size <= 0)
			break;
		if (size != sizeof(question) || is_note(server, &question))
			continue;
		reply.err = answer(server, &question, &reply);
		reply.sequence = question.sequence;
		reply.wish = (uint8_t)question.wish;
		/* A worker that does not read its answers gets none. */
		(void)send(server->fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (size > 0)
		return 0;
	code_server__disconnect(server);
	return -EPIPE;
}
