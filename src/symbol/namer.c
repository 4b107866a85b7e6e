/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/namer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/helper.h"
#include "base/map.h"
#include "symbol/broker.h"
#include "symbol/confine.h"
#include "symbol/download.h"
#include "symbol/image.h"
#include "symbol/namer_wire.h"

#define SECOND_NS UINT64_C(1000000000)
/* Reading a file from a disk takes less. Downloads have their own time limits. */
#define STALL_NS (2 * SECOND_NS)
/* For the tables of the file itself: after that, its device is not tried again. */
#define OWN_STALL_NS SECOND_NS
/* For one batch of addresses. The first address may require reading 2 GB of DWARF. */
#define CPU_NS (60 * SECOND_NS)
/*
 * The most memory that the helper may use besides what it inherits. With gapless itself it stays
 * below 80 MB. If it has more than ENOUGH_MEMORY after a question, it closes its files.
 */
#define MOST_MEMORY   (UINT64_C(48) << 20)
#define ENOUGH_MEMORY (16UL << 20)
#define ENOUGH_ANSWER (4UL << 20)
#define MOST_ANSWER   (256UL << 20)
/* If less is left, libdw may have skipped something silently. */
#define LEAST_LEFT           (8UL << 20)
#define MOST_STALLED_DEVICES 16
#define FEW_ADDRESSES        256 /* to look up together after more of them have failed */
#define MOST_LEFT            64  /* files that the helper has open and nobody needs */

struct namer {
	struct namer_options options;
	struct helper *helper; /* parses, without privileges */
	struct helper *opener; /* opens files for it */
	struct download *download;
	size_t most_addresses;     /* that are looked up together */
	struct map reduced_depths; /* by place: the reduced depth, or NOTHING */
	uint64_t stalled_devices[MOST_STALLED_DEVICES];
	size_t stalled_count;
	size_t left; /* files since the helper started that are no longer needed */
	struct namer_quality quality;
	/* Used only in the helper: */
	struct symbols *symbols;
	struct map fds; /* by the key of a module: descriptor + 1 */
};

/* A file of this depth is skipped: one below the least depth of symbol.h. */
#define NOTHING (SYMBOL_OWN_TABLES + 1)

/* --- in the helper process -------------------------------------------------------------------- */

/* The first descriptor of a file stays open; later ones are closed. */
static int keep_fd(struct namer *namer, uint64_t key, int fd)
{
	uintptr_t kept = (uintptr_t)map__get(&namer->fds, key);

	if (kept || fd < 0) {
		close_p(&fd);
		return kept ? (int)kept - 1 : -1;
	}
	if (map__put(&namer->fds, key, (void *)((uintptr_t)fd + 1))) {
		close(fd);
		return -1;
	}
	return fd;
}

static int look_up(struct symbols *symbols, const struct namer_question *question, uint64_t address,
		   struct symbol_chain *ret, uint64_t *ret_offset)
{
	const char *name;
	int err;

	*ret_offset = 0;
	ret->count = 0;
	switch (question->kind) {
	case NAMER_KERNEL:
		return symbols__in_kernel(symbols, address, ret);
	case NAMER_JIT:
		return symbols__in_jit(symbols, question->pid, address, ret);
	case NAMER_VDSO:
		return symbols__in_vdso(symbols, address, ret);
	case NAMER_MODULE:
		return symbols__in_module(symbols, &question->module, address, ret);
	case NAMER_VARIABLE:
		err = symbols__variable(symbols, &question->module, address, &name, ret_offset);
		if (!err) {
			ret->frames[0] = (struct symbol) { .name = name, .system_name = name };
			ret->count = 1;
		}
		return err == -ENOMEM ? err : 0;
	}
	return 0;
}

/*
 * Announces the addresses. *ret has them as they are in the file, if the question counts from a
 * symbol. -ENOENT: the file does not have it, so there are no names.
 */
static int want(struct namer *namer, const struct namer_question *question, uint64_t **ret)
{
	size_t bytes = question->count * sizeof(**ret);
	int err;

	if (question->kind != NAMER_MODULE || !question->module.base)
		return symbols__want(namer->symbols, question->addresses, question->count);
	*ret = malloc(bytes ? bytes : 1);
	if (!*ret)
		return -ENOMEM;
	memcpy(*ret, question->addresses, bytes);
	err = symbols__rebase(namer->symbols, &question->module, *ret, question->count);
	return err ?: symbols__want(namer->symbols, *ret, question->count);
}

/* *ret_head replaces the header at the start of the stream: it is known only at the end. */
static int write_answer(struct namer *namer, const struct namer_question *question, FILE *out,
			struct namer_answer *ret_head)
{
	struct symbols_quality before = symbols__quality(namer->symbols), after;
	struct namer_answer head = {};
	struct symbol_chain chain = {};
	cleanup(free_p) uint64_t *rebased = NULL;
	uint64_t offset = 0;
	int err = want(namer, question, &rebased);
	bool is_known = err != -ENOENT;
	const uint64_t *addresses = rebased ? rebased : question->addresses;

	if (err && is_known)
		return err;
	fwrite(&head, sizeof(head), 1, out);
	while (head.answered < question->count && ftell(out) < (long)ENOUGH_ANSWER) {
		err = is_known ? look_up(namer->symbols, question, addresses[head.answered], &chain,
					 &offset)
			       : 0;
		if (err)
			return err;
		namer_wire__put_chain(out, &chain, offset);
		head.answered++;
	}
	after = symbols__quality(namer->symbols);
	head.too_large = (uint32_t)(after.too_large - before.too_large);
	head.without_lines = (uint32_t)(after.without_lines - before.without_lines);
	*ret_head = head;
	return image__has_room(LEAST_LEFT) ? 0 : -ENOMEM;
}

/* A switch that only tests set: so that they find this process at work. */
static void pause_for_tests(void)
{
	const char *text = getenv("GAPLESS_TEST_NAMING_MS");
	long ms = text ? strtol(text, NULL, 10) : 0;

	if (ms > 0)
		(void)poll(NULL, 0, (int)ms);
}

static int serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	struct namer *namer = context;
	const struct symbols_options options = { .no_debuginfod = namer->options.no_debuginfod };
	struct namer_question question;
	struct namer_answer head;
	char *bytes = NULL;
	FILE *out;
	int err = namer_wire__unpack(parcel->bytes, parcel->size, &question);

	if (err) {
		close_p(&parcel->fd);
		return err;
	}
	pause_for_tests();
	question.module.fd = keep_fd(namer, question.module.key, parcel->fd);
	err = namer->symbols ? 0 : symbols__new(&options, &namer->symbols);
	if (err)
		return err;
	out = open_memstream(&bytes, &answer->size);
	if (!out)
		return -ENOMEM;
	err = write_answer(namer, &question, out, &head);
	symbols__shrink(namer->symbols, ENOUGH_MEMORY);
	if (fclose(out) && !err)
		err = -ENOMEM;
	answer->bytes = bytes;
	if (err)
		answer->size = 0;
	else
		memcpy(bytes, &head, sizeof(head));
	return err;
}

static int confine(void *context)
{
	return confine__enter();
}

/* --- the namer -------------------------------------------------------------------------------- */

static int provide(void *context, const struct helper_parcel *request)
{
	const struct namer *namer = context;

	return broker__is_download(request->bytes, request->size)
		       ? download__provide(namer->download, request)
		       : confine__provide(namer->opener, request);
}

int namer__new(const struct namer_options *options, struct namer **ret)
{
	struct namer *namer = calloc(1, sizeof(*namer));
	struct download_options downloads = {};
	struct helper_work work = { .name = "gapless-names",
				    .file_bytes = BROKER_MOST_SCRATCH,
				    .serve = serve,
				    .context = namer,
				    .confine = confine,
				    .provide = provide };
	int err;

	if (!namer)
		return -ENOMEM;
	if (options)
		namer->options = *options;
	namer->most_addresses = NAMER_MOST_ADDRESSES;
	work.memory_bytes = namer->options.memory_bytes;
	if (!work.memory_bytes)
		work.memory_bytes = MOST_MEMORY;
	downloads = (struct download_options) { .no_debuginfod = namer->options.no_debuginfod,
						.is_interrupted = namer->options.is_interrupted,
						.say = namer->options.say_download };
	err = download__new(&downloads, &namer->download);
	if (!err)
		err = helper__new(&work, &namer->helper);
	if (!err)
		err = confine__new(&namer->opener);
	if (err) {
		namer__free(namer);
		return err;
	}
	*ret = namer;
	return 0;
}

void namer__free(struct namer *namer)
{
	if (!namer)
		return;
	helper__free(namer->helper);
	helper__free(namer->opener);
	download__free(namer->download);
	map__release(&namer->reduced_depths);
	free(namer);
}

struct namer_quality namer__quality(const struct namer *namer)
{
	struct namer_quality quality = namer->quality;

	quality.downloads_ended = download__ended(namer->download);
	quality.unanswered += quality.stalled + download__unanswered(namer->download);
	return quality;
}

/* Does not query the file system, which may not respond. 0: unknown. */
static uint64_t device_of(const struct symbol_module *module)
{
	struct statx info;

	if (module->fd < 0 ||
	    statx(module->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &info))
		return 0;
	return makedev(info.stx_dev_major, info.stx_dev_minor);
}

static bool is_stalled(const struct namer *namer, uint64_t device)
{
	for (size_t i = 0; i < namer->stalled_count; i++)
		if (device && namer->stalled_devices[i] == device)
			return true;
	return false;
}

/* A unique key for the subject of a question. */
static uint64_t place_of(const struct namer_question *question)
{
	uint64_t kind = question->kind == NAMER_VARIABLE ? NAMER_MODULE : question->kind;
	uint64_t key = question->kind == NAMER_JIT ? (uint64_t)question->pid : question->module.key;

	return key << 3 | kind;
}

void namer__leave(struct namer *namer, enum namer_kind kind, uint64_t key)
{
	map__take(&namer->reduced_depths, key << 3 | kind);
	if (++namer->left < MOST_LEFT)
		return;
	namer->left = 0;
	helper__restart(namer->helper);
}

static bool is_file(const struct namer_question *question)
{
	return question->kind == NAMER_MODULE || question->kind == NAMER_VARIABLE;
}

static void set_depth(struct namer *namer, const struct namer_question *question, unsigned depth)
{
	/* If this fails, the next question tries the same depth again. */
	(void)map__put(&namer->reduced_depths, place_of(question), (void *)(uintptr_t)depth);
}

static void refuse(struct namer *namer, const struct namer_question *question, bool stalled)
{
	namer->quality.refused++;
	namer->quality.stalled += stalled;
	set_depth(namer, question, NOTHING);
}

/* The device to blame for a stall at this depth. 0: unknown. */
static uint64_t device_to_blame(const struct namer *namer, const struct namer_question *question,
				unsigned depth)
{
	/* At other depths, the stall can be due to a debug file. */
	if (!is_file(question) || depth != SYMBOL_OWN_TABLES ||
	    namer->stalled_count == MOST_STALLED_DEVICES)
		return 0;
	return device_of(&question->module);
}

/* The question failed: reduces the depth, for this and later questions. */
static unsigned reduce_depth(struct namer *namer, const struct namer_question *question,
			     unsigned from, int err)
{
	bool stalled = err == -ETIMEDOUT && helper__stalled(namer->helper);
	uint64_t device = device_to_blame(namer, question, from);
	unsigned to = is_file(question) ? from + 1 : NOTHING;

	/* The debug file may be the one that cannot be read. */
	if (stalled && is_file(question) && from < SYMBOL_OWN_TABLES)
		to = SYMBOL_OWN_TABLES;
	namer->quality.without_debug += from == SYMBOL_WHOLE && to != NOTHING;
	namer->quality.without_debug -= from != SYMBOL_WHOLE && to == NOTHING;
	if (to != NOTHING) {
		set_depth(namer, question, to);
		return to;
	}
	refuse(namer, question, stalled);
	if (stalled && device)
		namer->stalled_devices[namer->stalled_count++] = device;
	return NOTHING;
}

static int ask_helper(struct namer *namer, const struct namer_question *question,
		      struct helper_parcel *ret)
{
	bool in_full = device_to_blame(namer, question, question->module.depth) != 0;
	const struct helper_patience patience = { .stall_ns = in_full ? OWN_STALL_NS : STALL_NS,
						  .in_full = in_full,
						  .cpu_ns = CPU_NS,
						  .most_bytes = MOST_ANSWER };
	struct helper_parcel parcel = { .fd = question->module.fd };
	cleanup(free_p) char *bytes = NULL;
	int err = namer_wire__pack(question, &bytes, &parcel.size);

	if (err)
		return err;
	parcel.bytes = bytes;
	return helper__ask(namer->helper, &parcel, &patience, ret);
}

/* Earlier files may have used up the memory, so it tries again with a new helper process. */
static int ask_twice(struct namer *namer, const struct namer_question *question,
		     struct helper_parcel *ret)
{
	bool was_fresh = helper__is_fresh(namer->helper);
	int err = ask_helper(namer, question, ret);

	if (err)
		helper__restart(namer->helper);
	if ((err == -ENOMEM || err == -EPIPE) && !was_fresh)
		err = ask_helper(namer, question, ret);
	if (err)
		helper__restart(namer->helper);
	return err;
}

static int take_answer(struct namer *namer, const struct helper_parcel *parcel, size_t first,
		       size_t most, namer_take_fn take, void *context, size_t *ret_answered)
{
	const char *at = parcel->bytes, *end = at + parcel->size;
	struct namer_answer head;
	struct symbol_chain chain;
	uint64_t offset;
	int err = 0;

	if (parcel->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (!head.answered || head.answered > most)
		return -EBADMSG;
	namer->quality.too_large += head.too_large;
	namer->quality.without_lines += head.without_lines;
	for (uint32_t i = 0; i < head.answered && !err; i++) {
		err = namer_wire__get_chain(&at, end, &chain, &offset);
		if (!err && chain.count)
			err = take(context, first + i, &chain, offset);
	}
	*ret_answered = head.answered;
	return err;
}

/* The part of a question from `first` on that is asked at this depth. */
static struct namer_question part_of(const struct namer *namer,
				     const struct namer_question *question, size_t first,
				     unsigned depth)
{
	struct namer_question part = *question;

	part.addresses += first;
	part.count -= first;
	if (part.count > namer->most_addresses)
		part.count = namer->most_addresses;
	if (!is_file(question))
		part.module = (struct symbol_module) { .fd = -1 };
	part.module.key = question->module.key << 2 | depth;
	part.module.depth = depth;
	return part;
}

/* Asks about some of the addresses from `first` on. *ret: how many were answered or skipped. */
static int ask_some(struct namer *namer, const struct namer_question *question, size_t first,
		    namer_take_fn take, void *context, size_t *ret)
{
	unsigned depth = (unsigned)(uintptr_t)map__get(&namer->reduced_depths, place_of(question));
	struct helper_parcel parcel = { .fd = -1 };
	struct namer_question part = part_of(namer, question, first, depth);
	int err = -ENOMEM;

	while (err && depth != NOTHING) {
		part = part_of(namer, question, first, depth);
		err = ask_twice(namer, &part, &parcel);
		/* There is no helper process. The file is fine, and may be asked about again. */
		if (err == -ECHILD) {
			namer->quality.refused++;
			namer->quality.unanswered++;
			break;
		}
		/* Fewer addresses need less memory and CPU time. */
		if (err && part.count > FEW_ADDRESSES &&
		    !(err == -ETIMEDOUT && helper__stalled(namer->helper)))
			namer->most_addresses = FEW_ADDRESSES;
		else if (err)
			depth = reduce_depth(namer, question, depth, err);
	}
	*ret = part.count;
	if (err)
		return 0;
	err = take_answer(namer, &parcel, first, part.count, take, context, ret);
	helper__release(&parcel);
	if (err != -EBADMSG)
		return err;
	refuse(namer, question, false);
	*ret = part.count;
	return 0;
}

int namer__ask(struct namer *namer, const struct namer_question *question, namer_take_fn take,
	       void *context)
{
	size_t done = 0, answered;
	int err = 0;

	if (is_file(question) && is_stalled(namer, device_of(&question->module)) &&
	    (uintptr_t)map__get(&namer->reduced_depths, place_of(question)) != NOTHING)
		refuse(namer, question, true);
	while (done < question->count && !err) {
		err = ask_some(namer, question, done, take, context, &answered);
		done += answered;
	}
	return err;
}
