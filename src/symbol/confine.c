/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/confine.h"

#include <errno.h>

#include "base/cleanup.h"
#include "guard/guard.h"
#include "symbol/broker.h"
#include "symbol/image.h"

#define SECOND_NS    UINT64_C(1000000000)
#define STALL_NS     (2 * SECOND_NS)
#define MEMORY_BYTES (16UL << 20)

int confine__enter(void)
{
	(void)image__size_of_vdso();
	broker__redirect(helper__request);
	return guard__drop(GUARD_PARSER, NULL);
}

static int serve(void *context, const struct helper_parcel *question, struct helper_parcel *answer)
{
	int fd = broker__serve(question->bytes, question->size);

	close_p(&question->fd);
	if (fd < 0)
		return fd;
	answer->fd = fd;
	return 0;
}

static int confine(void *context)
{
	return guard__drop(GUARD_OPENER, NULL);
}

int confine__new(struct helper **ret)
{
	const struct helper_work work = { .name = "gapless-files",
					  .memory_bytes = MEMORY_BYTES,
					  .serve = serve,
					  .confine = confine };

	return helper__new(&work, ret);
}

int confine__provide(struct helper *opener, const struct helper_parcel *request)
{
	const struct helper_patience patience = { .stall_ns = STALL_NS, .cpu_ns = SECOND_NS };
	struct helper_parcel answer = { .fd = -1 };
	int err = helper__ask(opener, request, &patience, &answer), fd = answer.fd;

	if (err == -ECHILD || err == -EPIPE)
		return -EIO;
	if (err)
		return err;
	answer.fd = -1;
	helper__release(&answer);
	return fd < 0 ? -EMFILE : fd;
}
