/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/files/files.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/devices.h"
#include "core/paths.h"
#include "core/series.h"
#include "core/signal.h"

static const struct hook hooks[] = {
	{ "sys_enter", { "on_sys_enter" }, HOOK_AT_CALLS },
	{ "sys_exit", { "on_sys_exit" }, HOOK_AT_CALLS },
	{ "mm_filemap_add_to_page_cache",
	  { "files_on_page_btf", "files_on_page_raw", "files_on_page_tp" } },
	{},
};

static const struct measure measures[] = {
	{ "time", "ns" }, { "asked", "bytes" }, { "returned", "bytes" }, { "missed", "pages" }, {},
};

static const struct column columns[] = {
	{ "asked", COLUMN_BYTES, 10 },
	{ "returned", COLUMN_BYTES, 10 },
	{ "missed", COLUMN_NUMBER, 6 },
	{ "offset", COLUMN_TEXT, 0 },
	{},
};

static const char *const operations[FILES_OPERATIONS] = {
	[FILES_NONE] = "",
	[FILES_READ] = "read",
	[FILES_WRITE] = "write",
	[FILES_FSYNC] = "fsync",
	[FILES_OPEN] = "open",
	[FILES_STAT] = "stat",
	[FILES_READDIR] = "readdir",
	[FILES_RENAME] = "rename",
	[FILES_UNLINK] = "unlink",
	[FILES_MKDIR] = "mkdir",
	[FILES_TRUNCATE] = "truncate",
	[FILES_ALLOCATE] = "allocate",
	[FILES_SENDFILE] = "sendfile",
	[FILES_COPY] = "copy",
};

static const struct {
	const char *names; /* syscalls that an architecture lacks are skipped */
	struct files_call call;
} kinds[] = {
	{ "read", { FILES_READ, FILES_SIZED, FILES_BYTES, 1 } },
	{ "pread64", { FILES_READ, FILES_SIZED_AT, FILES_BYTES, 1 } },
	{ "readv", { FILES_READ, FILES_VECTOR, FILES_BYTES, 1 } },
	{ "preadv preadv2", { FILES_READ, FILES_VECTOR_AT, FILES_BYTES, 1 } },
	{ "write", { FILES_WRITE, FILES_SIZED, FILES_BYTES, 0 } },
	{ "pwrite64", { FILES_WRITE, FILES_SIZED_AT, FILES_BYTES, 0 } },
	{ "writev", { FILES_WRITE, FILES_VECTOR, FILES_BYTES, 0 } },
	{ "pwritev pwritev2", { FILES_WRITE, FILES_VECTOR_AT, FILES_BYTES, 0 } },
	{ "fsync fdatasync sync_file_range syncfs", { FILES_FSYNC, FILES_FD, FILES_STATUS, 0 } },
	{ "open creat", { FILES_OPEN, FILES_PATH, FILES_OPENED, 1 } },
	{ "openat openat2", { FILES_OPEN, FILES_PATH_AT, FILES_OPENED, 1 } },
	{ "fstat", { FILES_STAT, FILES_FD, FILES_STATUS, 1 } },
	{ "stat lstat", { FILES_STAT, FILES_PATH, FILES_STAT_2, 1 } },
	{ "newfstatat", { FILES_STAT, FILES_PATH_AT, FILES_STAT_3, 1 } },
	{ "statx", { FILES_STAT, FILES_PATH_AT, FILES_STATX_5, 1 } },
	{ "access readlink", { FILES_STAT, FILES_PATH, FILES_STATUS, 1 } },
	{ "faccessat faccessat2 readlinkat", { FILES_STAT, FILES_PATH_AT, FILES_STATUS, 1 } },
	{ "getdents getdents64", { FILES_READDIR, FILES_SIZED, FILES_BYTES, 1 } },
	{ "rename", { FILES_RENAME, FILES_PATH, FILES_STATUS, 0 } },
	{ "renameat renameat2", { FILES_RENAME, FILES_PATH_AT, FILES_STATUS, 0 } },
	{ "unlink rmdir", { FILES_UNLINK, FILES_PATH, FILES_STATUS, 0 } },
	{ "unlinkat", { FILES_UNLINK, FILES_PATH_AT, FILES_STATUS, 0 } },
	{ "mkdir", { FILES_MKDIR, FILES_PATH, FILES_STATUS, 0 } },
	{ "mkdirat", { FILES_MKDIR, FILES_PATH_AT, FILES_STATUS, 0 } },
	{ "truncate", { FILES_TRUNCATE, FILES_PATH, FILES_STATUS, 0 } },
	{ "ftruncate", { FILES_TRUNCATE, FILES_FD, FILES_STATUS, 0 } },
	{ "fallocate", { FILES_ALLOCATE, FILES_FD, FILES_STATUS, 0 } },
	{ "sendfile", { FILES_SENDFILE, FILES_SECOND_FD, FILES_BYTES, 1 } },
	{ "copy_file_range", { FILES_COPY, FILES_FIFTH_SIZE, FILES_BYTES, 0 } },
};

static void set_calls(struct files_calls *calls, const char *names, struct files_call call)
{
	while (*names) {
		size_t length = strcspn(names, " ");
		char name[32];
		int number;

		snprintf(name, sizeof(name), "%.*s", (int)length, names);
		number = seccomp_syscall_resolve_name(name);
		if (number >= 0 && number < FILES_SYSCALLS)
			calls->of[number] = call;
		names += length;
		names += strspn(names, " ");
	}
}

static int files_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	size_t size = 0;
	struct files_calls *calls = series__section(object, ".rodata.files", &size);

	if (!calls || size != sizeof(*calls))
		return -EPROTO;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		set_calls(calls, kinds[i].names, kinds[i].call);
	return 0;
}

/* --- names ---------------------------------------------------------------------------------- */

static int decode_name(const struct files_name_record *record, size_t size, struct event *ret)
{
	size_t used;

	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    !paths__is_well_formed(&record->path) ||
	    !memchr(record->text, '\0', sizeof(record->text)))
		return -EBADMSG;
	paths__name(&record->path, record->object, ret);
	used = strlen(ret->scratch);
	if (record->text[0] == '/')
		snprintf(ret->scratch, sizeof(ret->scratch), "%s", record->text);
	else if (record->text[0])
		snprintf(ret->scratch + used, sizeof(ret->scratch) - used, "%s%s",
			 ret->scratch[used - 1] == '/' ? "" : "/", record->text);
	return 0;
}

static int decode_slow(const struct files_slow_record *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record))
		return -EBADMSG;
	ret->duration_ns = record->duration_ns;
	ret->thread = record->thread;
	ret->stack = record->stack;
	ret->object[0] = record->object[0];
	ret->object[1] = record->object[1];
	ret->place = record->place;
	ret->operation = record->operation;
	ret->error = record->error;
	ret->values[0].number = record->asked_bytes;
	ret->values[1].number = record->returned_bytes;
	ret->values[2].number = record->missed_pages;
	if (record->offset_bytes != FILES_NO_OFFSET)
		snprintf(ret->scratch, sizeof(ret->scratch), "%" PRIu64,
			 (uint64_t)record->offset_bytes);
	ret->values[3].text = ret->scratch;
	return 0;
}

static int files_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head) || head->version != 1)
		return -EBADMSG;
	switch (head->kind) {
	case FILES_NAME:
		return decode_name(bytes, size, ret);
	case FILES_SLOW:
		return decode_slow(bytes, size, ret);
	default:
		return -EBADMSG;
	}
}

static const char *files_operation(uint32_t operation)
{
	return operation < FILES_OPERATIONS ? operations[operation] : NULL;
}

/* First delete the name, then invalidate what threads remember, so that they look it up again. */
static bool files_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *named = bpf_object__find_map_by_name(object, "files_named");
	size_t size = 0;
	volatile uint32_t *forgotten = series__section(object, ".data.files", &size);

	if (!forgotten || size != sizeof(*forgotten))
		return false;
	(void)bpf_map_delete_elem(bpf_map__fd(named), numbers);
	*forgotten = *forgotten + 1;
	return true;
}

const struct signal files_signal = {
	.name = "files",
	.number = SIGNAL_files,
	.about = "operations on files: how long, how much, from the page cache or not",
	.events = "operations",
	.role = ROLE_FILES,
	.event_ns = 400,
	.at_syscalls = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = files_prepare,
	.decode = files_decode,
	.operation = files_operation,
	.place = devices__file_system,
	.object_kind = "file",
	.forget_object = files_forget_object,
};
