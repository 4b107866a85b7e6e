/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/target.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "core/cgroups.h"
#include "core/sys.h"
#include "stacks/maps.h"

/* The description lists at most this many numbers; further ones are only counted. */
#define MOST_SAID 8

static void add_numbers(struct strbuf *words, const char *one, const char *many,
			const struct target_ids *ids)
{
	size_t said = ids->count > MOST_SAID ? MOST_SAID : ids->count;

	if (!ids->count)
		return;
	strbuf__add(words, "%s%s", words->length ? ", " : "", ids->count == 1 ? one : many);
	for (size_t i = 0; i < said; i++)
		strbuf__add(words, "%s %" PRIu64, i ? "," : "", ids->ids[i]);
	if (ids->count > said)
		strbuf__add(words, " and %zu more", ids->count - said);
}

/* Rebuilds the whole description, because several processes are listed in one phrase. */
static void describe(struct target *target)
{
	struct strbuf words = { target->words, sizeof(target->words), 0 };

	target->words[0] = '\0';
	add_numbers(&words, "process", "processes", &target->pids);
	if (target->pids.count)
		strbuf__add(&words, " and %s children", target->pids.count == 1 ? "its" : "their");
	add_numbers(&words, "thread", "threads", &target->tids);
	if (target->others[0])
		strbuf__add(&words, "%s%s", words.length ? ", " : "", target->others);
}

__attribute__((format(printf, 2, 3))) static void say(struct target *target, const char *format,
						      ...)
{
	struct strbuf words = { target->others, sizeof(target->others), strlen(target->others) };
	char phrase[sizeof(target->others)];
	va_list args;

	va_start(args, format);
	vsnprintf(phrase, sizeof(phrase), format, args);
	va_end(args);
	strbuf__add(&words, "%s%s", words.length ? ", " : "", phrase);
	describe(target);
}

/* When a process or thread started, in clock ticks; 0: it does not exist or has ended. */
static uint64_t start_of(uint64_t id)
{
	char path[64], text[1024];
	struct maps_stat stat;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", id);
	if (sys__read_line(path, text, sizeof(text)) || maps__parse_stat(text, &stat))
		return 0;
	/* The main thread is also a 'Z' if it ended before the other threads. */
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

/* Adds a process or thread. Ignores duplicates. */
static int add_number(struct target *target, struct target_ids *ids, uint64_t id)
{
	int err;

	for (size_t i = 0; i < ids->count; i++)
		if (ids->ids[i] == id)
			return 0;
	err = add_id(ids, id, start_of(id));
	describe(target);
	return err;
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
	return add_number(target, &target->pids, pid);
}

int target__add_tid(struct target *target, uint64_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", tid);
	if (!sys__exists(path))
		return -ESRCH;
	return add_number(target, &target->tids, tid);
}

int target__add_name(struct target *target, const char *name)
{
	int err;

	if (target->name_count == TARGET_MOST_NAMES)
		return -E2BIG;
	err = glob__compile(name, &target->names[target->name_count]);
	if (err)
		return err;
	target->name_count++;
	say(target, "commands named '%s' and their children", name);
	return 0;
}

/* A script starts with "#!": the process runs the interpreter, not this file. */
static bool is_script(const char *path)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[2];

	return fd >= 0 && read(fd, head, sizeof(head)) == sizeof(head) && !memcmp(head, "#!", 2);
}

int target__add_exe(struct target *target, const char *path)
{
	struct stat info;
	int fd;

	if (target->exe_count == TARGET_MOST_EXES)
		return -E2BIG;
	if (stat(path, &info))
		return -errno;
	if (S_ISDIR(info.st_mode))
		return -EISDIR;
	if (!S_ISREG(info.st_mode) || !(info.st_mode & 0111))
		return -EACCES;
	if (is_script(path))
		return -ENOEXEC;
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	target->exe_fds[target->exe_count++] = fd;
	say(target, "processes of %s and their children", path);
	return 0;
}

int target__add_user(struct target *target, const char *user)
{
	const struct passwd *entry = getpwnam(user);
	uint64_t number;

	if (target->user_count == TARGET_MOST_USERS)
		return -E2BIG;
	if (!entry && parse__number(user, 0, UINT32_MAX - 1, &number))
		return -ENOENT;
	target->users[target->user_count++] = entry ? entry->pw_uid : (uint32_t)number;
	say(target, "user %s", user);
	return 0;
}

int target__add_cgroup(struct target *target, const char *path)
{
	uint64_t id;
	int err = cgroups__find(path, &id);

	if (err)
		return err;
	say(target, "cgroup %s", path);
	return add_id(&target->cgroups, id, 0);
}

static int take_cgroup(void *to, const char *path, uint64_t id)
{
	return add_id(to, id, 0);
}

/* Adds all cgroups for which `fits` holds. -ENOENT: none; -ENOTUNIQ: more than `most`. */
static int add_fitting(struct target *target, bool (*fits)(const void *, const char *),
		       const char *name, size_t most)
{
	struct target_ids found = {};
	int err = cgroups__each(fits, name, take_cgroup, &found);

	if (!err && !found.count)
		err = -ENOENT;
	if (!err && found.count > most)
		err = -ENOTUNIQ;
	for (size_t i = 0; !err && i < found.count; i++)
		err = add_id(&target->cgroups, found.ids[i], 0);
	return err;
}

int target__add_unit(struct target *target, const char *name)
{
	int err = add_fitting(target, cgroups__is_unit, name, TARGET_MOST_IDS);

	if (!err)
		say(target, "unit %s", name);
	return err;
}

int target__add_container(struct target *target, const char *prefix)
{
	int err = add_fitting(target, cgroups__is_container, prefix, 1);

	if (!err)
		say(target, "container %s", prefix);
	return err;
}

void target__add_all(struct target *target)
{
	target->all = true;
	say(target, "all threads");
}

bool target__is_empty(const struct target *target)
{
	return !target->all && !target->pids.count && !target->tids.count &&
	       !target->cgroups.count && !target->name_count && !target->exe_count &&
	       !target->user_count;
}

bool target__has_descendants(const struct target *target)
{
	return !target->no_descendants &&
	       (target->pids.count || target->name_count || target->exe_count);
}

bool target__is_by_number(const struct target *target)
{
	return (target->pids.count || target->tids.count) && !target->all &&
	       !target->cgroups.count && !target->name_count && !target->exe_count &&
	       !target->user_count;
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
		if (glob__matches(&target->names[i], comm))
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
