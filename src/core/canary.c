/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/canary.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "canary.skel.h"
#include "core/loader.h"
#include "core/ring.h"
#include "core/sys.h"

DEFINE_CLEANUP(struct canary_bpf *, canary_bpf__destroy)
DEFINE_CLEANUP(struct ring *, ring__free)
DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy)

static const struct hook hooks[] = {
	{ "sys_enter", { "on_sys_enter_btf", "on_sys_enter_raw" } },
	{},
};

static int take(void *context, const struct wire_head *head)
{
	const struct canary_record *record = (const void *)head;
	uint64_t *in_order = context;

	if (head->size == sizeof(*record) && record->sequence == *in_order)
		(*in_order)++;
	return 0;
}

static int read_snapshot(struct canary_bpf *skel, uint64_t *ret_count)
{
	cleanup(bpf_link__destroy_p) struct bpf_link *link =
		bpf_program__attach_iter(skel->progs.on_snapshot, NULL);
	cleanup(close_p) int fd = -1;
	uint64_t count = 0;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	if (read(fd, &count, sizeof(count)) < 0)
		return -errno;
	*ret_count = count;
	return 0;
}

static int count_events(struct canary_bpf *skel, uint64_t nonce, struct canary_result *ret)
{
	cleanup(ring__free_p) struct ring *ring = NULL;
	struct canary_result result = *ret;
	int err = ring__new(bpf_map__fd(skel->maps.ring), take, &result.ring, &ring);

	if (err)
		return err;
	for (int i = 0; i < CANARY_EVENTS; i++)
		syscall(SYS_STIMULUS, nonce);
	err = ring__poll(ring, 0);
	if (err < 0)
		return err;
	err = read_snapshot(skel, &result.iterator);
	if (err)
		return err;
	*ret = result;
	return 0;
}

int canary__run(struct features *features, struct canary_result *ret)
{
	cleanup(canary_bpf__destroy_p) struct canary_bpf *skel = NULL;
	cleanup(bpf_link__destroy_p) struct bpf_link *link = NULL;
	uint64_t nonce = 100000 + (uint64_t)getpid();
	struct canary_result result = {};
	struct hook_use use[1];
	int err;

	loader__forget();
	skel = canary_bpf__open();
	if (!skel)
		return -errno;
	if (!loader__choose(skel->obj, hooks, features, use))
		return -ENOTSUP;
	skel->rodata->nonce = nonce;
	skel->rodata->stimulus = SYS_STIMULUS;
	err = canary_bpf__load(skel);
	if (err)
		return err;
	err = hooks__attach(skel->obj, use->program, NULL, &link);
	if (err)
		return err;
	result.hook_kind = use->kind;
	err = count_events(skel, nonce, &result);
	if (!err)
		*ret = result;
	return err;
}
