#include "core/target.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "core/sys.h"

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

static int add_id(struct target_ids *ids, uint64_t id)
{
	if (ids->count == TARGET_MOST_IDS)
		return -E2BIG;
	ids->ids[ids->count++] = id;
	return 0;
}

/* The kernel's view of /proc: a process has a folder, and every thread has one below its process.
 */
static bool is_there(uint64_t id)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", id);
	return sys__exists(path);
}

int target__add_pid(struct target *target, uint64_t pid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/task/%" PRIu64, pid, pid);
	if (!sys__exists(path))
		return -ESRCH;
	say(target, "process %" PRIu64 " and its children", pid);
	return add_id(&target->pids, pid);
}

int target__add_tid(struct target *target, uint64_t tid)
{
	if (!is_there(tid))
		return -ESRCH;
	say(target, "thread %" PRIu64, tid);
	return add_id(&target->tids, tid);
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
	return add_id(&target->cgroups, info.st_ino);
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
