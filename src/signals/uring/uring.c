/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/uring/uring.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "core/devices.h"
#include "core/ends.h"
#include "core/paths.h"
#include "core/series.h"
#include "core/signal.h"

DEFINE_CLEANUP(struct btf *, btf__free)

static const struct hook hooks[] = {
	{ "task", { "uring_on_task" } }, /* first: refresh uses it */
	{ "io_uring_create", { "uring_on_create" } },
	{ "io_uring_submit_req", { "on_uring_submit", "on_uring_submit_sqe" } },
	{ "io_uring_req_failed", { "uring_on_refused" } },
	{ "io_uring_queue_async_work", { "uring_on_async" } },
	{ "io_uring_complete", { "on_uring_complete" } },
	{ "io_uring_cqe_overflow", { "uring_on_overflow" } },
	{ "sched_process_exit", { "on_exit" } },
	{},
};

static const struct measure measures[] = {
	[URING_TIME] = { "time", "ns" },
	[URING_BYTES] = { "size", "bytes" },
	[URING_IN_FLIGHT] = { "in_flight", "requests" },
	[URING_ASYNC] = { "async", "requests" },
	[URING_CPU] = { "cpu", "ns" },
	{},
};

static const struct column columns[] = {
	{ "bytes", COLUMN_BYTES, 10 },
	{ "in_flight", COLUMN_NUMBER, 9 },
	{ "async", COLUMN_NUMBER, 5 },
	{ "part", COLUMN_NUMBER, 4 },
	{},
};

/* enum io_uring_op; numbers never change. The second field: the result is a number of bytes. */
static const struct {
	const char *name;
	bool transfers;
} opcodes[] = {
	{ "nop", false },
	{ "readv", true },
	{ "writev", true },
	{ "fsync", false },
	{ "read_fixed", true },
	{ "write_fixed", true },
	{ "poll_add", false },
	{ "poll_remove", false },
	{ "sync_file_range", false },
	{ "sendmsg", true },
	{ "recvmsg", true },
	{ "timeout", false },
	{ "timeout_remove", false },
	{ "accept", false },
	{ "async_cancel", false },
	{ "link_timeout", false },
	{ "connect", false },
	{ "fallocate", false },
	{ "openat", false },
	{ "close", false },
	{ "files_update", false },
	{ "statx", false },
	{ "read", true },
	{ "write", true },
	{ "fadvise", false },
	{ "madvise", false },
	{ "send", true },
	{ "recv", true },
	{ "openat2", false },
	{ "epoll_ctl", false },
	{ "splice", true },
	{ "provide_buffers", false },
	{ "remove_buffers", false },
	{ "tee", true },
	{ "shutdown", false },
	{ "renameat", false },
	{ "unlinkat", false },
	{ "mkdirat", false },
	{ "symlinkat", false },
	{ "linkat", false },
	{ "msg_ring", false },
	{ "fsetxattr", false },
	{ "setxattr", false },
	{ "fgetxattr", false },
	{ "getxattr", false },
	{ "socket", false },
	{ "uring_cmd", false },
	{ "send_zc", true },
	{ "sendmsg_zc", true },
	{ "read_multishot", true },
	{ "waitid", false },
	{ "futex_wait", false },
	{ "futex_wake", false },
	{ "futex_waitv", false },
	{ "fixed_fd_install", false },
	{ "ftruncate", false },
	{ "bind", false },
	{ "listen", false },
	{ "recv_zc", true },
	{ "epoll_wait", false },
	{ "readv_fixed", true },
	{ "writev_fixed", true },
	{ "pipe", false },
};
#define OPCODES (sizeof(opcodes) / sizeof(*opcodes))

static const char *uring_operation(uint32_t operation)
{
	if (operation < OPCODES)
		return opcodes[operation].name;
	return operation == URING_WORKER   ? "worker"
	       : operation == URING_POLLER ? "poller"
	       : operation < URING_OPCODES ? "other"
					   : NULL;
}

/* --- what this kernel is like --------------------------------------------------------------- */

/* The enum is anonymous, so search all enums. 0: there is no such flag. */
static uint32_t find_flag(const struct btf *btf, const char *bit)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);

		for (int i = 0; btf_is_enum(type) && i < btf_vlen(type); i++) {
			const struct btf_enum *item = &btf_enum(type)[i];

			if (!strcmp(btf__name_by_offset(btf, item->name_off), bit))
				return item->val < 32 ? 1U << item->val : 0;
		}
	}
	return 0;
}

/*
 * In 6.1, the event io_uring_complete has the fields of the completion as arguments; in 6.18 it has
 * a pointer to the completion, as the last of three.
 */
static bool has_completion(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "btf_trace_io_uring_complete", BTF_KIND_TYPEDEF);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	while (type && (btf_is_typedef(type) || btf_is_ptr(type)))
		type = btf__type_by_id(btf, type->type);
	return type && btf_is_func_proto(type) && btf_vlen(type) == 4; /* with the context */
}

static int uring_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	cleanup(btf__free_p) struct btf *btf = btf__load_vmlinux_btf();
	size_t size = 0;
	struct uring_knobs *knobs = series__section(object, ".rodata.uring", &size);

	if (!btf)
		return -errno;
	if (!knobs || size != sizeof(*knobs))
		return -EPROTO;
	*knobs = (struct uring_knobs) { .multishot = find_flag(btf, "REQ_F_APOLL_MULTISHOT_BIT"),
					.has_cqe = has_completion(btf) };
	for (size_t i = 0; i < OPCODES; i++)
		if (opcodes[i].transfers)
			knobs->transfers[i / 64] |= UINT64_C(1) << i % 64;
	return 0;
}

static int uring_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	return hooks__iterate(links[0]);
}

/* --- records -------------------------------------------------------------------------------- */

static void name_socket(const struct uring_name_record *record, char *ret, size_t size)
{
	if (ADDRESS_IS_KNOWN(record->ends.family))
		ends__name(&record->ends, ret, size);
	else
		snprintf(ret, size, "%s socket %" PRIu64,
			 record->ends.family == AF_UNIX ? "UNIX" : "other",
			 (uint64_t)record->object[0]);
}

static int decode_name(const struct uring_name_record *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    !paths__is_well_formed(&record->path))
		return -EBADMSG;
	paths__name(&record->path, record->object, ret);
	if (S_ISSOCK(record->mode)) {
		ret->object_kind = "socket";
		name_socket(record, ret->scratch, sizeof(ret->scratch));
	} else if (S_ISFIFO(record->mode)) {
		ret->object_kind = "pipe";
		if (record->path.bytes <= 1)
			snprintf(ret->scratch, sizeof(ret->scratch), "pipe %" PRIu64,
				 (uint64_t)record->object[0]);
	}
	return 0;
}

static int decode_slow(const struct uring_slow_record *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    record->operation >= URING_OPERATIONS)
		return -EBADMSG;
	ret->duration_ns = record->duration_ns;
	ret->thread = record->thread;
	ret->object[0] = record->object[0];
	ret->object[1] = record->object[1];
	ret->place = record->place;
	ret->operation = record->operation;
	ret->error = record->error;
	ret->values[0].number = record->bytes;
	ret->values[1].number = record->in_flight;
	ret->values[2].number = record->is_async;
	ret->values[3].number = record->is_part;
	return 0;
}

static int uring_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head) || head->version != 1)
		return -EBADMSG;
	switch (head->kind) {
	case URING_NAME:
		return decode_name(bytes, size, ret);
	case URING_SLOW:
		return decode_slow(bytes, size, ret);
	default:
		return -EBADMSG;
	}
}

static bool uring_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *named = bpf_object__find_map_by_name(object, "uring_named");

	(void)bpf_map_delete_elem(bpf_map__fd(named), numbers);
	return true;
}

/* Sockets, pipes and requests without a file have no place. */
static void uring_place(uint32_t place, char *ret, size_t size)
{
	if (place)
		devices__file_system(place, ret, size);
	else
		snprintf(ret, size, "%s", "");
}

const struct signal uring_signal = {
	.name = "uring",
	.number = SIGNAL_uring,
	.about = "io_uring: requests by operation, file and submitter, and its workers' time",
	.events = "events",
	.event_ns = 800,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = uring_prepare,
	.refresh = uring_refresh,
	.decode = uring_decode,
	.operation = uring_operation,
	.place = uring_place,
	.object_kind = "file",
	.forget_object = uring_forget_object,
};
