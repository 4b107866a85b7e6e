/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "base/map.h"
#include "guard/guard.h"

#define STALL_NS     UINT64_C(3000000000)
#define CPU_NS       UINT64_C(5000000000)
#define MEMORY_BYTES (UINT64_C(256) << 20)
#define MOST_ANSWER  (64UL << 20)

enum question_kind {
	ASK_FILE,
	ASK_MEMORY,
	ASK_MAPS,
	ASK_FORGET,
	ASK_OPEN,
	ASK_REFINE,
	ASK_NAMES,
	ASK_FIBERS,
	ASK_ALLOCATED,
};

/* A path or frames follow. */
struct question {
	uint32_t kind, pid;
	uint32_t file, count;
	uint64_t bias;
};

/* Of one frame; `count` functions follow. */
struct name_head {
	uint32_t index;
	int32_t count;
};

/* The texts follow, each with a NUL. */
struct function_head {
	int32_t line, first_line;
	uint32_t function_bytes, file_bytes;
};

struct reader {
	struct helper *helper;
	/* Used only in the helper: */
	struct map files;    /* by key: struct runtime_file */
	struct map subjects; /* by pid: struct subject */
};

/* --- in the helper process: files ---------------------------------------------------------------
 */

static void close_file(struct runtime_file *file)
{
	image__close(file->image);
	free((char *)file->path);
	free(file);
}
DEFINE_CLEANUP(struct runtime_file *, close_file)

static enum runtime_kind kind_of(const struct runtime_file *file)
{
	for (int kind = RUNTIME_NONE + 1; kind < RUNTIME_KINDS; kind++) {
		const struct language *language = languages__of(kind);

		if (language && language->is_in(file))
			return kind;
	}
	return RUNTIME_NONE;
}

static int put_answer(struct helper_parcel *answer, const void *bytes, size_t size)
{
	answer->bytes = malloc(size);
	if (!answer->bytes)
		return -ENOMEM;
	memcpy(answer->bytes, bytes, size);
	answer->size = size;
	return 0;
}

static int serve_file(struct reader *reader, const struct question *question, const char *path,
		      int fd, struct helper_parcel *answer)
{
	cleanup(close_file_p) struct runtime_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file || !(file->path = strdup(path))) {
		close_p(&fd);
		return -ENOMEM;
	}
	err = image__open(fd, &file->image);
	if (err)
		return err;
	file->kind = kind_of(file);
	err = put_answer(answer, &file->kind, sizeof(file->kind));
	if (err || file->kind == RUNTIME_NONE)
		return err;
	if (map__put(&reader->files, question->file + UINT64_C(1), file))
		return -ENOMEM;
	file = NULL;
	return 0;
}

/* --- in the helper process: processes -----------------------------------------------------------
 */

static void close_language(struct subject *subject)
{
	const struct language *language = languages__of(subject->runtime.kind);

	if (language && language->close)
		language->close(subject);
	subject->own = NULL;
	subject->runtime = (struct runtime) {};
	subject->version[0] = '\0';
}

static void free_subject(struct subject *subject)
{
	close_language(subject);
	remote__free(subject->memory);
	close_p(&subject->maps_fd);
	free(subject);
}

static void forget(struct reader *reader, uint32_t pid)
{
	struct subject *subject = map__take(&reader->subjects, pid);

	if (subject)
		free_subject(subject);
}

static int serve_memory(struct reader *reader, uint32_t pid, int fd)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	int err;

	forget(reader, pid);
	if (!subject) {
		close_p(&fd);
		return -ENOMEM;
	}
	subject->pid = pid;
	subject->maps_fd = -1;
	err = remote__new(fd, &subject->memory);
	if (!err)
		err = map__put(&reader->subjects, pid, subject);
	if (err)
		free_subject(subject);
	return err;
}

static int serve_open(struct reader *reader, const struct question *question,
		      struct helper_parcel *answer)
{
	struct subject *subject = map__get(&reader->subjects, question->pid);
	const struct runtime_file *file = map__get(&reader->files, question->file + UINT64_C(1));
	struct reader_opened opened = {};

	if (!subject || !file)
		return -ENOENT;
	close_language(subject);
	subject->file = *file;
	subject->file.bias = question->bias;
	subject->runtime.kind = (uint8_t)file->kind;
	opened.err = languages__of(file->kind)->open(subject);
	opened.runtime = subject->runtime;
	memcpy(opened.version, subject->version, sizeof(opened.version));
	if (opened.err)
		close_language(subject);
	return put_answer(answer, &opened, sizeof(opened));
}

/* The language of a process whose runtime is open; NULL: it is not. */
static const struct language *language_of(const struct subject *subject)
{
	return subject && subject->own ? languages__of(subject->runtime.kind) : NULL;
}

static int serve_refine(struct reader *reader, uint32_t pid, struct helper_parcel *answer)
{
	struct subject *subject = map__get(&reader->subjects, pid);
	const struct language *language = language_of(subject);
	struct reader_opened opened = {};

	if (!language || !language->refine)
		return -ENOENT;
	opened.err = language->refine(subject);
	opened.runtime = subject->runtime;
	memcpy(opened.version, subject->version, sizeof(opened.version));
	return put_answer(answer, &opened, sizeof(opened));
}

static void write_name(FILE *out, uint32_t index, int err, const struct runtime_names *names)
{
	struct name_head head = { index, err ? err : names->count };

	fwrite(&head, sizeof(head), 1, out);
	for (int i = 0; i < head.count; i++) {
		const struct runtime_name *name = &names->frames[i];
		struct function_head function = { name->line, name->first_line,
						  (uint32_t)strlen(name->function) + 1,
						  (uint32_t)strlen(name->file) + 1 };

		fwrite(&function, sizeof(function), 1, out);
		fwrite(name->function, 1, function.function_bytes, out);
		fwrite(name->file, 1, function.file_bytes, out);
	}
}

static int serve_names(struct reader *reader, const struct question *question, const char *bytes,
		       size_t size, struct helper_parcel *answer)
{
	cleanup(free_p) struct runtime_names *names = calloc(1, sizeof(*names));
	struct subject *subject = map__get(&reader->subjects, question->pid);
	const struct language *language;
	char *text = NULL;
	FILE *out;

	if (!names)
		return -ENOMEM;
	language = subject ? languages__of(subject->runtime.kind) : NULL;
	if (!language || size != question->count * sizeof(struct runtime_frame))
		return -ENOENT;
	out = open_memstream(&text, &answer->size);
	if (!out)
		return -ENOMEM;
	for (uint32_t i = 0; i < question->count; i++) {
		struct runtime_frame frame;
		int err;

		memcpy(&frame, bytes + i * sizeof(frame), sizeof(frame));
		names->count = 0;
		err = language->name(subject, &frame, names);
		write_name(out, i, err, names);
	}
	if (fclose(out)) {
		free(text);
		answer->size = 0;
		return -ENOMEM;
	}
	answer->bytes = text;
	return 0;
}

/* A struct, then its list. */
static int put_list(struct helper_parcel *answer, const void *head, size_t head_size,
		    const void *list, size_t size)
{
	answer->bytes = malloc(head_size + size);
	if (!answer->bytes)
		return -ENOMEM;
	memcpy(answer->bytes, head, head_size);
	if (size)
		memcpy((char *)answer->bytes + head_size, list, size);
	answer->size = head_size + size;
	return 0;
}

static int serve_fibers(struct reader *reader, uint32_t pid, struct helper_parcel *answer)
{
	cleanup(free_p) struct runtime_fibers *fibers = calloc(1, sizeof(*fibers));
	struct subject *subject = map__get(&reader->subjects, pid);
	const struct language *language = language_of(subject);
	int err;

	if (!fibers)
		return -ENOMEM;
	if (!language || !language->read_fibers)
		return -ENOENT;
	err = language->read_fibers(subject, fibers);
	if (!err)
		err = put_list(answer, fibers, sizeof(*fibers), fibers->list,
			       fibers->count * sizeof(*fibers->list));
	free(fibers->list);
	return err;
}

static int serve_allocated(struct reader *reader, uint32_t pid, struct helper_parcel *answer)
{
	struct subject *subject = map__get(&reader->subjects, pid);
	const struct language *language = language_of(subject);
	struct runtime_allocated allocated = {};
	int err;

	if (!language || !language->read_allocated)
		return -ENOENT;
	err = language->read_allocated(subject, &allocated);
	/* A version that does not tell has no list. */
	if (!err || err == -ENOTSUP)
		err = put_list(answer, &allocated, sizeof(allocated), allocated.list,
			       allocated.count * sizeof(*allocated.list));
	free(allocated.list);
	return err;
}

static int serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	const char *rest = (const char *)parcel->bytes + sizeof(struct question);
	struct reader *reader = context;
	struct question question;
	struct subject *subject;
	size_t size = parcel->size - sizeof(question);

	if (parcel->size < sizeof(question))
		return -EBADMSG;
	memcpy(&question, parcel->bytes, sizeof(question));
	switch (question.kind) {
	case ASK_FILE:
		if (!size || rest[size - 1])
			return -EBADMSG;
		return serve_file(reader, &question, rest, parcel->fd, answer);
	case ASK_MEMORY:
		return serve_memory(reader, question.pid, parcel->fd);
	case ASK_MAPS:
		subject = map__get(&reader->subjects, question.pid);
		if (subject && subject->maps_fd < 0)
			subject->maps_fd = parcel->fd;
		else
			close_p(&parcel->fd);
		return 0;
	case ASK_FORGET:
		forget(reader, question.pid);
		return 0;
	case ASK_OPEN:
		return serve_open(reader, &question, answer);
	case ASK_REFINE:
		return serve_refine(reader, question.pid, answer);
	case ASK_NAMES:
		return serve_names(reader, &question, rest, size, answer);
	case ASK_FIBERS:
		return serve_fibers(reader, question.pid, answer);
	case ASK_ALLOCATED:
		return serve_allocated(reader, question.pid, answer);
	default:
		close_p(&parcel->fd);
		return -EBADMSG;
	}
}

static int confine(void *context)
{
	return guard__drop(GUARD_PARSER, NULL);
}

/* --- in the process that asks -------------------------------------------------------------------
 */

static int ask(struct reader *reader, const struct question *question, const void *more,
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
	return helper__ask(reader->helper, &parcel, &patience, ret);
}

/* The same for a question whose answer is only whether it worked. */
static int tell(struct reader *reader, const struct question *question, int fd)
{
	struct helper_parcel answer;
	int err = ask(reader, question, NULL, 0, fd, &answer);

	if (!err)
		helper__release(&answer);
	return err;
}

bool reader__has_forgotten(const struct reader *reader)
{
	return helper__is_fresh(reader->helper);
}

void reader__restart(struct reader *reader)
{
	helper__restart(reader->helper);
}

int reader__file(struct reader *reader, uint32_t key, int fd, const char *path,
		 enum runtime_kind *ret)
{
	const struct question question = { .kind = ASK_FILE, .file = key };
	struct helper_parcel answer;
	int err = ask(reader, &question, path, strlen(path) + 1, fd, &answer);

	if (err)
		return err;
	if (answer.size == sizeof(*ret))
		memcpy(ret, answer.bytes, sizeof(*ret));
	else
		err = -EBADMSG;
	helper__release(&answer);
	return err ? err : *ret < RUNTIME_KINDS ? 0 : -EBADMSG;
}

int reader__process(struct reader *reader, uint32_t pid, int memory_fd, int maps_fd)
{
	int err = tell(reader, &(struct question) { .kind = ASK_MEMORY, .pid = pid }, memory_fd);

	if (!err && maps_fd >= 0)
		err = tell(reader, &(struct question) { .kind = ASK_MAPS, .pid = pid }, maps_fd);
	return err;
}

void reader__forget(struct reader *reader, uint32_t pid)
{
	if (!reader__has_forgotten(reader))
		(void)tell(reader, &(struct question) { .kind = ASK_FORGET, .pid = pid }, -1);
}

static int ask_about_runtime(struct reader *reader, const struct question *question,
			     struct reader_opened *ret)
{
	struct helper_parcel answer;
	int err = ask(reader, question, NULL, 0, -1, &answer);

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

int reader__open(struct reader *reader, uint32_t pid, uint32_t file, uint64_t bias,
		 struct reader_opened *ret)
{
	return ask_about_runtime(
		reader,
		&(struct question) { .kind = ASK_OPEN, .pid = pid, .file = file, .bias = bias },
		ret);
}

int reader__refine(struct reader *reader, uint32_t pid, struct reader_opened *ret)
{
	return ask_about_runtime(reader, &(struct question) { .kind = ASK_REFINE, .pid = pid },
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

int reader__name(struct reader *reader, uint32_t pid, const struct runtime_frame *frames,
		 size_t count, runtimes_take_fn take, void *context, uint64_t *ret_late)
{
	const struct question question = { .kind = ASK_NAMES,
					   .pid = pid,
					   .count = (uint32_t)count };
	struct helper_parcel answer;
	int err = ask(reader, &question, frames, count * sizeof(*frames), -1, &answer);

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
static int ask_for_list(struct reader *reader, enum question_kind kind, uint32_t pid,
			size_t head_size, size_t item_size, struct helper_parcel *ret,
			void **ret_list, size_t *ret_count)
{
	const struct question question = { .kind = kind, .pid = pid };
	int err = ask(reader, &question, NULL, 0, -1, ret);
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

int reader__fibers(struct reader *reader, uint32_t pid, struct runtime_fibers *ret)
{
	struct runtime_fibers fibers;
	struct helper_parcel answer;
	void *list = NULL;
	size_t count;
	int err = ask_for_list(reader, ASK_FIBERS, pid, sizeof(fibers), sizeof(*fibers.list),
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

int reader__allocated(struct reader *reader, uint32_t pid, struct runtime_allocated *ret)
{
	struct runtime_allocated allocated;
	struct helper_parcel answer;
	void *list = NULL;
	size_t count;
	int err = ask_for_list(reader, ASK_ALLOCATED, pid, sizeof(allocated),
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

int reader__new(struct reader **ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	const struct helper_work work = { .name = "gapless-frames",
					  .memory_bytes = MEMORY_BYTES,
					  .serve = serve,
					  .context = reader,
					  .confine = confine };
	int err;

	if (!reader)
		return -ENOMEM;
	err = helper__new(&work, &reader->helper);
	if (err) {
		free(reader);
		return err;
	}
	*ret = reader;
	return 0;
}

void reader__free(struct reader *reader)
{
	if (!reader)
		return;
	helper__free(reader->helper);
	free(reader);
}
