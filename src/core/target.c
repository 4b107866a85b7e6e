#include "core/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "core/sys.h"
#include "stacks/maps.h"

__attribute__((format(printf, 2, 3))) static void say(struct target *target, const char *format,
						      ...)
{
	size_t used = strlen(target->words);
	va_list args;

	if (used)
		used += (size_t)snprintf(target->words + used, sizeof(target->words) - used, ", ");
	if (used >= sizeof(target->words))
		return;
	va_start(args, format);
	vsnprintf(target->words + used, sizeof(target->words) - used, format, args);
	va_end(args);
}

/* When a process or thread started, in the kernel's ticks; 0: it is not there, or it has ended. */
static uint64_t start_of(uint64_t id)
{
	char path[64], text[1024];
	struct maps_stat stat;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", id);
	if (sys__read_line(path, text, sizeof(text)) || maps__parse_stat(text, &stat))
		return 0;
	/* A first thread that ended before others is a 'Z' too. */
	if ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1)
		return 0;
	return stat.start_ticks;
}

static int add_id(struct target_ids *ids, uint64_t id, uint64_t start)
{
	if (ids->count == TARGET_MOST_IDS)
		return -E2BIG;
	ids->starts[ids->count] = start;
	ids->ids[ids->count++] = id;
	return 0;
}

static void forget_ended(struct target_ids *ids)
{
	size_t kept = 0;

	for (size_t i = 0; i < ids->count; i++) {
		uint64_t start = start_of(ids->ids[i]);

		if (!start || start != ids->starts[i])
			continue;
		ids->starts[kept] = ids->starts[i];
		ids->ids[kept++] = ids->ids[i];
	}
	ids->count = kept;
}

int target__add_pid(struct target *target, uint64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task/%" PRIu64, pid, pid);
	if (!sys__exists(path))
		return -ESRCH;
	say(target, "process %" PRIu64 " and its children", pid);
	return add_id(&target->pids, pid, start_of(pid));
}

int target__add_tid(struct target *target, uint64_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", tid);
	if (!sys__exists(path))
		return -ESRCH;
	say(target, "thread %" PRIu64, tid);
	return add_id(&target->tids, tid, start_of(tid));
}

int target__add_name(struct target *target, const char *name)
{
	if (!*name || strlen(name) >= TARGET_NAME_BYTES)
		return -ENAMETOOLONG;
	if (target->name_count == TARGET_MOST_NAMES)
		return -E2BIG;
	snprintf(target->names[target->name_count++], TARGET_NAME_BYTES, "%s", name);
	say(target, "commands named '%s' and their children", name);
	return 0;
}

int target__add_cgroup(struct target *target, const char *path)
{
	char full[512];
	struct stat info;

	/* As given, or below the usual mount point. A cgroup's id is its folder's inode. */
	snprintf(full, sizeof(full), "/sys/fs/cgroup/%s", path);
	if (stat(path, &info) && stat(full, &info))
		return -ENOENT;
	if (!S_ISDIR(info.st_mode))
		return -ENOENT;
	say(target, "cgroup %s", path);
	return add_id(&target->cgroups, info.st_ino, 0);
}

void target__add_all(struct target *target)
{
	target->all = true;
	say(target, "all threads");
}

bool target__is_empty(const struct target *target)
{
	return !target->all && !target->pids.count && !target->tids.count &&
	       !target->cgroups.count && !target->name_count;
}

bool target__is_by_number(const struct target *target)
{
	return (target->pids.count || target->tids.count) && !target->all &&
	       !target->cgroups.count && !target->name_count;
}

bool target__forget_ended(struct target *target)
{
	forget_ended(&target->pids);
	forget_ended(&target->tids);
	return !target__is_empty(target);
}

static bool has_name(const struct target *target, const char *pid)
{
	char path[64], comm[64];

	snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
	if (sys__read_line(path, comm, sizeof(comm)))
		return false;
	for (size_t i = 0; i < target->name_count; i++)
		if (!strcmp(comm, target->names[i]))
			return true;
	return false;
}

void target__processes(const struct target *target, void (*take)(void *context, pid_t pid),
		       void *context)
{
	cleanup(closedir_p) DIR *proc = target->name_count ? opendir("/proc") : NULL;
	struct dirent *entry;

	for (size_t i = 0; i < target->pids.count; i++)
		take(context, (pid_t)target->pids.ids[i]);
	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0 && has_name(target, entry->d_name))
			take(context, atoi(entry->d_name));
}
