/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A name is looked up once, when its number first appears, because the process may be gone later.
 * An object without a name keeps its number, so nothing is left out.
 */
#include "record/names.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "bpf/unwind.h"
#include "record/confines.h"
#include "record/describe.h"
#include "record/mapped.h"
#include "record/pipes.h"
#include "record/process_memory.h"
#include "record/strangers.h"
#include "runtimes/runtimes.h"
#include "vocabulary/states.h"

/* Limits, because a run may last for weeks. Everything beyond them shares OTHER_NAME. */
#define MOST_OBJECTS 65536
/* Processes whose memory is read at a time, each for about 20 µs. The others have their turn later.
 */
#define MOST_READ 64

struct process {
	int64_t id;
	uint64_t start_ns;
	uint32_t pid;
	size_t threads;
	uint64_t emptied; /* value of names.sweeps when its last thread ended */
};

struct object {
	int64_t id;
	uint64_t used_ns;
	struct ledger_seen seen;
	bool is_unnamed; /* a lock of Java, for which no process was known or could be read */
};

struct names {
	struct recording *recording;
	struct pipes *pipes;
	struct mapped *mapped;
	struct strangers *strangers;
	struct confines *confines;
	struct runtimes *runtimes; /* NULL: there are no stacks */
	bool no_peers;
	struct map processes; /* by pid: the process that has the pid now */
	struct map objects;   /* by a hash of kind, number and process */
	int64_t last_process;
	int64_t other; /* the shared object beyond MOST_OBJECTS; 0: not needed yet */
	uint64_t sweeps;
	uint64_t overflowed;
	size_t next_read; /* in `processes`: whose memory is read next */
};

int names__new(struct recording *recording, struct names **ret)
{
	struct names *names = calloc(1, sizeof(*names));
	int err = names ? pipes__new(&names->pipes) : -ENOMEM;

	if (!err)
		err = mapped__new(&names->mapped);
	if (!err)
		err = strangers__new(recording, &names->strangers);
	if (!err)
		err = confines__new(recording, &names->confines);
	if (err) {
		names__free(names);
		return err;
	}
	names->recording = recording;
	*ret = names;
	return 0;
}

void names__skip_peers(struct names *names)
{
	names->no_peers = true;
}

void names__free(struct names *names)
{
	if (!names)
		return;
	map__free_values(&names->processes);
	map__free_values(&names->objects);
	strangers__free(names->strangers);
	confines__free(names->confines);
	pipes__free(names->pipes);
	mapped__free(names->mapped);
	free(names);
}

static int write_process(struct names *names, const struct ledger_record *record, int64_t id)
{
	char cgroup[512], container[65];
	char comm[WIRE_COMM_BYTES + 1] = "";
	int err;

	memcpy(comm, record->comm, WIRE_COMM_BYTES);
	confines__path(record->pid, cgroup, sizeof(cgroup));
	err = recording__put_process(names->recording,
				     &(struct recording_process) {
					     .id = id,
					     .pid = (int)record->pid,
					     .parent_pid = (int)record->parent_pid,
					     .start_ns = (int64_t)record->process_start_ns,
					     .comm = comm,
					     .cgroup = cgroup[0] ? cgroup : NULL,
					     .container = confines__container(cgroup, container),
				     });
	return err ? err : confines__add(names->confines, id, record->pid);
}

int names__process(struct names *names, const struct ledger_record *record, int64_t *ret_id)
{
	struct process *process = map__get(&names->processes, record->pid);
	int err;

	if (process && process->start_ns == record->process_start_ns) {
		process->threads++;
		*ret_id = process->id;
		return names__renamed(names, record, process->id);
	}
	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || map__put(&names->processes, record->pid, process)) {
			free(process);
			return -ENOMEM;
		}
	}
	*process = (struct process) { .id = ++names->last_process,
				      .start_ns = record->process_start_ns,
				      .pid = record->pid,
				      .threads = 1 };
	err = write_process(names, record, process->id);
	if (!err)
		*ret_id = process->id;
	return err;
}

int64_t names__process_since(const struct names *names, uint32_t pid, uint64_t start_ticks)
{
	const struct process *process = map__get(&names->processes, pid);

	return process && process->start_ns / UNWIND_TICK_NS == start_ticks ? process->id : 0;
}

int names__renamed(struct names *names, const struct ledger_record *record, int64_t process)
{
	return record->tid == record->pid ? write_process(names, record, process) : 0;
}

void names__thread_ended(struct names *names, uint32_t pid, int64_t id)
{
	struct process *process = map__get(&names->processes, pid);

	if (process && process->id == id && !--process->threads)
		process->emptied = names->sweeps;
}

static bool is_over(void *context, uint64_t pid, void *value)
{
	const struct names *names = context;
	struct process *process = value;

	if (process->threads || names->sweeps - process->emptied < 2)
		return false;
	free(process);
	return true;
}

void names__sweep(struct names *names)
{
	names->sweeps++;
	map__sweep(&names->processes, is_over, names);
}

/* Files, pipes and sockets are global; a futex address is valid only in the waiter's process. */
static uint64_t object_key(const struct ledger_key *key)
{
	uint64_t hash =
		map__mix(map__mix(map__mix(0, key->object_kind), key->object[0]), key->object[1]);

	/* Not those of Java: signals do not know the process, and the class is an address too. */
	return key->object_kind == OBJECT_FUTEX ? map__mix(hash, key->pid) : hash;
}

/* The shared object for all beyond the limit. */
static int find_other(struct names *names, int64_t *ret_id)
{
	int err = 0;

	if (!names->other) {
		names->other = recording__next_object(names->recording);
		err = recording__put_object(
			names->recording,
			&(struct recording_object) {
				names->other, states__object_kind(OBJECT_OTHER), OTHER_NAME });
	}
	if (!err)
		*ret_id = names->other;
	return err;
}

/* The object of this key, created if it is new. *ret_new: the caller must write its name. */
static int find_object(struct names *names, const struct ledger_key *key, bool *ret_new,
		       int64_t *ret_id)
{
	uint64_t hash = object_key(key);
	struct object *object = map__get(&names->objects, hash);

	*ret_new = !object;
	if (!object && (key->object_kind == OBJECT_OTHER || names->objects.count >= MOST_OBJECTS)) {
		*ret_new = false;
		return find_other(names, ret_id);
	}
	if (!object) {
		object = calloc(1, sizeof(*object));
		if (!object || map__put(&names->objects, hash, object)) {
			free(object);
			return -ENOMEM;
		}
		object->id = recording__next_object(names->recording);
		object->is_unnamed = OBJECT_IS_OF_JAVA(key->object_kind) && key->object[1];
		object->seen = (struct ledger_seen) { { key->object[0], key->object[1] },
						      key->object_kind };
	}
	object->used_ns = clock__now_ns();
	*ret_id = object->id;
	return 0;
}

void names__set_runtimes(struct names *names, struct runtimes *runtimes)
{
	names->runtimes = runtimes;
}

/*
 * "java.util.concurrent.locks.ReentrantLock": the object that a thread parks for is a part of the
 * lock, of a class inside the lock's.
 */
static int name_class(struct names *names, const struct ledger_key *key, struct object *object)
{
	static const char *const parts[] = { "$NonfairSync", "$FairSync", "$Sync" };
	char name[256], *end;

	if (!object || !object->is_unnamed || !names->runtimes || !key->pid)
		return 0;
	object->is_unnamed = false;
	if (runtimes__class(names->runtimes, key->pid, key->object[1], name, sizeof(name)))
		return 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		end = strstr(name, parts[i]);
		if (end && end != name && !end[strlen(parts[i])])
			*end = '\0';
	}
	return recording__put_object(
		names->recording,
		&(struct recording_object) { object->id, states__object_kind(key->object_kind),
					     name });
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
	err = find_object(names, key, &is_new, ret_id);
	if (!err && *ret_id == names->other && key->object_kind != OBJECT_OTHER)
		names->overflowed++;
	if (!err && is_new) {
		describe__plainly(key, name, sizeof(name));
		err = recording__put_object(
			names->recording,
			&(struct recording_object) { *ret_id, states__object_kind(key->object_kind),
						     name });
	}
	if (!err && OBJECT_IS_OF_JAVA(key->object_kind))
		err = name_class(names, key, map__get(&names->objects, object_key(key)));
	return err;
}

int names__object_of_signal(void *context, uint32_t kind, const __u64 numbers[2], int64_t *ret_id)
{
	bool is_futex = kind == OBJECT_FUTEX;
	const struct ledger_key key = {
		.object = { numbers[0], is_futex ? 0 : numbers[1] },
		.object_kind = (uint8_t)kind,
		.pid = is_futex ? (uint32_t)numbers[1] : 0,
	};

	return names__object(context, &key, ret_id);
}

bool names__is_other(const struct names *names, int64_t object)
{
	return object == names->other;
}

int names__describe(struct names *names, const struct ledger_object_record *record)
{
	struct ledger_key key = { .object = { record->object[0], record->object[1] },
				  .object_kind = record->kind };
	char name[512];
	bool is_new;
	int64_t id;
	int err = find_object(names, &key, &is_new, &id);

	if (err || id == names->other)
		return err;
	describe__plainly(&key, name, sizeof(name));
	describe__object(names->mapped, record, name, sizeof(name));
	if (record->kind == OBJECT_PIPE && !names->no_peers)
		pipes__add_ends(names->pipes, record, name, sizeof(name));
	return recording__put_object(
		names->recording,
		&(struct recording_object) { id, states__object_kind(record->kind), name });
}

int names__culprit(struct names *names, const struct ledger_key *key, int64_t *ret_id)
{
	switch (key->by_kind) {
	case BY_THREAD:
		*ret_id = (int64_t)key->by;
		return 0;
	case BY_INTERRUPT:
		*ret_id = NAMES_INTERRUPT;
		return 0;
	case BY_TIMEOUT:
		*ret_id = NAMES_TIMEOUT;
		return 0;
	case BY_UNACCOUNTED:
		return strangers__find(names->strangers, key->by, ret_id);
	default:
		*ret_id = 0;
		return 0;
	}
}

int names__occupant(struct names *names, const struct ledger_occupant_key *key,
		    const struct ledger_occupant *sum, int64_t *ret_id)
{
	struct stranger_facts facts = { .tid = sum->tid,
					.pid = sum->pid,
					.start = (key->by & ~OCCUPANT_UNACCOUNTED) >> 32 };

	if (!(key->by & OCCUPANT_UNACCOUNTED)) {
		*ret_id = (int64_t)key->by;
		return 0;
	}
	memcpy(facts.comm, sum->comm, WIRE_COMM_BYTES);
	memcpy(facts.process, sum->process, WIRE_COMM_BYTES);
	return strangers__find_named(names->strangers, &facts, ret_id);
}

int names__first_holder(struct names *names, const struct ledger_key *key, int64_t *ret_id)
{
	if (key->first & FIRST_UNACCOUNTED)
		return strangers__find(names->strangers, key->first & ~FIRST_UNACCOUNTED, ret_id);
	*ret_id = (int64_t)key->first;
	return 0;
}

uint64_t names__overflowed(const struct names *names)
{
	return names->overflowed + strangers__overflowed(names->strangers);
}

struct sweep {
	struct names *names;
	uint64_t before_ns;
	int objects_fd;
	int err; /* the first error */
};

static void drop(struct sweep *sweep, enum recording_dropped what, int64_t id)
{
	int err = recording__drop(sweep->names->recording, what, id);

	if (!sweep->err)
		sweep->err = err;
}

/* Also clears it in the kernel half's map, so that it is described again if it comes back. */
static bool forget_object(void *context, uint64_t key, void *value)
{
	struct sweep *sweep = context;
	struct object *object = value;

	if (object->used_ns >= sweep->before_ns)
		return false;
	(void)bpf_map_delete_elem(sweep->objects_fd, &object->seen);
	drop(sweep, RECORDING_DROP_OBJECT, object->id);
	free(object);
	return true;
}

int names__forget(struct names *names, uint64_t before_ns, int objects_fd)
{
	struct sweep sweep = { names, before_ns, objects_fd, 0 };

	map__sweep(&names->objects, forget_object, &sweep);
	return sweep.err ? sweep.err : strangers__forget(names->strangers, before_ns);
}

int names__finish(struct names *names)
{
	struct process *process;
	size_t at = 0;
	int err = 0;

	/* They may be in other cgroups by now. */
	while (!err && (process = map__next(&names->processes, &at)))
		if (process->threads)
			err = confines__add(names->confines, process->id, process->pid);
	return err ? err : confines__finish(names->confines);
}

int names__write_memory(struct names *names, int64_t slice, uint64_t time_ns)
{
	struct process *process = NULL;
	int err = confines__write(names->confines, slice);

	for (int i = 0; !err && i < MOST_READ; i++) {
		process = map__next(&names->processes, &names->next_read);
		if (!process)
			break;
		if (process->threads)
			err = process_memory__write(names->recording, process->id, process->pid,
						    time_ns);
	}
	if (!process)
		names->next_read = 0;
	return err;
}
