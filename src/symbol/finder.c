/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/finder.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "symbol/broker.h"
#include "symbol/confine.h"

#define SECOND_NS    UINT64_C(1000000000)
#define STALL_NS     (2 * SECOND_NS)
#define CPU_NS       (20 * SECOND_NS)
#define MEMORY_BYTES (UINT64_C(256) << 20)
#define MOST_ANSWER  (32UL << 20)

struct finder {
	struct helper *helper; /* parses, without privileges */
	struct helper *opener; /* opens files for it */
};

/* A question as bytes; the root, the path and the pattern follow, each with its 0. */
struct question_head {
	uint32_t kind, for_go;
	uint64_t at, behind, most;
};

/* An answer as bytes; the places follow. */
struct answer_head {
	uint64_t count;
	uint64_t more;
};

/* --- in the helper process -------------------------------------------------------------------- */

static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;

	if (nul)
		*at = nul + 1;
	return nul ? text : NULL;
}

static int unpack(const struct helper_parcel *parcel, struct finder_question *ret)
{
	const char *at = parcel->bytes, *end = at + parcel->size;
	struct question_head head;

	if (parcel->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	*ret = (struct finder_question) {
		.kind = head.kind,
		.at = head.at,
		.behind = head.behind,
		.for_go = head.for_go,
		.most = head.most,
	};
	ret->root = take_text(&at, end);
	ret->path = take_text(&at, end);
	ret->pattern = take_text(&at, end);
	return ret->pattern ? 0 : -EBADMSG;
}

static int serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer)
{
	cleanup(free_p) struct finder_place *places = NULL;
	struct finder_question question;
	struct answer_head head = {};
	size_t count = 0;
	bool more = false;
	int err = unpack(parcel, &question), fd;

	close_p(&parcel->fd);
	if (err)
		return err;
	fd = broker__open(&(struct broker_request) {
		.kind = BROKER_ELF, .root = question.root, .path = question.path });
	if (fd < 0)
		return fd;
	err = finder__search(fd, &question, &places, &count, &more);
	close(fd);
	if (err)
		return err;
	head.count = count;
	head.more = more;
	answer->size = sizeof(head) + count * sizeof(*places);
	answer->bytes = malloc(answer->size);
	if (!answer->bytes)
		return -ENOMEM;
	memcpy(answer->bytes, &head, sizeof(head));
	if (count)
		memcpy((char *)answer->bytes + sizeof(head), places, count * sizeof(*places));
	return 0;
}

static int confine(void *context)
{
	return confine__enter();
}

/* --- in the recorder -------------------------------------------------------------------------- */

static int provide(void *context, const struct helper_parcel *request)
{
	struct finder *finder = context;

	return confine__provide(finder->opener, request);
}

int finder__new(struct finder **ret)
{
	struct finder *finder = calloc(1, sizeof(*finder));
	const struct helper_work work = { .name = "gapless-finder",
					  .memory_bytes = MEMORY_BYTES,
					  .serve = serve,
					  .context = finder,
					  .confine = confine,
					  .provide = provide };
	int err = finder ? helper__new(&work, &finder->helper) : -ENOMEM;

	if (!err)
		err = confine__new(&finder->opener);
	if (err) {
		finder__free(finder);
		return err;
	}
	*ret = finder;
	return 0;
}

void finder__free(struct finder *finder)
{
	if (!finder)
		return;
	helper__free(finder->helper);
	helper__free(finder->opener);
	free(finder);
}

static int pack(const struct finder_question *question, struct helper_parcel *ret)
{
	const struct question_head head = { .kind = question->kind,
					    .at = question->at,
					    .behind = question->behind,
					    .for_go = question->for_go,
					    .most = question->most };
	const char *texts[] = { question->root, question->path,
				question->pattern ? question->pattern : "" };
	char *at;

	*ret = (struct helper_parcel) { .fd = -1, .size = sizeof(head) };
	for (size_t i = 0; i < 3; i++)
		ret->size += strlen(texts[i]) + 1;
	ret->bytes = at = malloc(ret->size);
	if (!at)
		return -ENOMEM;
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	for (size_t i = 0; i < 3; i++)
		at = stpcpy(at, texts[i]) + 1;
	return 0;
}

/* The process that answers is not trusted. */
static bool is_sane(const struct finder_place *place)
{
	return place->offset <= INT64_MAX && place->cost <= INSTRUCTION_STEPPED &&
	       place->argument_count <= USDT_MOST_ARGUMENTS &&
	       memchr(place->name, 0, sizeof(place->name)) &&
	       memchr(place->text, 0, sizeof(place->text));
}

static int hand_on(const struct helper_parcel *answer, finder_take_fn take, void *context,
		   bool *ret_more)
{
	const char *bytes = answer->bytes;
	struct finder_place place;
	struct answer_head head;

	if (answer->size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.count != (answer->size - sizeof(head)) / sizeof(place) ||
	    (answer->size - sizeof(head)) % sizeof(place))
		return -EBADMSG;
	*ret_more = head.more;
	for (uint64_t i = 0; i < head.count; i++) {
		int err;

		memcpy(&place, bytes + sizeof(head) + i * sizeof(place), sizeof(place));
		err = is_sane(&place) ? take(context, &place) : -EBADMSG;
		if (err)
			return err;
	}
	return 0;
}

int finder__ask(struct finder *finder, const struct finder_question *question, finder_take_fn take,
		void *context, bool *ret_more)
{
	const struct helper_patience patience = {
		.stall_ns = STALL_NS, .in_full = true, .cpu_ns = CPU_NS, .most_bytes = MOST_ANSWER
	};
	struct helper_parcel parcel, answer = { .fd = -1 };
	int err = pack(question, &parcel);

	if (!err)
		err = helper__ask(finder->helper, &parcel, &patience, &answer);
	free(parcel.bytes);
	if (err)
		return err;
	err = hand_on(&answer, take, context, ret_more);
	helper__release(&answer);
	return err;
}
