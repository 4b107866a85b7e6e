/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the helper process "gapless-frames" does with a question. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtimes/framer.h"
#include "runtimes/framer_internal.h"

/* --- files ------------------------------------------------------------------------------------ */

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
		const struct language *language = language__of(kind);

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

static int serve_file(struct framer *framer, const struct question *question, const char *path,
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
	if (map__put(&framer->files, question->file + UINT64_C(1), file))
		return -ENOMEM;
	file = NULL;
	return 0;
}

/* --- processes -------------------------------------------------------------------------------- */

static void close_language(struct subject *subject)
{
	const struct language *language = language__of(subject->runtime.kind);

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

static void forget(struct framer *framer, uint32_t pid)
{
	struct subject *subject = map__take(&framer->subjects, pid);

	if (subject)
		free_subject(subject);
}

static int serve_memory(struct framer *framer, uint32_t pid, int fd)
{
	struct subject *subject = calloc(1, sizeof(*subject));
	int err;

	forget(framer, pid);
	if (!subject) {
		close_p(&fd);
		return -ENOMEM;
	}
	subject->pid = pid;
	subject->maps_fd = -1;
	err = remote__new(fd, &subject->memory);
	if (!err)
		err = map__put(&framer->subjects, pid, subject);
	if (err)
		free_subject(subject);
	return err;
}

static int serve_open(struct framer *framer, const struct question *question,
		      struct helper_parcel *answer)
{
	struct subject *subject = map__get(&framer->subjects, question->pid);
	const struct runtime_file *file = map__get(&framer->files, question->file + UINT64_C(1));
	struct framer_opened opened = {};

	if (!subject || !file)
		return -ENOENT;
	close_language(subject);
	subject->file = *file;
	subject->file.bias = question->bias;
	subject->runtime.kind = (uint8_t)file->kind;
	opened.err = language__of(file->kind)->open(subject);
	opened.runtime = subject->runtime;
	memcpy(opened.version, subject->version, sizeof(opened.version));
	if (opened.err)
		close_language(subject);
	return put_answer(answer, &opened, sizeof(opened));
}

/* The language of a process whose runtime is open; NULL: it is not. */
static const struct language *language_of(const struct subject *subject)
{
	return subject && subject->own ? language__of(subject->runtime.kind) : NULL;
}

static int serve_refine(struct framer *framer, uint32_t pid, struct helper_parcel *answer)
{
	struct subject *subject = map__get(&framer->subjects, pid);
	const struct language *language = language_of(subject);
	struct framer_opened opened = {};

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

static int serve_names(struct framer *framer, const struct question *question, const char *bytes,
		       size_t size, struct helper_parcel *answer)
{
	cleanup(free_p) struct runtime_names *names = calloc(1, sizeof(*names));
	struct subject *subject = map__get(&framer->subjects, question->pid);
	const struct language *language;
	char *text = NULL;
	FILE *out;

	if (!names)
		return -ENOMEM;
	language = subject ? language__of(subject->runtime.kind) : NULL;
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

static int serve_fibers(struct framer *framer, uint32_t pid, struct helper_parcel *answer)
{
	cleanup(free_p) struct runtime_fibers *fibers = calloc(1, sizeof(*fibers));
	struct subject *subject = map__get(&framer->subjects, pid);
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

static int serve_allocated(struct framer *framer, uint32_t pid, struct helper_parcel *answer)
{
	struct subject *subject = map__get(&framer->subjects, pid);
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

int framer__serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	const char *rest = (const char *)parcel->bytes + sizeof(struct question);
	struct framer *framer = context;
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
		return serve_file(framer, &question, rest, parcel->fd, answer);
	case ASK_MEMORY:
		return serve_memory(framer, question.pid, parcel->fd);
	case ASK_MAPS:
		subject = map__get(&framer->subjects, question.pid);
		if (subject && subject->maps_fd < 0)
			subject->maps_fd = parcel->fd;
		else
			close_p(&parcel->fd);
		return 0;
	case ASK_FORGET:
		forget(framer, question.pid);
		return 0;
	case ASK_OPEN:
		return serve_open(framer, &question, answer);
	case ASK_REFINE:
		return serve_refine(framer, question.pid, answer);
	case ASK_NAMES:
		return serve_names(framer, &question, rest, size, answer);
	case ASK_FIBERS:
		return serve_fibers(framer, question.pid, answer);
	case ASK_ALLOCATED:
		return serve_allocated(framer, question.pid, answer);
	default:
		close_p(&parcel->fd);
		return -EBADMSG;
	}
}
