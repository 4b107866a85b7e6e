/*
 * A name is looked up once, when its number first appears, because later the process may be gone.
 * What cannot be named keeps its number: nothing vanishes.
 */
#include "ledger/names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "ledger/states.h"

/* Threads that have no account get ids out of the way of those that have. */
#define STRANGER_BASE (INT64_C(1) << 40)

/* CO-RE gives the kernel's dev_t: 12 bits major, 20 bits minor. */
#define KERNEL_MINOR_BITS 20

struct process {
	int64_t id;
	uint64_t start_ns;
	size_t threads;
};

struct object {
	int64_t id;
};

struct names {
	struct recording *recording;
	struct map processes; /* by pid: the one that has it now */
	struct map objects;   /* by a hash of kind, number and process */
	struct map strangers; /* by tid */
	int64_t last_process;
	int64_t last_object;
};

int names__new(struct recording *recording, struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));

	if (!names)
		return -ENOMEM;
	names->recording = recording;
	*ret = names;
	return 0;
}

static void free_values(struct map *map)
{
	size_t at = 0;
	void *value;

	while ((value = map__next(map, &at)))
		free(value);
	map__release(map);
}

void names__free(struct names *names)
{
	if (!names)
		return;
	free_values(&names->processes);
	free_values(&names->objects);
	map__release(&names->strangers);
	free(names);
}

/* The path in the unified hierarchy: the line "0::/path". */
static void read_cgroup(uint32_t pid, char *path, size_t size)
{
	cleanup(fclose_p)
	FILE *file = NULL;
	char name[64], line[512];

	path[0] = '\0';
	snprintf(name, sizeof(name), "/proc/%u/cgroup", pid);
	file = fopen(name, "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			snprintf(path, size, "%s", line + 3);
	}
}

/* Container runtimes put the container's id, 64 hex digits, into the cgroup's name. */
static const char *container_in(const char *cgroup, char id[65])
{
	for (const char *at = cgroup; *at; at++) {
		size_t digits = strspn(at, "0123456789abcdef");

		if (digits == 64) {
			memcpy(id, at, 64);
			id[64] = '\0';
			return id;
		}
		if (digits)
			at += digits - 1;
	}
	return NULL;
}

static int write_process(struct names *names, const struct ledger_record *record, int64_t id)
{
	char cgroup[512], container[65];
	char comm[WIRE_COMM_BYTES + 1] = "";

	memcpy(comm, record->comm, WIRE_COMM_BYTES);
	read_cgroup(record->pid, cgroup, sizeof(cgroup));
	return recording__put_process(names->recording,
				      &(struct recording_process) {
					      .id = id,
					      .pid = (int)record->pid,
					      .parent_pid = (int)record->parent_pid,
					      .start_ns = (int64_t)record->process_start_ns,
					      .comm = comm,
					      .cgroup = cgroup[0] ? cgroup : NULL,
					      .container = container_in(cgroup, container),
				      });
}

int names__process(struct names *names, const struct ledger_record *record, int64_t *ret_id)
{
	struct process *process = map__get(&names->processes, record->pid);
	int err;

	if (process && process->start_ns == record->process_start_ns) {
		process->threads++;
		*ret_id = process->id;
		return 0;
	}
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || map__put(&names->processes, record->pid, process)) {
			free(process);
			return -ENOMEM;
		}
	}
	*process = (struct process) { ++names->last_process, record->process_start_ns, 1 };
	err = write_process(names, record, process->id);
	if (!err)
		*ret_id = process->id;
	return err;
}

int names__renamed(struct names *names, const struct ledger_record *record, int64_t process)
{
	return record->tid == record->pid ? write_process(names, record, process) : 0;
}

void names__thread_ended(struct names *names, const struct ledger_record *record)
{
	struct process *process = map__get(&names->processes, record->pid);

	if (process && process->start_ns == record->process_start_ns && !--process->threads)
		free(map__take(&names->processes, record->pid));
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 33;
}

/* Files, pipes and sockets are the same for everybody; a futex belongs to the waiter's process. */
static uint64_t object_key(const struct ledger_key *key)
{
	uint64_t hash = mix(mix(mix(0, key->object_kind), key->object[0]), key->object[1]);

	return key->object_kind == OBJECT_FUTEX ? mix(hash, key->pid) : hash;
}

/* The object of this key, made if it is new. *ret_new: its name is still to be written. */
static int find_object(struct names *names, uint64_t key, bool *ret_new, int64_t *ret_id)
{
	struct object *object = map__get(&names->objects, key);

	*ret_new = !object;
	if (!object) {
		object = calloc(1, sizeof(*object));
		if (!object || map__put(&names->objects, key, object)) {
			free(object);
			return -ENOMEM;
		}
		object->id = ++names->last_object;
	}
	*ret_id = object->id;
	return 0;
}

static void name_plainly(const struct ledger_key *key, char *name, size_t size)
{
	uint64_t number = key->object[0];

	switch (key->object_kind) {
	case OBJECT_FUTEX:
	case OBJECT_KERNEL:
		snprintf(name, size, "0x%" PRIx64, number);
		break;
	case OBJECT_SYSCALL:
		snprintf(name, size, "%s", states__syscall_name((int)number));
		break;
	case OBJECT_CHILD:
		if (number)
			snprintf(name, size, "child %" PRIu64, number);
		else
			snprintf(name, size, "any child");
		break;
	case OBJECT_FILE:
		snprintf(name, size, "inode %" PRIu64 " on device %u:%u", number,
			 (unsigned)(key->object[1] >> KERNEL_MINOR_BITS),
			 (unsigned)(key->object[1] & ((1U << KERNEL_MINOR_BITS) - 1)));
		break;
	case OBJECT_OTHER:
		snprintf(name, size, "other (too many to name)");
		break;
	default:
		snprintf(name, size, "%s:[%" PRIu64 "]", states__object_kind(key->object_kind),
			 number);
	}
}

int names__object(struct names *names, const struct ledger_key *key, int64_t *ret_id)
{
	char name[128];
	bool is_new;
	int err;

	if (key->object_kind == OBJECT_NONE) {
		*ret_id = 0;
		return 0;
	}
	err = find_object(names, object_key(key), &is_new, ret_id);
	if (err || !is_new)
		return err;
	name_plainly(key, name, sizeof(name));
	return recording__put_object(
		names->recording, &(struct recording_object) {
					  *ret_id, states__object_kind(key->object_kind), name });
}

static void name_file(const struct ledger_object_record *record, char *name, size_t size)
{
	char path[64];
	struct stat info;
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%u/fd/%d", record->pid, record->fd);
	/* The descriptor may be another file's by now: only a matching inode counts. */
	if (stat(path, &info) || info.st_ino != record->object[0])
		return;
	length = readlink(path, name, size - 1);
	if (length > 0)
		name[length] = '\0';
}

static void name_socket(const struct ledger_object_record *record, char *name, size_t size)
{
	char local[INET6_ADDRSTRLEN] = "?", peer[INET6_ADDRSTRLEN] = "?";
	char comm[32] = "", path[64];
	cleanup(fclose_p)
	FILE *file = NULL;

	if (record->family == AF_INET || record->family == AF_INET6) {
		inet_ntop(record->family, record->local, local, sizeof(local));
		inet_ntop(record->family, record->peer, peer, sizeof(peer));
		if (record->family == AF_INET6)
			snprintf(name, size, "[%s]:%u ↔ [%s]:%u", local, record->local_port, peer,
				 record->peer_port);
		else
			snprintf(name, size, "%s:%u ↔ %s:%u", local, record->local_port, peer,
				 record->peer_port);
		return;
	}
	if (!record->peer_pid)
		return;
	snprintf(path, sizeof(path), "/proc/%u/comm", record->peer_pid);
	file = fopen(path, "re");
	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	snprintf(name, size, "unix socket to %s (pid %u)", comm[0] ? comm : "?", record->peer_pid);
}

int names__describe(struct names *names, const struct ledger_object_record *record)
{
	struct ledger_key key = { .object = { record->object[0], record->object[1] },
				  .object_kind = record->kind };
	char name[512];
	bool is_new;
	int64_t id;
	int err = find_object(names, object_key(&key), &is_new, &id);

	if (err)
		return err;
	name_plainly(&key, name, sizeof(name));
	if (record->kind == OBJECT_SOCKET)
		name_socket(record, name, sizeof(name));
	else
		name_file(record, name, sizeof(name));
	return recording__put_object(
		names->recording,
		&(struct recording_object) { id, states__object_kind(record->kind), name });
}

static int write_stranger(struct names *names, uint64_t tid, int64_t id)
{
	char path[64], comm[32] = "?";
	cleanup(fclose_p)
	FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", tid);
	file = fopen(path, "re");
	if (file && fgets(comm, sizeof(comm), file))
		comm[strcspn(comm, "\n")] = '\0';
	return recording__put_thread(
		names->recording,
		&(struct recording_thread) { .id = id,
					     .tid = (int)tid,
					     .comm = tid ? comm : "[idle]",
					     .flags = RECORDING_THREAD_NO_ACCOUNT });
}

int names__culprit(struct names *names, const struct ledger_key *key, int64_t *ret_id)
{
	int64_t id = STRANGER_BASE + (int64_t)key->by;
	int err;

	switch (key->by_kind) {
	case BY_THREAD:
		*ret_id = (int64_t)key->by;
		return 0;
	case BY_INTERRUPT:
		*ret_id = NAMES_INTERRUPT;
		return 0;
	case BY_STRANGER:
		break;
	default:
		*ret_id = 0;
		return 0;
	}
	if (!map__get(&names->strangers, (uint64_t)id)) {
		err = write_stranger(names, key->by, id);
		if (!err)
			err = map__put(&names->strangers, (uint64_t)id, names);
		if (err)
			return err;
	}
	*ret_id = id;
	return 0;
}
