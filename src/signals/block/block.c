/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/block/block.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/devices.h"
#include "core/series.h"
#include "core/signal.h"

/* Until 6.11 the bits of rq_flags were macros, which BTF does not have. This was the bit then. */
#define OLD_FLUSH_SEQUENCE (1U << 4)

DEFINE_CLEANUP(struct btf *, btf__free)

static const struct hook hooks[] = {
	{ "block_bio_queue", { "block_on_bio_queue" } },
	{ "block_split", { "block_on_split" } },
	{ "block_bio_backmerge", { "block_on_backmerge" } },
	{ "block_bio_frontmerge", { "block_on_frontmerge" } },
	{ "block_rq_merge", { "block_on_merge" } },
	{ "block_rq_issue", { "block_on_issue" } },
	{ "block_rq_requeue", { "block_on_requeue" } },
	{ "block_rq_complete", { "block_on_complete" } },
	{ "block_bio_complete", { "block_on_bio_complete" } },
	{},
};

static const struct measure measures[] = {
	{ "total", "ns" },
	{ "queue", "ns" },
	{ "service", "ns" },
	{ "size", "bytes" },
	{ "depth", "requests" },
	{ "sequential", "requests" },
	{},
};

/* Queue and service time come first, because a narrow terminal has no room for all columns. */
static const struct column columns[] = {
	{ "queue_ns", COLUMN_NS, 8 },     { "service_ns", COLUMN_NS, 8 },
	{ "bytes", COLUMN_BYTES, 8 },     { "depth", COLUMN_NUMBER, 5 },
	{ "sector", COLUMN_NUMBER, 12 },  { "sequential", COLUMN_NUMBER, 10 },
	{ "requeues", COLUMN_NUMBER, 8 }, {},
};

/* The enum is anonymous on 6.12, so search all enums. */
static uint32_t find_flush_sequence(const struct btf *btf)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		for (int i = 0; btf_is_enum(type) && i < btf_vlen(type); i++) {
			const struct btf_enum *item = &btf_enum(type)[i];

			if (!strcmp(btf__name_by_offset(btf, item->name_off), "__RQF_FLUSH_SEQ"))
				return 1U << item->val;
		}
	}
	return OLD_FLUSH_SEQUENCE;
}

static int block_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	cleanup(btf__free_p) struct btf *btf = btf__load_vmlinux_btf();
	size_t size = 0;
	uint32_t *knob = series__section(object, ".rodata.block", &size);

	if (!btf)
		return -errno;
	if (!knob || size != sizeof(*knob))
		return -EPROTO;
	*knob = find_flush_sequence(btf);
	return 0;
}

static int block_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct block_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->operation >= BLOCK_OPERATIONS)
		return -EBADMSG;
	ret->duration_ns = rec->queue_ns + rec->service_ns;
	ret->thread = rec->thread;
	ret->place = rec->device;
	ret->operation = rec->operation;
	ret->error = rec->error;
	ret->values[0].number = rec->queue_ns;
	ret->values[1].number = rec->service_ns;
	ret->values[2].number = rec->bytes;
	ret->values[3].number = rec->depth;
	ret->values[4].number = rec->sector;
	ret->values[5].number = rec->sequential;
	ret->values[6].number = rec->requeues;
	return 0;
}

static const char *block_operation(uint32_t operation)
{
	static const char *const names[] = {
		[BLOCK_READ] = "read",
		[BLOCK_WRITE] = "write",
		[BLOCK_FLUSH] = "flush",
		[BLOCK_DISCARD] = "discard",
		[BLOCK_OTHER] = "other",
		[BLOCK_LIMITED_READ] = "limited read",
		[BLOCK_LIMITED_WRITE] = "limited write",
	};

	return operation < BLOCK_OPERATIONS ? names[operation] : NULL;
}

static void block_object(const __u64 numbers[2], char *ret, size_t size)
{
	static const char *const names[BLOCK_CLASSES] = {
		[BLOCK_TO_4K] = "up to 4 KiB",      [BLOCK_TO_64K] = "up to 64 KiB",
		[BLOCK_TO_256K] = "up to 256 KiB",  [BLOCK_TO_1M] = "up to 1 MiB",
		[BLOCK_LARGER] = "more than 1 MiB",
	};

	snprintf(ret, size, "%s", numbers[0] < BLOCK_CLASSES ? names[numbers[0]] : "");
}

/* A device that is gone is shown by its numbers. */
static void block_place(uint32_t place, char *ret, size_t size)
{
	devices__disk(place, ret, size);
}

const struct signal block_signal = {
	.name = "block",
	.number = SIGNAL_block,
	.about = "requests to disks: which device, queued or slow, by whom",
	.events = "requests",
	.role = ROLE_DISKS,
	.event_ns = 1000,
	.is_default = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = block_prepare,
	.decode = block_decode,
	.operation = block_operation,
	.place = block_place,
	.object = block_object,
	.object_kind = "size",
};
