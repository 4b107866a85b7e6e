/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/writeback/writeback.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "core/devices.h"
#include "core/paths.h"
#include "core/signal.h"

static const struct hook hooks[] = {
	{ "writeback_dirty_folio", { "writeback_on_dirty" } },
	{ "writeback_single_inode_start", { "writeback_on_start" } },
	{ "writeback_single_inode", { "writeback_on_written" } },
	{},
};

static const struct measure measures[] = {
	[WRITEBACK_TIME] = { "time", "ns" },
	[WRITEBACK_SIZE] = { "size", "bytes" },
	{},
};

static const struct column columns[] = { {} };

static const char *writeback_operation(uint32_t operation)
{
	static const char *const names[WRITEBACK_OPERATIONS] = {
		[WRITEBACK_DIRTY] = "dirty",
		[WRITEBACK_WRITE] = "write",
	};

	return operation < WRITEBACK_OPERATIONS ? names[operation] : NULL;
}

static int writeback_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct writeback_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->head.kind || !paths__is_well_formed(&rec->path))
		return -EBADMSG;
	paths__name(&rec->path, rec->object, ret);
	return 0;
}

/* If the file is seen again, its name is sent again; its pages begin anew. */
static bool writeback_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *files = bpf_object__find_map_by_name(object, "writeback_files");

	(void)bpf_map_delete_elem(bpf_map__fd(files), numbers);
	return true;
}

const struct signal writeback_signal = {
	.name = "writeback",
	.number = SIGNAL_writeback,
	.about = "files changed in memory and written later, charged to whoever changed them",
	.events = "events",
	.event_ns = 300,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = writeback_decode,
	.operation = writeback_operation,
	.place = devices__file_system,
	.object_kind = "file",
	.forget_object = writeback_forget_object,
};
