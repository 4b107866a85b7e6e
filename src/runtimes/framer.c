/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/framer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "guard/guard.h"
#include "runtimes/framer_internal.h"

#define STALL_NS     UINT64_C(3000000000)
#define CPU_NS       UINT64_C(5000000000)
#define MEMORY_BYTES (UINT64_C(256) << 20)
#define MOST_ANSWER  (64UL << 20)

static int confine(void *context)
{
	return guard__drop(GUARD_PARSER, NULL);
}

static int ask(struct framer *framer, const struct question *question, const void *more,
	       size_t more_size, int fd, struct helper_parcel *ret)
{
	const struct helper_patience patience = { .stall_ns = STALL_NS,
						  .cpu_ns = CPU_NS,
						  .most_bytes = MOST_ANSWER };
	cleanup(free_p) char *bytes = malloc(sizeof(*question) + more_size);
	struct helper_parcel parcel = { bytes, sizeof(*question) + more_size, fd };

	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, question, sizeof(*question));
	if (more_size)
		memcpy(bytes + sizeof(*question), more, more_size);
	return helper__ask(framer->helper, &parcel, &patience, ret);
}

/* The same for a question whose answer is only whether it worked. */
static int tell(struct framer *framer, const struct question *question, int fd)
{
	struct helper_parcel answer;
	int err = ask(framer, question, NULL, 0, fd, &answer);

	if (!err)
		helper__release(&answer);
	return err;
}

bool framer__has_forgotten(const struct framer *framer)
{
	return helper__is_fresh(framer->helper);
}

void framer__restart(struct framer *framer)
{
	helper__restart(framer->helper);
}

int framer__file(struct framer *framer, uint32_t key, int fd, const char *path,
		 enum runtime_kind *ret)
{
	const struct question question = { .kind = ASK_FILE, .file = key };
	struct helper_parcel answer;
	int err = ask(framer, &question, path, strlen(path) + 1, fd, &answer);

	if (err)
		return err;
	if (answer.size == sizeof(*ret))
		memcpy(ret, answer.bytes, sizeof(*ret));
	else
		err = -EBADMSG;
	helper__release(&answer);
	return err ? err : *ret < RUNTIME_KINDS ? 0 : -EBADMSG;
}

int framer__process(struct framer *framer, uint32_t pid, int memory_fd, int maps_fd)
{
	int err = tell(framer, &(struct question) { .kind = ASK_MEMORY, .pid = pid }, memory_fd);

	if (!err && maps_fd >= 0)
		err = tell(framer, &(struct question) { .kind = ASK_MAPS, .pid = pid }, maps_fd);
	return err;
}

void framer__forget(struct framer *framer, uint32_t pid)
{
	if (!framer__has_forgotten(framer))
		(void)tell(framer, &(struct question) { .kind = ASK_FORGET, .pid = pid }, -1);
}

static int ask_about_runtime(struct framer *framer, const struct question *question,
			     struct framer_opened *ret)
{
	struct helper_parcel answer;
	int err = ask(framer, question, NULL, 0, -1, &answer);

	if (err)
		return err;
	if (answer.size == sizeof(*ret)) {
		memcpy(ret, answer.bytes, sizeof(*ret));
		ret->version[sizeof(ret->version) - 1] = '\0';
	} else {
		err = -EBADMSG;
	}
	helper__release(&answer);
	return err;
}

int framer__open(struct framer *framer, uint32_t pid, uint32_t file, uint64_t bias,
		 struct framer_opened *ret)
{
	return ask_about_runtime(
		framer,
		&(struct question) { .kind = ASK_OPEN, .pid = pid, .file = file, .bias = bias },
		ret);
}

int framer__refine(struct framer *framer, uint32_t pid, struct framer_opened *ret)
{
	return ask_about_runtime(framer, &(struct question) { .kind = ASK_REFINE, .pid = pid },
				 ret);
}

/* Reads one function; the texts stay where they are. */
static int get_function(const char **at, const char *end, struct symbol *ret)
{
	struct function_head head;
	const char *text = *at + sizeof(head);

	if ((size_t)(end - *at) < sizeof(head))
		return -EBADMSG;
	memcpy(&head, *at, sizeof(head));
	if (!head.function_bytes || !head.file_bytes ||
	    head.function_bytes > (size_t)(end - text) ||
	    head.file_bytes > (size_t)(end - text) - head.function_bytes ||
	    text[head.function_bytes - 1] || text[head.function_bytes + head.file_bytes - 1])
		return -EBADMSG;
	*ret = (struct symbol) {
		.name = text,
		.source = NAME_RUNTIME,
		.system_name = text,
		.file = head.file_bytes > 1 ? text + head.function_bytes : NULL,
		.line = head.line > 0 ? (uint32_t)head.line : 0,
		.start_line = head.first_line > 0 ? (uint32_t)head.first_line : 0,
	};
	*at = text + head.function_bytes + head.file_bytes;
	return 0;
}

static int take_names(const struct helper_parcel *answer, size_t count, runtimes_take_fn take,
		      void *context, uint64_t *ret_late)
{
	const char *at = answer->bytes, *end = at + answer->size;
	struct symbol_chain chain;
	int err = 0;

	while (at < end && !err) {
		struct name_head head;

		if ((size_t)(end - at) < sizeof(head))
			return -EBADMSG;
		memcpy(&head, at, sizeof(head));
		at += sizeof(head);
		if (head.index >= count || head.count > RUNTIME_MOST_INLINE)
			return -EBADMSG;
		*ret_late += head.count <= 0;
		chain.count = 0;
		while (chain.count < head.count && !err)
			err = get_function(&at, end, &chain.frames[chain.count++]);
		if (!err && head.count > 0)
			err = take(context, head.index, &chain);
	}
	return err;
}

int framer__name(struct framer *framer, uint32_t pid, const struct runtime_frame *frames,
		 size_t count, runtimes_take_fn take, void *context, uint64_t *ret_late)
{
	const struct question question = { .kind = ASK_NAMES,
					   .pid = pid,
					   .count = (uint32_t)count };
	struct helper_parcel answer;
	int err = ask(framer, &question, frames, count * sizeof(*frames), -1, &answer);

	if (err)
		return err;
	err = take_names(&answer, count, take, context, ret_late);
	helper__release(&answer);
	return err;
}

/* The answer is untrusted. */
static bool are_fibers(struct runtime_fibers *fibers)
{
	for (size_t i = 0; i < FIBER_REASONS; i++)
		fibers->reasons[i][FIBER_REASON_BYTES - 1] = '\0';
	for (uint32_t i = 0; i < fibers->count; i++)
		if (fibers->list[i].state >= FIBER_STATES ||
		    fibers->list[i].reason >= FIBER_REASONS || !fibers->list[i].id)
			return false;
	return true;
}

/*
 * Asks for a struct that is followed by its list. *ret_list: a copy of the list, free() it; the
 * rest of the answer is still to be released.
 */
static int ask_for_list(struct framer *framer, enum question_kind kind, uint32_t pid,
			size_t head_size, size_t item_size, struct helper_parcel *ret,
			void **ret_list, size_t *ret_count)
{
	const struct question question = { .kind = kind, .pid = pid };
	int err = ask(framer, &question, NULL, 0, -1, ret);
	size_t size;

	if (err)
		return err;
	if (ret->size < head_size || (ret->size - head_size) % item_size) {
		helper__release(ret);
		return -EBADMSG;
	}
	size = ret->size - head_size;
	*ret_list = malloc(size + 1);
	if (!*ret_list) {
		helper__release(ret);
		return -ENOMEM;
	}
	memcpy(*ret_list, (const char *)ret->bytes + head_size, size);
	*ret_count = size / item_size;
	return 0;
}

int framer__fibers(struct framer *framer, uint32_t pid, struct runtime_fibers *ret)
{
	struct runtime_fibers fibers;
	struct helper_parcel answer;
	void *list = NULL;
	size_t count;
	int err = ask_for_list(framer, ASK_FIBERS, pid, sizeof(fibers), sizeof(*fibers.list),
			       &answer, &list, &count);

	if (err)
		return err;
	memcpy(&fibers, answer.bytes, sizeof(fibers));
	helper__release(&answer);
	fibers.list = list;
	if (fibers.count != count || !are_fibers(&fibers)) {
		free(list);
		return -EBADMSG;
	}
	*ret = fibers;
	return 0;
}

int framer__allocated(struct framer *framer, uint32_t pid, struct runtime_allocated *ret)
{
	struct runtime_allocated allocated;
	struct helper_parcel answer;
	void *list = NULL;
	size_t count;
	int err = ask_for_list(framer, ASK_ALLOCATED, pid, sizeof(allocated),
			       sizeof(*allocated.list), &answer, &list, &count);

	if (err)
		return err;
	memcpy(&allocated, answer.bytes, sizeof(allocated));
	helper__release(&answer);
	if (allocated.count != count) {
		free(list);
		return -EBADMSG;
	}
	allocated.list = list;
	*ret = allocated;
	return 0;
}

int framer__new(struct framer **ret)
{
	struct framer *framer = calloc(1, sizeof(*framer));
	const struct helper_work work = { .name = "gapless-frames",
					  .memory_bytes = MEMORY_BYTES,
					  .serve = framer__serve,
					  .context = framer,
					  .confine = confine };
	int err;

	if (!framer)
		return -ENOMEM;
	err = helper__new(&work, &framer->helper);
	if (err) {
		free(framer);
		return err;
	}
	*ret = framer;
	return 0;
}

void framer__free(struct framer *framer)
{
	if (!framer)
		return;
	helper__free(framer->helper);
	free(framer);
}
