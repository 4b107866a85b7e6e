/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages that threads change in memory, and that the kernel writes to the disk later: by file, and
 * charged to the thread that changed them.
 *
 * A thread that changes a clean page is the current one at writeback_dirty_folio. Each file has
 * counts of the pages that its last few threads changed and that are not written yet. When the
 * kernel has written some of them, these counts divide the pages and the time. Pages that the
 * thread itself writes (fsync, O_SYNC) have no event, so the counts may be too high; only their
 * ratio matters.
 *
 * Rejected: the thread of each page. It would need a map entry for each page in memory.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "bpf/kernel_writeback.h"
#include "bpf/pages.bpf.h"
#include "bpf/path.bpf.h"
#include "signals/writeback/writeback.h"

#define WRITEBACK_FILES      8192
#define WRITEBACK_THREADS    4
#define WRITEBACK_PAGE_BYTES 4096
#define WRITEBACK_MOST_STEPS 24

SERIES_MAPS(writeback, WRITEBACK_MEASURES, 0, 8192);

struct writeback_share {
	__u64 thread; /* 0: free */
	__u64 pages;  /* that it changed, and that are not written yet */
};

struct writeback_file {
	__u64 begin_ns; /* when the kernel began to write it; 0: it does not */
	__u64 others;   /* pages of threads that have no share, or are not recorded */
	struct writeback_share shares[WRITEBACK_THREADS];
};

/* By inode. The least recently used one makes room; its next pages begin anew. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, WRITEBACK_FILES);
	__type(key, __u64[2]);
	__type(value, struct writeback_file);
} writeback_files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024);
} writeback_ring SEC(".maps");

/* --- names ---------------------------------------------------------------------------------- */

struct writeback_walk {
	struct dentry *dentry;
	struct path_names *names;
	__u32 used;
};

/* Moves up by one name; 1: the root of the file system, or no room. */
static long writeback_step(__u32 i, struct writeback_walk *walk)
{
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	__u64 used = walk->used;
	long length;

	barrier_var(used); /* 6.1 tracks a bound only in the compared register */
	if (used >= PATH_BYTES || !parent || dentry == parent)
		return 1;
	length = bpf_probe_read_kernel_str(walk->names->names + used, PATH_NAME_BYTES,
					   BPF_CORE_READ(dentry, d_name.name));
	if (length <= 0)
		return 1;
	walk->used = used + length;
	walk->dentry = parent;
	return 0;
}

/* Where the file system is mounted is not known here, so the beginning is missing. */
VERIFIED_ONCE int writeback_send_name(__u64 inode_address, __u64 number, __u64 device)
{
	struct inode *inode = (void *)inode_address;
	struct hlist_node *alias = BPF_CORE_READ(inode, i_dentry.first);
	struct writeback_record *record;
	struct writeback_walk walk = {};

	if (!is_on(SIGNAL_writeback) || !alias)
		return 0;
	record = bpf_ringbuf_reserve(&writeback_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(writeback, LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), 0, 1);
	record->object[0] = number;
	record->object[1] = device;
	record->path.pad = 0;
	walk.dentry = (void *)alias - bpf_core_field_offset(struct dentry, d_u.d_alias);
	walk.names = &record->path;
	bpf_loop(WRITEBACK_MOST_STEPS, writeback_step, &walk, 0);
	record->path.bytes = walk.used;
	record->path.flags = PATH_CUT;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* --- changed -------------------------------------------------------------------------------- */

static __always_inline void writeback_key(struct inode *inode, struct series_key *ret)
{
	ret->place = inode->i_sb->s_dev;
	ret->object[0] = inode->i_ino;
	ret->object[1] = ret->place | (__u64)inode->i_generation << 32;
}

/* NULL: no room. */
static __always_inline struct writeback_file *writeback_find(struct inode *inode,
							     const struct series_key *key)
{
	__u64 object[2] = { key->object[0], key->object[1] };
	struct writeback_file *file = bpf_map_lookup_elem(&writeback_files, object), new = {};
	__u64 address;

	if (file)
		return file;
	bpf_map_update_elem(&writeback_files, object, &new, BPF_NOEXIST);
	file = bpf_map_lookup_elem(&writeback_files, object);
	if (!file) {
		COUNT_LOST(writeback, LOST_MAP_FULL);
		return NULL;
	}
	/* The verifier does not take a pointer for a number, unless it was copied. */
	bpf_probe_read_kernel(&address, sizeof(address), &inode);
	if (!by_class)
		writeback_send_name(address, object[0], object[1]);
	return file;
}

static __always_inline void writeback_note(struct writeback_file *file, __u64 thread, __u64 pages)
{
	for (int i = 0; thread && i < WRITEBACK_THREADS; i++) {
		struct writeback_share *share = &file->shares[i];

		if (!share->pages && share->thread != thread)
			share->thread = thread; /* all that it changed is written */
		if (share->thread == thread) {
			__sync_fetch_and_add(&share->pages, pages);
			return;
		}
	}
	__sync_fetch_and_add(&file->others, pages);
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(writeback_on_dirty, struct folio *folio, struct address_space *mapping)
{
	__u64 values[WRITEBACK_MEASURES] = {}, pages;
	struct series_key key = { .operation = WRITEBACK_DIRTY };
	struct writeback_file *file;
	struct inode *inode;
	struct identity who;
	bool wanted;

	if (!is_on(SIGNAL_writeback) || !series[SIGNAL_writeback].enabled || !mapping)
		return 0;
	inode = mapping->host;
	if (!inode)
		return 0;
	wanted = is_wanted_now(SIGNAL_writeback, &who);
	writeback_key(inode, &key);
	pages = pages_in(folio);
	/* Others matter only in files that recorded threads change, too. */
	file = wanted ? writeback_find(inode, &key)
		      : bpf_map_lookup_elem(&writeback_files, key.object);
	if (file)
		writeback_note(file, wanted ? who.id : 0, pages);
	if (!wanted)
		return 0;
	key.thread = who.id;
	values[WRITEBACK_SIZE] = pages * WRITEBACK_PAGE_BYTES;
	series_reduce(&key);
	series_add_own(SERIES(writeback), &key, values);
	return 0;
}

/* --- written -------------------------------------------------------------------------------- */

SEC("tp_btf/writeback_single_inode_start")
int BPF_PROG(writeback_on_start, struct inode *inode)
{
	struct writeback_file *file;
	struct series_key key = {};

	if (!is_on(SIGNAL_writeback))
		return 0;
	writeback_key(inode, &key);
	file = bpf_map_lookup_elem(&writeback_files, key.object);
	if (file)
		file->begin_ns = bpf_ktime_get_ns();
	return 0;
}

struct writeback_done {
	__u64 pages;
	__u64 all; /* pages that were changed, by all threads */
	__u64 ns;
};

/* Adds the part of what was written that falls to `changed` pages; returns its pages. */
static __always_inline __u64 writeback_charge(struct series_key *key,
					      const struct writeback_done *done, __u64 changed)
{
	__u64 values[WRITEBACK_MEASURES], pages = done->pages * changed / done->all;

	if (!pages)
		return 0;
	values[WRITEBACK_TIME] = done->ns * changed / done->all;
	values[WRITEBACK_SIZE] = pages * WRITEBACK_PAGE_BYTES;
	series_add(SERIES(writeback), key, values);
	return pages;
}

/* Divides it among those that changed the file. Pages that were changed before belong to nobody. */
static __noinline int writeback_divide(struct writeback_file *file, struct series_key *key,
				       struct writeback_done *done)
{
	__u64 changed, pages;

	for (int i = 0; i < WRITEBACK_THREADS; i++)
		done->all += file->shares[i].pages;
	done->all += file->others;
	for (int i = 0; done->all && i < WRITEBACK_THREADS; i++) {
		changed = file->shares[i].pages;
		key->thread = by_class ? 0 : file->shares[i].thread;
		pages = writeback_charge(key, done, changed);
		__sync_fetch_and_add(&file->shares[i].pages, -(pages < changed ? pages : changed));
	}
	changed = file->others;
	if (!done->all || !changed)
		return 0;
	pages = done->pages * changed / done->all;
	key->thread = 0;
	if (series[SIGNAL_writeback].every_thread)
		writeback_charge(key, done, changed);
	__sync_fetch_and_add(&file->others, -(pages < changed ? pages : changed));
	return 0;
}

SEC("tp_btf/writeback_single_inode")
int BPF_PROG(writeback_on_written, struct inode *inode, struct writeback_control *control,
	     unsigned long asked)
{
	struct series_key key = { .operation = WRITEBACK_WRITE };
	long written = (long)asked - control->nr_to_write;
	struct writeback_done done = { .pages = written };
	struct writeback_file *file;

	if (!is_on(SIGNAL_writeback) || !series[SIGNAL_writeback].enabled || written <= 0)
		return 0;
	writeback_key(inode, &key);
	file = bpf_map_lookup_elem(&writeback_files, key.object);
	if (!file)
		return 0;
	if (file->begin_ns)
		done.ns = bpf_ktime_get_ns() - file->begin_ns;
	file->begin_ns = 0;
	if (by_class)
		key.object[0] = key.object[1] = 0;
	writeback_divide(file, &key, &done);
	return 0;
}
