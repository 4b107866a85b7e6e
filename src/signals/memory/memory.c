/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/memory/memory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include <bpf/bpf.h>

#include "core/cgroup_limits.h"
#include "core/paths.h"
#include "core/series.h"
#include "core/signal.h"

#define PLACES_KEPT   64
#define CGROUP_BYTES  256
#define CGROUP_LEVELS 16

enum { COLUMN_BYTES_RECLAIMED, COLUMN_VICTIM, COLUMN_VICTIM_COMM, COLUMN_CGROUP };

enum { AT_FAULT, AT_FAULT_BEGIN, AT_FAULT_END };

static const struct hook hooks[] = {
	[AT_FAULT] = { "page_fault_user", { "memory_on_fault" } },
	[AT_FAULT_BEGIN] = { "handle_mm_fault", { "memory_on_handle" } },
	[AT_FAULT_END] = { "return of handle_mm_fault", { "memory_on_handled" } },
	{ "mm_vmscan_direct_reclaim_begin", { "memory_on_direct_begin" } },
	{ "mm_vmscan_direct_reclaim_end", { "memory_on_direct_end" } },
	{ "mm_vmscan_memcg_reclaim_begin", { "memory_on_cgroup_begin" } },
	{ "mm_vmscan_memcg_reclaim_end", { "memory_on_cgroup_end" } },
	{ "mm_compaction_begin", { "memory_on_compaction_begin" } },
	{ "mm_compaction_end", { "memory_on_compaction_end" } },
	{ "mark_victim", { "memory_on_victim" } },
	{ "sys_exit", { "on_sys_exit" }, HOOK_AT_CALLS },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, { "size", "bytes" }, {} };

static const struct column columns[] = {
	[COLUMN_BYTES_RECLAIMED] = { "bytes", COLUMN_BYTES, 8 },
	[COLUMN_VICTIM] = { "victim", COLUMN_NUMBER, 8 },
	[COLUMN_VICTIM_COMM] = { "victim_comm", COLUMN_TEXT, 15 },
	[COLUMN_CGROUP] = { "cgroup", COLUMN_TEXT, -1 },
	{},
};

static int decode_slow(const struct memory_slow *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    record->operation >= MEMORY_OPERATIONS)
		return -EBADMSG;
	ret->duration_ns = record->duration_ns;
	ret->thread = record->thread;
	ret->stack = record->stack;
	ret->place = record->cgroup;
	ret->operation = record->operation;
	ret->values[COLUMN_BYTES_RECLAIMED].number = record->bytes;
	ret->values[COLUMN_VICTIM].none = true;
	ret->values[COLUMN_VICTIM_COMM].none = true;
	ret->values[COLUMN_CGROUP].none = true;
	return 0;
}

static int decode_victim(const struct memory_victim *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    !memchr(record->comm, '\0', sizeof(record->comm)) ||
	    !memchr(record->name, '\0', sizeof(record->name)))
		return -EBADMSG;
	ret->thread = record->thread;
	ret->place = record->cgroup;
	ret->operation = MEMORY_OOM_KILL;
	ret->values[COLUMN_BYTES_RECLAIMED].none = true;
	ret->values[COLUMN_VICTIM].number = record->pid;
	ret->values[COLUMN_VICTIM_COMM].text = record->comm;
	ret->values[COLUMN_VICTIM_COMM].none = !record->comm[0];
	ret->values[COLUMN_CGROUP].text = record->name;
	ret->values[COLUMN_CGROUP].none = !record->name[0];
	return 0;
}

static int decode_name(const struct memory_name *record, size_t size, struct event *ret)
{
	if (size < sizeof(*record) || record->head.size != sizeof(*record) ||
	    !paths__is_well_formed(&record->path))
		return -EBADMSG;
	paths__name(&record->path, record->object, ret);
	return 0;
}

static int memory_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head) || head->version != 1)
		return -EBADMSG;
	switch (head->kind) {
	case MEMORY_SLOW:
		return decode_slow(bytes, size, ret);
	case MEMORY_VICTIM:
		return decode_victim(bytes, size, ret);
	case MEMORY_NAME:
		return decode_name(bytes, size, ret);
	default:
		return -EBADMSG;
	}
}

static const char *memory_operation(uint32_t operation)
{
#define ACCESSES(kind, name)                                                                       \
	[MEMORY_FAULTS + (kind) * MEMORY_ACCESSES +                                                \
		MEMORY_READ] = name " read",                                                       \
		[MEMORY_FAULTS + (kind) * MEMORY_ACCESSES + MEMORY_WRITE] = name " write",         \
		[MEMORY_FAULTS + (kind) * MEMORY_ACCESSES + MEMORY_EXECUTE] = name " execute"
	static const char *const names[MEMORY_OPERATIONS] = {
		ACCESSES(MEMORY_UNKNOWN, "unknown"),
		ACCESSES(MEMORY_ANONYMOUS, "anonymous"),
		ACCESSES(MEMORY_FILE, "file"),
		ACCESSES(MEMORY_SHARED, "shared"),
		ACCESSES(MEMORY_HEAP, "heap"),
		ACCESSES(MEMORY_STACK, "stack"),
		[MEMORY_DIRECT_RECLAIM] = "direct reclaim",
		[MEMORY_CGROUP_RECLAIM] = "cgroup reclaim",
		[MEMORY_COMPACTION] = "compaction",
		[MEMORY_OOM_KILL] = "oom kill",
		[MEMORY_SWAP_IN] = "swap in",
		[MEMORY_MMAP] = "mmap",
		[MEMORY_MUNMAP] = "munmap",
		[MEMORY_BRK] = "brk",
		[MEMORY_BRK_BACK] = "brk back",
	};
#undef ACCESSES

	return operation < MEMORY_OPERATIONS ? names[operation] : NULL;
}

/* --- cgroups ---------------------------------------------------------------------------------- */

/*
 * Looks for the folder with this inode below `path`, which it extends. The entries of a folder have
 * their inodes, so nothing needs to be opened but the folders.
 */
static bool find_folder(char path[PATH_MAX], size_t length, uint32_t inode, int levels)
{
	cleanup(closedir_p) DIR *folder = opendir(path);
	struct dirent *entry;

	while (folder && levels && (entry = readdir(folder))) {
		size_t name = strlen(entry->d_name);

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    length + 1 + name >= PATH_MAX)
			continue;
		path[length] = '/';
		memcpy(path + length + 1, entry->d_name, name + 1);
		if ((uint32_t)entry->d_ino == inode ||
		    find_folder(path, length + 1 + name, inode, levels - 1))
			return true;
	}
	path[length] = '\0';
	return false;
}

struct place_name {
	uint32_t place;
	char name[CGROUP_BYTES];
};

/* The id of a cgroup is the inode of its folder. The root has the inode 1. */
static void look_up(uint32_t place, struct place_name *ret)
{
	char path[PATH_MAX];
	size_t length;

	ret->place = place;
	snprintf(ret->name, sizeof(ret->name), place == 1 ? "/" : "cgroup %u", place);
	if (place == 1 || (cgroup_limits__mount(LIMITS_MEMORY, false, path) &&
			   cgroup_limits__mount(LIMITS_MEMORY, true, path)))
		return;
	length = strlen(path);
	if (find_folder(path, length, place, CGROUP_LEVELS))
		snprintf(ret->name, sizeof(ret->name), "%.*s", CGROUP_BYTES - 1, path + length);
}

/* Names are kept, because a cgroup may be gone when it is asked for again. */
static void memory_place(uint32_t place, char *ret, size_t size)
{
	static struct place_name kept[PLACES_KEPT];
	struct place_name *entry = &kept[place % PLACES_KEPT];

	size_t length;

	if (entry->place != place)
		look_up(place, entry);
	length = strlen(entry->name);
	if (length < size)
		memcpy(ret, entry->name, length + 1);
	else /* the end says more than the beginning */
		snprintf(ret, size, "…%s", entry->name + length - (size - sizeof("…")));
}

/* --- the signal ------------------------------------------------------------------------------- */

/* A call that this machine does not have keeps a number that no call has. */
static uint32_t number_of(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	return number < 0 ? UINT32_MAX : (uint32_t)number;
}

static int memory_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	size_t size = 0;
	struct memory_calls *calls = series__section(object, ".rodata.memory", &size);

	if (!calls || size != sizeof(*calls))
		return -EPROTO;
	*calls = (struct memory_calls) { number_of("mmap"), number_of("munmap"),
					 number_of("mremap"), number_of("brk"),
					 uses[AT_FAULT_BEGIN].program &&
						 uses[AT_FAULT_END].program };
	return 0;
}

static bool memory_forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *named = bpf_object__find_map_by_name(object, "memory_named");

	(void)bpf_map_delete_elem(bpf_map__fd(named), numbers);
	return true;
}

const struct signal memory_signal = {
	.name = "memory",
	.number = SIGNAL_memory,
	.about = "page faults by mapping, growth, reclaim, compaction and OOM kills, by cgroup",
	.events = "events",
	.role = ROLE_MEMORY,
	.event_ns = 150,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = memory_prepare,
	.decode = memory_decode,
	.operation = memory_operation,
	.place = memory_place,
	.object_kind = "file",
	.forget_object = memory_forget_object,
};
