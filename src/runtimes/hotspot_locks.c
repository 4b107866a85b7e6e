/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel half has to know to tell who holds a lock of Java: bpf/runtime.h,
 * ledger/kernel/java_locks.bpf.h.
 *
 * A thread finds its own JavaThread in a variable of libjvm.so, Thread::_thr_current. It is a local
 * symbol, which many libraries do not have. But the list of all threads says which JavaThread
 * belongs to which pthread_t, so the variable is found by its value: the tables of a thread's
 * variables are short.
 */
#include <errno.h>
#include <gelf.h>
#include <string.h>

#include "runtimes/hotspot_fields.h"

#define MOST_BLOCK     4096 /* bytes of the variables of libjvm.so */
#define MOST_TABLE     4096 /* bytes of the table of blocks */
#define MOST_THREADS   16   /* that are looked at */
#define MOST_CLASSES   192
#define LEAST_IN_TABLE 8
#define HANDLES_SINCE  15 /* a monitor has no reference to its object, but the address of one */

/* --- the variable ----------------------------------------------------------------------------- */

static bool has(const struct hotspot *hotspot, enum hotspot_field_id id)
{
	return hotspot->fields[id].is_found;
}

/* Bytes of the library's variables; 0: it has none, or this is another machine than x86-64. */
static size_t block_bytes(const struct runtime_file *file)
{
	GElf_Ehdr machine;
	GElf_Phdr header;
	size_t count = 0;

	if (!file->image || !gelf_getehdr(file->image->elf, &machine) ||
	    machine.e_machine != EM_X86_64 || elf_getphdrnum(file->image->elf, &count))
		return 0;
	for (size_t i = 0; i < count && i < INT32_MAX; i++)
		if (gelf_getphdr(file->image->elf, (int)i, &header) && header.p_type == PT_TLS)
			return header.p_memsz < MOST_BLOCK ? header.p_memsz : MOST_BLOCK;
	return 0;
}

/*
 * Threads that HotSpot has for itself are other classes, most of them derived from JavaThread. The
 * oldest two are of the program, or run code of Java for it: main, "Reference Handler",
 * "Finalizer". Version 8 has the oldest ones last.
 */
static int find_kind(struct subject *subject, uint64_t *ret)
{
	bool is_old = !has(subject->own, HOTSPOT_THREAD_LIST);
	uint64_t list[HOTSPOT_MOST_THREADS], kinds[2];
	bool is_cut;
	int count =
		hotspot__list_threads(subject, list, is_old ? HOTSPOT_MOST_THREADS : 2, &is_cut);

	if (count < 2 || remote__read_u64(subject->memory, list[count - 2], &kinds[0]) ||
	    remote__read_u64(subject->memory, list[count - 1], &kinds[1]) || !kinds[0] ||
	    kinds[0] != kinds[1])
		return -EAGAIN;
	*ret = kinds[0];
	return 0;
}

/* Where in a block the word `wanted` is. */
static bool find_word(struct subject *subject, uint64_t block, size_t bytes, uint64_t wanted,
		      uint16_t *ret)
{
	uint64_t words[MOST_BLOCK / 8];

	bytes &= ~(size_t)7;
	if (!block || !bytes || remote__read(subject->memory, block, words, bytes))
		return false;
	for (size_t i = 0; i < bytes / 8; i++)
		if (words[i] == wanted) {
			*ret = (uint16_t)(8 * i);
			return true;
		}
	return false;
}

/* Looks for `thread` in all blocks of the variables of the pthread_t. */
static int find_in_table(struct subject *subject, uint64_t pthread, uint64_t thread, size_t bytes,
			 struct runtime_java_locks *ret)
{
	uint64_t table, block;

	if (remote__read_u64(subject->memory, pthread + 8, &table))
		return -EAGAIN;
	for (uint32_t at = LEAST_IN_TABLE; at < MOST_TABLE; at += 8) {
		if (remote__read_u64(subject->memory, table + at, &block))
			break;
		if (find_word(subject, block, bytes, thread, &ret->in_block)) {
			ret->block = at;
			return 0;
		}
	}
	return -EAGAIN;
}

static int find_variable(struct subject *subject, struct runtime_java_locks *ret)
{
	const struct hotspot *hotspot = subject->own;
	size_t bytes = block_bytes(&subject->file);
	uint64_t list[MOST_THREADS], os, pthread;
	bool is_cut;
	int count = hotspot__list_threads(subject, list, MOST_THREADS, &is_cut);

	if (!bytes)
		return -ENOTSUP;
	for (int i = 0; i < count; i++)
		if (!hotspot__read_field(subject, hotspot, list[i], HOTSPOT_THREAD_OS, &os) &&
		    !hotspot__read_field(subject, hotspot, os, HOTSPOT_OS_PTHREAD, &pthread) &&
		    !find_in_table(subject, pthread, list[i], bytes, ret))
			return 0;
	return -EAGAIN;
}

/* --- monitors --------------------------------------------------------------------------------- */

static int take(const struct hotspot *hotspot, enum hotspot_field_id id, uint16_t *ret)
{
	const struct hotspot_field *field = &hotspot->fields[id];

	if (!field->is_found || field->value > UINT16_MAX)
		return -ENOTSUP;
	*ret = (uint16_t)field->value;
	return 0;
}

static int find_monitors(struct subject *subject, struct runtime_java_locks *ret)
{
	const struct hotspot *hotspot = subject->own;
	bool has_list =
		has(hotspot, HOTSPOT_THREAD_LIST)
			? has(hotspot, HOTSPOT_LIST_COUNT) && has(hotspot, HOTSPOT_LIST_THREADS)
			: has(hotspot, HOTSPOT_FIRST_THREAD) && has(hotspot, HOTSPOT_NEXT_THREAD);
	uint64_t kind = 0;
	int err = take(hotspot, HOTSPOT_THREAD_PENDING, &ret->pending);

	err = err ?: take(hotspot, HOTSPOT_THREAD_WAITING, &ret->waiting);
	err = err ?: take(hotspot, HOTSPOT_THREAD_OS, &ret->os_thread);
	err = err ?: take(hotspot, HOTSPOT_OS_TID, &ret->tid);
	err = err ?: take(hotspot, HOTSPOT_MONITOR_OBJECT, &ret->object);
	/* From 24 on, the owner is the number of a Thread, which does not lead to it. */
	if (!err && !has(hotspot, HOTSPOT_THREAD_OWNER_ID))
		err = take(hotspot, HOTSPOT_MONITOR_OWNER, &ret->owner);
	if (err || !has_list || !has(hotspot, HOTSPOT_OS_PTHREAD))
		return -ENOTSUP;
	if (hotspot->major >= HANDLES_SINCE)
		ret->flags |= JAVA_MONITOR_HANDLE;
	err = find_kind(subject, &kind);
	ret->kind = kind;
	return err ?: find_variable(subject, ret);
}

/* --- java.util.concurrent --------------------------------------------------------------------- */

static int read_either(struct subject *subject, enum hotspot_field_id id,
		       enum hotspot_field_id other, uint64_t *ret)
{
	const struct hotspot *hotspot = subject->own;

	if (!has(hotspot, id))
		id = other;
	return has(hotspot, id) ? hotspot__read_field(subject, hotspot, 0, id, ret) : -ENOTSUP;
}

/* How references and classes are written in objects. */
static int find_encoding(struct subject *subject, struct runtime_java_locks *ret)
{
	bool flags[HOTSPOT_FLAG_COUNT] = { false };
	uint64_t oop_base, oop_shift, class_base, class_shift;
	int err = hotspot__read_flags(subject, subject->own, flags);

	/* These collectors move objects and change references while the program runs. */
	if (err || flags[HOTSPOT_ZGC] || flags[HOTSPOT_SHENANDOAH] ||
	    flags[HOTSPOT_COMPACT_HEADERS])
		return err ?: -ENOTSUP;
	err = read_either(subject, HOTSPOT_OOP_BASE, HOTSPOT_OOP_BASE_8, &oop_base);
	err = err ?: read_either(subject, HOTSPOT_OOP_SHIFT, HOTSPOT_OOP_SHIFT_8, &oop_shift);
	err = err ?: read_either(subject, HOTSPOT_CLASS_BASE, HOTSPOT_CLASS_BASE_8, &class_base);
	err = err ?: read_either(subject, HOTSPOT_CLASS_SHIFT, HOTSPOT_CLASS_SHIFT_8, &class_shift);
	if (err || oop_shift > 31 || class_shift > 31)
		return -ENOTSUP;
	ret->oop_base = oop_base;
	ret->class_base = class_base;
	ret->oop_shift = (uint8_t)oop_shift;
	ret->class_shift = (uint8_t)class_shift;
	if (flags[HOTSPOT_SHORT_OOPS])
		ret->flags |= JAVA_SHORT_OOPS;
	if (flags[HOTSPOT_SHORT_CLASSES])
		ret->flags |= JAVA_SHORT_CLASSES;
	return 0;
}

/* The class is one of those that HotSpot itself needs, in a table that begins with Object. */
static int find_synchronizer(struct subject *subject, uint64_t *ret)
{
	uint64_t table = ((const struct hotspot *)subject->own)->fields[HOTSPOT_OBJECT_CLASS].value;
	char name[128];
	uint64_t class;

	for (uint64_t i = 0; i < MOST_CLASSES; i++) {
		if (remote__read_u64(subject->memory, table + 8 * i, &class))
			break;
		if (!class || hotspot_method__class(subject, class, name, sizeof(name)) ||
		    strcmp(name, "java.util.concurrent.locks.AbstractOwnableSynchronizer") != 0)
			continue;
		*ret = class;
		return 0;
	}
	return -EAGAIN;
}

/* Offsets in objects of Java are small. */
static int take_java_field(struct subject *subject, uint64_t class, const char *name, uint16_t *ret)
{
	uint32_t offset;
	int err = hotspot_fields__find(subject, class, name, &offset);

	if (err)
		return err == -EFAULT ? -EAGAIN : err;
	if (offset > UINT16_MAX)
		return -ENOTSUP;
	*ret = (uint16_t)offset;
	return 0;
}

static int find_classes(struct subject *subject, struct runtime_java_locks *ret)
{
	const struct hotspot *hotspot = subject->own;
	uint64_t thread, synchronizer, depth;
	int err;

	if (!has(hotspot, HOTSPOT_OBJECT_CLASS) || !has(hotspot, HOTSPOT_THREAD_CLASS) ||
	    !has(hotspot, HOTSPOT_KLASS_DEPTH))
		return -ENOTSUP;
	err = hotspot__read_field(subject, hotspot, 0, HOTSPOT_THREAD_CLASS, &thread);
	if (err || !thread)
		return -EAGAIN;
	err = take_java_field(subject, thread, "parkBlocker", &ret->blocker);
	err = err ?: take_java_field(subject, thread, "eetop", &ret->java_thread);
	err = err ?: find_synchronizer(subject, &synchronizer);
	err = err
		      ?: take_java_field(subject, synchronizer, "exclusiveOwnerThread",
					 &ret->exclusive);
	err = err
		      ?: hotspot__read_field(subject, hotspot, synchronizer, HOTSPOT_KLASS_DEPTH,
					     &depth);
	if (err)
		return err == -EFAULT ? -EAGAIN : err;
	if (depth > UINT16_MAX)
		return -ENOTSUP;
	ret->ancestor = (uint16_t)depth;
	ret->synchronizer = synchronizer;
	return 0;
}

static int find_parked(struct subject *subject, struct runtime_java_locks *ret)
{
	const struct hotspot *hotspot = subject->own;
	/* A virtual thread notes for itself what it parks for, if it parks its carrier. */
	enum hotspot_field_id own = has(hotspot, HOTSPOT_THREAD_VIRTUAL) ? HOTSPOT_THREAD_VIRTUAL
									 : HOTSPOT_THREAD_OBJECT;
	int err = take(hotspot, own, &ret->own_object);

	if (hotspot->fields[own].is_handle)
		ret->flags |= JAVA_THREAD_HANDLE;
	err = err ?: find_encoding(subject, ret);
	return err ?: find_classes(subject, ret);
}

int hotspot__find_locks(struct subject *subject, struct runtime_java_locks *ret)
{
	struct runtime_java_locks locks = {}, parked;
	int err = find_monitors(subject, &locks);

	if (err)
		return err;
	parked = locks;
	err = find_parked(subject, &parked);
	*ret = err ? locks : parked;
	return err;
}
