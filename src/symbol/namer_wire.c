/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/namer_wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct question_head {
	uint64_t key;
	uint32_t kind, count;
	int32_t pid;
	uint32_t depth;
	uint32_t by_id, padding;
};

/* A string is preceded by its size, including the final 0; size 0 is NULL. */
static void put_text(FILE *out, const char *text)
{
	uint32_t size = text ? (uint32_t)strlen(text) + 1 : 0;

	fwrite(&size, sizeof(size), 1, out);
	if (size)
		fwrite(text, size, 1, out);
}

static int get(const char **at, const char *end, void *to, size_t size)
{
	if ((size_t)(end - *at) < size)
		return -EBADMSG;
	memcpy(to, *at, size);
	*at += size;
	return 0;
}

static int get_text(const char **at, const char *end, const char **ret)
{
	uint32_t size;

	if (get(at, end, &size, sizeof(size)) || (size_t)(end - *at) < size ||
	    (size && (*at)[size - 1]))
		return -EBADMSG;
	*ret = size ? *at : NULL;
	*at += size;
	return 0;
}

int namer_wire__pack(const struct namer_question *question, char **ret, size_t *ret_size)
{
	const struct symbol_module *module = &question->module;
	struct question_head head = { .key = module->key,
				      .kind = question->kind,
				      .count = (uint32_t)question->count,
				      .pid = question->pid,
				      .depth = module->depth,
				      .by_id = module->by_id };
	cleanup(free_p) char *bytes = NULL;
	FILE *out = open_memstream(&bytes, ret_size);

	if (!out)
		return -ENOMEM;
	fwrite(&head, sizeof(head), 1, out);
	/* The addresses come first, so that they are aligned. */
	fwrite(question->addresses, sizeof(*question->addresses), question->count, out);
	put_text(out, module->path);
	put_text(out, module->root);
	put_text(out, module->build_id);
	put_text(out, module->base);
	if (fclose(out))
		return -ENOMEM;
	*ret = TAKE(bytes);
	return 0;
}

int namer_wire__unpack(const char *bytes, size_t size, struct namer_question *ret)
{
	const char *at = bytes, *end = bytes + size;
	struct question_head head;

	if (get(&at, end, &head, sizeof(head)) || head.kind > NAMER_VDSO ||
	    head.depth > SYMBOL_OWN_TABLES || head.count > NAMER_MOST_ADDRESSES ||
	    (size_t)(end - at) < head.count * sizeof(*ret->addresses))
		return -EBADMSG;
	*ret = (struct namer_question) {
		.kind = head.kind,
		.module = { .key = head.key,
			    .fd = -1,
			    .depth = head.depth,
			    .by_id = head.by_id != 0 },
		.pid = head.pid,
		.addresses = (const void *)at,
		.count = head.count,
	};
	at += head.count * sizeof(*ret->addresses);
	if (get_text(&at, end, &ret->module.path) || get_text(&at, end, &ret->module.root) ||
	    get_text(&at, end, &ret->module.build_id) || get_text(&at, end, &ret->module.base))
		return -EBADMSG;
	return 0;
}

struct chain_head {
	uint64_t offset;
	uint32_t count, padding;
};

struct frame_head {
	uint32_t line, column, start_line, source;
	uint32_t is_same, padding; /* is_same: both names are equal */
};

void namer_wire__put_chain(void *stream, const struct symbol_chain *chain, uint64_t offset)
{
	struct chain_head head = { .offset = offset, .count = (uint32_t)chain->count };

	fwrite(&head, sizeof(head), 1, stream);
	for (int i = 0; i < chain->count; i++) {
		const struct symbol *symbol = &chain->frames[i];
		struct frame_head frame = { .line = symbol->line,
					    .column = symbol->column,
					    .start_line = symbol->start_line,
					    .source = symbol->source,
					    .is_same = symbol->name == symbol->system_name };

		fwrite(&frame, sizeof(frame), 1, stream);
		put_text(stream, symbol->name);
		if (!frame.is_same)
			put_text(stream, symbol->system_name);
		put_text(stream, symbol->file);
	}
}

static int get_frame(const char **at, const char *end, struct symbol *ret)
{
	struct frame_head head;

	*ret = (struct symbol) {};
	if (get(at, end, &head, sizeof(head)) || head.source >= NAME_SOURCE_COUNT ||
	    get_text(at, end, &ret->name))
		return -EBADMSG;
	ret->system_name = ret->name;
	if ((!head.is_same && get_text(at, end, &ret->system_name)) ||
	    get_text(at, end, &ret->file) || !ret->name || !ret->system_name)
		return -EBADMSG;
	ret->line = head.line;
	ret->column = head.column;
	ret->start_line = head.start_line;
	ret->source = head.source;
	return 0;
}

int namer_wire__get_chain(const char **at, const char *end, struct symbol_chain *ret,
			  uint64_t *ret_offset)
{
	struct chain_head head;

	if (get(at, end, &head, sizeof(head)) || head.count > SYMBOL_MOST_INLINED)
		return -EBADMSG;
	ret->count = 0;
	for (uint32_t i = 0; i < head.count; i++)
		if (get_frame(at, end, &ret->frames[i]))
			return -EBADMSG;
	ret->count = (int)head.count;
	*ret_offset = head.offset;
	return 0;
}
