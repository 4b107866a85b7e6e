/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/describe.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/address.h"
#include "base/cleanup.h"
#include "core/devices.h"
#include "vocabulary/calls.h"
#include "vocabulary/states.h"

/*
 * Reads the inode from fdinfo, which comes from memory. stat() could ask a file server and hang as
 * the target does. Kernels before 5.14 have no "ino:" there; then the file keeps its number.
 */
static bool is_inode(const struct ledger_object_record *record)
{
	cleanup(fclose_p) FILE *file = NULL;
	char path[64], line[256];
	uint64_t inode;

	snprintf(path, sizeof(path), "/proc/%u/fdinfo/%d", record->pid, record->fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "ino: %" SCNu64, &inode) == 1)
			return inode ==
			       (record->kind == OBJECT_KERNEL ? record->inode : record->object[0]);
	return false;
}

static void add_device(const struct ledger_object_record *record, char *name, size_t size)
{
	size_t length = strlen(name);
	char device[64];

	if (!devices__under_file((uint32_t)record->object[1], record->pid, device, sizeof(device)))
		snprintf(name + length, size - length, " on %s", device);
}

/* False if the descriptor refers to another file by now. */
static bool find_descriptor(const struct ledger_object_record *record, char *name, size_t size)
{
	char path[64];
	ssize_t length;

	if (record->fd < 0 || !is_inode(record))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/fd/%d", record->pid, record->fd);
	length = readlink(path, name, size - 1);
	if (length <= 0)
		return false;
	name[length] = '\0';
	return true;
}

/*
 * A file may have no descriptor: it was closed after it was mapped, or registered with io_uring.
 * The name that the kernel half sent, without a folder, is better than none.
 */
static void name_file(struct mapped *mapped, const struct ledger_object_record *record, char *name,
		      size_t size)
{
	bool is_file = record->kind == OBJECT_FILE;

	if (!find_descriptor(record, name, size) &&
	    (!is_file || !mapped__find(mapped, record, name, size))) {
		if (!is_file || !record->name[0])
			return;
		snprintf(name, size, "%.*s", (int)sizeof(record->name) - 1, record->name);
	}
	if (is_file)
		add_device(record, name, size);
}

void describe__comm(uint32_t tid, char *comm, size_t size)
{
	char path[64];
	cleanup(fclose_p) FILE *file = NULL;

	snprintf(path, sizeof(path), "/proc/%u/comm", tid);
	file = fopen(path, "re");
	if (file && fgets(comm, (int)size, file))
		comm[strcspn(comm, "\n")] = '\0';
	else
		snprintf(comm, size, "?");
}

/* The kernel's name is for example "[eventfd]". */
static void name_anonymous(const struct ledger_object_record *record, char *name, size_t size)
{
	const char *what = record->name + (record->name[0] == '[');
	size_t length = strnlen(what, sizeof(record->name) - 1);
	char comm[32];

	if (!length)
		return;
	if (what[length - 1] == ']')
		length--;
	describe__comm(record->pid, comm, sizeof(comm));
	snprintf(name, size, "%.*s %d of %s (pid %u)", (int)length, what, record->fd, comm,
		 record->pid);
}

static void name_socket(const struct ledger_object_record *record, char *name, size_t size)
{
	const struct address_ends ends = { record->family, record->local, record->peer,
					   record->local_port, record->peer_port };
	char comm[32];

	if (ADDRESS_IS_KNOWN(record->family)) {
		address__connection(&ends, name, size);
		return;
	}
	if (!record->peer_pid)
		return;
	describe__comm(record->peer_pid, comm, sizeof(comm));
	snprintf(name, size, "unix socket to %s (pid %u)", comm, record->peer_pid);
}

/* The folder is known only if the waiter has a descriptor of the file. */
static void name_kernel_lock(const struct ledger_object_record *record, char *name, size_t size)
{
	char file[256];

	if (!find_descriptor(record, file, sizeof(file)))
		snprintf(file, sizeof(file), "%.*s", (int)sizeof(record->name) - 1, record->name);
	if (file[0])
		snprintf(name, size, "i_rwsem of %s", file);
}

void describe__object(struct mapped *mapped, const struct ledger_object_record *record, char *name,
		      size_t size)
{
	if (record->kind == OBJECT_SOCKET)
		name_socket(record, name, size);
	else if (record->kind == OBJECT_KERNEL)
		name_kernel_lock(record, name, size);
	else if (record->kind == OBJECT_ANONYMOUS)
		name_anonymous(record, name, size);
	else
		name_file(mapped, record, name, size);
}

static void name_inode_plainly(const struct ledger_key *key, char *name, size_t size)
{
	uint32_t dev = (uint32_t)key->object[1];
	char device[64];

	if (devices__under_file(dev, (uint32_t)getpid(), device, sizeof(device)))
		snprintf(device, sizeof(device), "device %u:%u", DEVICES_MAJOR(dev),
			 DEVICES_MINOR(dev));
	snprintf(name, size, "inode %" PRIu64 " on %s", (uint64_t)key->object[0], device);
}

/* Names of files come later, in a description. */
static void name_lock_plainly(const struct ledger_key *key, char *name, size_t size)
{
	uint32_t pid = (uint32_t)(key->object[1] >> 32);
	char comm[32];

	switch ((uint32_t)key->object[1]) {
	case KERNEL_LOCK_MMAP:
		describe__comm(pid, comm, sizeof(comm));
		snprintf(name, size, "mmap_lock of %s (pid %" PRIu32 ")", comm, pid);
		break;
	case KERNEL_LOCK_INODE:
		snprintf(name, size, "i_rwsem 0x%" PRIx64, (uint64_t)key->object[0]);
		break;
	default:
		snprintf(name, size, "0x%" PRIx64, (uint64_t)key->object[0]);
	}
}

void describe__plainly(const struct ledger_key *key, char *name, size_t size)
{
	uint64_t number = key->object[0];

	switch (key->object_kind) {
	case OBJECT_FUTEX:
		if (key->slot == SLOT_WAIT_GIL)
			snprintf(name, size, "GIL");
		else if (key->slot == SLOT_WAIT_SAFEPOINT)
			snprintf(name, size, "safepoint");
		else
			snprintf(name, size, "0x%" PRIx64, number);
		break;
	case OBJECT_MONITOR:
	case OBJECT_JAVA_LOCK:
		snprintf(name, size, "0x%" PRIx64, number);
		break;
	case OBJECT_KERNEL:
		name_lock_plainly(key, name, size);
		break;
	case OBJECT_MEMORY:
		snprintf(name, size, "memory limit or reclaim");
		break;
	case OBJECT_SYSCALL:
		snprintf(name, size, "%s", calls__name((uint32_t)number));
		break;
	case OBJECT_CHILD:
		if (number)
			snprintf(name, size, "child %" PRIu64, number);
		else
			snprintf(name, size, "any child");
		break;
	case OBJECT_FILE:
		name_inode_plainly(key, name, size);
		break;
	case OBJECT_ANONYMOUS:
		snprintf(name, size, "%" PRIu32 ", of an anonymous file", (uint32_t)key->object[1]);
		break;
	default:
		snprintf(name, size, "%s:[%" PRIu64 "]", states__object_kind(key->object_kind),
			 number);
	}
}
