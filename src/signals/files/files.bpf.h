/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on files, from syscall entry to return. The hooks are those of all syscalls, because
 * every kernel has them. Functions like vfs_read() can be observed only where fentry or kprobes
 * work, are renamed now and then, and would miss what a syscall does before and after them. A
 * syscall that is not an operation on files costs one table lookup.
 *
 * How a file is identified: for calls with a descriptor, by the inode, looked up at syscall entry.
 * For calls with a path, by the path as passed, because a file that does not exist has no inode;
 * only open() has an inode on return. Paths are read on return: at entry, their page may not be in
 * memory.
 *
 * Pages added to the page cache while a thread is in a call that reads are counted as misses of
 * that call.
 */
#pragma once

#include "bpf/files.bpf.h"
#include "bpf/identity.bpf.h"
#include "bpf/pages.bpf.h"
#include "bpf/path.bpf.h"
#include "bpf/syscall.bpf.h"
#include "signals/files/files.h"

/* MAX_RW_COUNT: no call transfers more, whatever it asks for. */
#define MOST_ASKED 0x7ffff000

#define FILES_MOST_NAMED 16384

/* Room for many processes, each with many files. No histogram of bytes asked for. */
SERIES_MAPS(files, 4, 0x2, 16384);

const volatile struct files_calls files_calls SEC(".rodata.files");
volatile __u32 files_forgotten
	SEC(".data.files"); /* number of times that user space forgot a name */

/* The current call of a thread, and what is remembered from earlier ones. */
struct file_call {
	__u64 begin_ns; /* 0: not in a call that is recorded */
	__u64 object[2];
	__u64 named[2]; /* the last object whose name is known to have been sent */
	__u64 asked_bytes;
	__u64 offset_bytes;
	__u32 place;
	__u32 missed_pages;
	__u32 may_miss; /* count pages added to the cache as misses */
	__u32 named_at; /* `files_forgotten` when `named` was set */
	__u64 text[FILES_TEXT_BYTES / sizeof(__u64)];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct file_call);
} files_in_flight SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, FILES_MOST_NAMED);
	__type(key, __u64[2]);
	__type(value, __u8);
} files_named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} files_ring SEC(".maps");

/* --- names ---------------------------------------------------------------------------------- */

/* `text`, if any, is relative to `path`. No path->dentry: absolute, or unknown. */
VERIFIED_ONCE bool files_send_name(const struct file_call *call, const struct path *path,
				   bool has_text)
{
	struct files_name_record *record;
	__u64 object[2]; /* the verifier of 6.1 wants a map key on the stack or in a map */
	__u8 one = 1;

	if (!is_on(SIGNAL_files) || !call || !path)
		return false;
	__builtin_memcpy(object, call->object, sizeof(object));
	if (bpf_map_lookup_elem(&files_named, object))
		return true;
	record = bpf_ringbuf_reserve(&files_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(files, LOST_RING_FULL);
		return false;
	}
	wire_head_init(&record->head, sizeof(*record), FILES_NAME, 1);
	__builtin_memcpy(record->object, object, sizeof(object));
	record->path.bytes = 0;
	record->path.flags = PATH_CUT; /* relative to an unknown directory */
	if (path->dentry)
		walk_path(path, &record->path);
	if (has_text)
		__builtin_memcpy(record->text, call->text, sizeof(record->text));
	else
		record->text[0] = '\0';
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&files_named, object, &one, BPF_ANY);
	return true;
}

/* Usually the object is the same as in the previous call. */
static __always_inline bool files_is_named(const struct file_call *call)
{
	return call->named[0] == call->object[0] && call->named[1] == call->object[1] &&
	       call->named_at == files_forgotten;
}

static __always_inline void files_name(struct file_call *call, const struct path *path,
				       bool has_text)
{
	__u32 now =
		files_forgotten; /* read it before the lookup, because it may change meanwhile */

	if (!files_send_name(call, path, has_text))
		return;
	call->named_at = now;
	call->named[0] = call->object[0];
	call->named[1] = call->object[1];
}

/* --- which file ----------------------------------------------------------------------------- */

static __always_inline bool is_kept_in_files(__u32 mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
	case S_IFBLK:
		return true;
	default: /* sockets, pipes, terminals: their operations wait for a peer */
		return false;
	}
}

/*
 * False if there is no file, or one of a kind that is not counted. Not inlined: 6.1 allows 512
 * bytes of stack for all functions on a path together.
 */
static __noinline bool files_take_file(struct file_call *call, struct task_struct *task, __s32 fd,
				       bool any_kind)
{
	struct file *file = file_of(task, fd);
	struct file_facts facts;
	struct path path;

	if (!file)
		return false;
	look_at_file(file, &facts);
	if (!any_kind && !is_kept_in_files(facts.mode))
		return false;
	call->object[0] = facts.inode;
	call->object[1] = facts.device | (__u64)facts.generation << 32;
	call->offset_bytes = facts.position;
	call->place = facts.device;
	if (!files_is_named(call)) {
		BPF_CORE_READ_INTO(&path, file, f_path);
		files_name(call, &path, false);
	}
	return true;
}

static __always_inline bool files_take_descriptor(struct file_call *call, struct task_struct *task,
						  struct pt_regs *regs, __u32 shape)
{
	__s32 fd = shape == FILES_SECOND_FD ? regs->ARCH_ARG2 : regs->ARCH_ARG1;

	if (!files_take_file(call, task, fd, false))
		return false;
	call->asked_bytes = 0;
	switch (shape) {
	case FILES_SIZED_AT:
		call->offset_bytes = regs->ARCH_ARG4;
		/* fall through */
	case FILES_SIZED:
		call->asked_bytes = regs->ARCH_ARG3;
		break;
	case FILES_VECTOR_AT:
		call->offset_bytes = regs->ARCH_ARG4;
		/* fall through */
	case FILES_VECTOR:
		call->asked_bytes = bytes_in_vector(regs->ARCH_ARG2, regs->ARCH_ARG3);
		break;
	case FILES_SECOND_FD:
		call->asked_bytes = regs->ARCH_ARG4;
		break;
	case FILES_FIFTH_SIZE:
		call->asked_bytes = regs->ARCH_ARG5;
		break;
	default:
		call->offset_bytes = FILES_NO_OFFSET;
	}
	if (call->asked_bytes > MOST_ASKED)
		call->asked_bytes = MOST_ASKED;
	return true;
}

/* --- paths ---------------------------------------------------------------------------------- */

static __always_inline __u64 files_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 33;
}

VERIFIED_ONCE __u64 files_hash_text(const struct file_call *call, __u32 length, __u64 hash)
{
	if (!is_on(SIGNAL_files) || !call)
		return hash;
	for (__u32 i = 0; i < FILES_TEXT_BYTES / sizeof(__u64); i++) {
		__u64 word = call->text[i];
		__u32 left = length - i * sizeof(word);

		if (i * sizeof(word) >= length)
			break;
		if (left < sizeof(word)) /* the remaining bytes are from an earlier text */
			word &= (1ULL << left * 8) - 1;
		hash = files_mix(hash, word);
	}
	return hash;
}

/* Identifies a path by its text and by the directory where it starts. */
VERIFIED_ONCE int files_take_text(struct file_call *call, __s32 fd, __u32 length)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path path = {};
	struct inode *inode;
	__u64 hash = 1;

	if (!is_on(SIGNAL_files) || !call)
		return 0;
	if (*(char *)call->text != '/' && find_directory(task, fd, &path)) {
		inode = BPF_CORE_READ(path.dentry, d_inode);
		hash = files_mix(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_generation));
		hash = files_mix(hash, BPF_CORE_READ(inode, i_sb, s_dev));
	}
	call->object[0] = files_hash_text(call, length, hash);
	call->object[1] = FILES_BY_PATH;
	if (!files_is_named(call))
		files_name(call, &path, true);
	return 0;
}

/* The file system's device, if the call returns it. */
static __always_inline __u32 place_in_result(struct pt_regs *regs, __u32 result)
{
	struct {
		__u32 major, minor;
	} numbers = {};
	__u64 number = 0;

	if (result == FILES_STATX_5) {
		/* stx_dev_major and _minor */
		bpf_probe_read_user(&numbers, sizeof(numbers), (void *)regs->ARCH_ARG5 + 0x88);
		return numbers.major << KERNEL_MINOR_BITS | numbers.minor;
	}
	if (result == FILES_STAT_2) /* st_dev is the first field */
		bpf_probe_read_user(&number, sizeof(number), (void *)regs->ARCH_ARG2);
	else if (result == FILES_STAT_3)
		bpf_probe_read_user(&number, sizeof(number), (void *)regs->ARCH_ARG3);
	return device_of(number);
}

/*
 * Fills in a call with a path, on its return. False if the file is of a kind that is not counted.
 */
static __always_inline bool files_take_path(struct file_call *call, struct task_struct *task,
					    struct pt_regs *regs, __u32 shape, __u32 result,
					    long ret)
{
	__u64 address = shape == FILES_PATH ? regs->ARCH_ARG1 : regs->ARCH_ARG2;
	__s32 fd = shape == FILES_PATH ? AT_FDCWD : (__s32)regs->ARCH_ARG1;
	long length;

	call->asked_bytes = 0;
	call->place = 0;
	call->object[0] = call->object[1] = 0;
	if (result == FILES_OPENED && ret >= 0) {
		files_take_file(call, task, ret, true);
		call->offset_bytes = FILES_NO_OFFSET;
		return true;
	}
	call->offset_bytes = FILES_NO_OFFSET;
	length = bpf_probe_read_user_str(call->text, sizeof(call->text), (void *)address);
	/*
	 * fstat() is often implemented as fstatat() with an empty path or NULL. For an empty text,
	 * 6.1 returns a length of 0, and 6.12 counts the NUL.
	 */
	if (!address || length == 0 || length == 1) {
		bool counts = files_take_file(call, task, fd, false);

		call->offset_bytes = FILES_NO_OFFSET;
		return counts;
	}
	if (length > 0)
		files_take_text(call, fd, length);
	if (!ret)
		call->place = place_in_result(regs, result);
	return true;
}

/* --- begin and end -------------------------------------------------------------------------- */

/* By mask, because the verifier of 6.1 forgets a comparison when it saves a register. */
static __always_inline const volatile struct files_call *files_kind(__u64 nr)
{
	barrier_var(nr);
	return &files_calls.of[nr & (FILES_SYSCALLS - 1)];
}

/* Whether the call is one of those that are counted. Most calls are not, and cost no more. */
static __always_inline bool files_has(__u64 nr)
{
	return nr < FILES_SYSCALLS && files_kind(nr)->operation;
}

/* Notes a call that begins. Returns when it began, after the work here; 0: it is not counted. */
VERIFIED_ONCE __u64 files_begins(const struct identity *who, __u64 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file_call *call;
	__u32 shape;

	if (!is_on(SIGNAL_files) || !who || !is_recorded(SIGNAL_files, who))
		return 0;
	call = bpf_task_storage_get(&files_in_flight, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		__sync_fetch_and_add(&series[SIGNAL_files].unpaired, 1);
		return 0;
	}
	if (call->begin_ns) { /* the syscall number changed before the return */
		__sync_fetch_and_add(&series[SIGNAL_files].unpaired, 1);
		call->begin_ns = 0;
	}
	shape = files_kind(nr)->shape;
	if (shape < FILES_PATH && !files_take_descriptor(call, task, regs, shape))
		return 0;
	call->missed_pages = 0;
	call->may_miss = files_kind(nr)->may_miss;
	call->begin_ns = bpf_ktime_get_ns();
	return call->begin_ns;
}

static __always_inline __u64 files_sys_enter(const struct identity *who, __u64 nr)
{
	return files_has(nr) ? files_begins(who, nr) : 0;
}

static __always_inline void files_send_slow(const struct file_call *call,
					    const struct series_key *key,
					    const __u64 values[files_values])
{
	struct files_slow_record *record = bpf_ringbuf_reserve(&files_ring, sizeof(*record), 0);

	if (!record) {
		COUNT_LOST(files, LOST_RING_FULL);
		return;
	}
	*record = (struct files_slow_record) {
		.thread = key->thread,
		.object = { key->object[0], key->object[1] },
		.duration_ns = values[0],
		.asked_bytes = values[1],
		.returned_bytes = values[2],
		.offset_bytes = call->offset_bytes,
		.missed_pages = values[3],
		.place = key->place,
		.operation = key->operation,
		.error = key->error,
	};
	wire_head_init(&record->head, sizeof(*record), FILES_SLOW, 1);
	record->stack = event_stack();
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Counts a call of a thread without an entry: it was already in the call when recording started. */
static __always_inline void files_count_unpaired(struct pt_regs *regs, struct task_struct *task,
						 __u32 shape)
{
	struct file *file;
	__u64 inode;
	__u32 mode;

	if (shape < FILES_PATH) {
		file = file_of(task, shape == FILES_SECOND_FD ? regs->ARCH_ARG2 : regs->ARCH_ARG1);
		if (!file)
			return;
		look_at_inode(file, &inode, &mode);
		if (!is_kept_in_files(mode))
			return;
	}
	__sync_fetch_and_add(&series[SIGNAL_files].unpaired, 1);
}

/* Adds a call whose file is known. A function of its own, to share the stack with what finds it. */
static __noinline int files_count(const struct file_call *call, __u64 thread, __u64 nr, long ret,
				  __u64 ns)
{
	__u64 values[files_values] = { ns, call->asked_bytes, 0, call->missed_pages };
	struct series_key key = {
		.thread = thread,
		.object = { call->object[0], call->object[1] },
		.place = call->place,
		/* An interrupted call counts as EINTR, whether it is restarted or not. */
		.error = is_broken_off(ret) ? EINTR : errno_in(ret),
	};

	key.operation = files_kind(nr)->operation;
	if (files_kind(nr)->result == FILES_BYTES && ret > 0)
		values[2] = ret;
	series_add_own(SERIES(files), &key, values);
	if (series_is_slow(SERIES(files), ns))
		files_send_slow(call, &key, values);
	return 0;
}

/* Counts a call that ended at `now`, or now if that is 0. Returns whether it did. */
VERIFIED_ONCE bool files_ends(const struct identity *who, __u64 nr, long ret, __u64 now)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
	struct file_call *call;
	__u32 shape;
	__u64 ns;

	if (!is_on(SIGNAL_files) || !who || !is_recorded(SIGNAL_files, who))
		return false;
	shape = files_kind(nr)->shape;
	call = bpf_task_storage_get(&files_in_flight, task, NULL, 0);
	if (!call) {
		files_count_unpaired(regs, task, shape);
		return false;
	}
	if (!call->begin_ns)
		return false;
	if (call->begin_ns <
	    series[SIGNAL_files].since_ns) { /* its end or a later begin was missed */
		__sync_fetch_and_add(&series[SIGNAL_files].unpaired, 1);
		call->begin_ns = 0;
		return false;
	}
	ns = (now ? now : bpf_ktime_get_ns()) - call->begin_ns;
	call->begin_ns = 0;
	if (shape < FILES_PATH ||
	    files_take_path(call, task, regs, shape, files_kind(nr)->result, ret))
		files_count(call, who->id, nr, ret, ns);
	return true;
}

static __always_inline bool files_sys_exit(const struct identity *who, __u64 nr, long ret,
					   __u64 now)
{
	return files_has(nr) && files_ends(who, nr, ret, now);
}

/* --- the page cache ------------------------------------------------------------------------- */

/* The current call of the thread, if it reads. A write creates pages, so these are not misses. */
static __always_inline struct file_call *files_reading(void)
{
	struct file_call *call =
		bpf_task_storage_get(&files_in_flight, bpf_get_current_task_btf(), NULL, 0);

	return call && call->begin_ns && call->may_miss ? call : NULL;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(files_on_page_btf, struct folio *folio)
{
	struct file_call *call = is_on(SIGNAL_files) ? files_reading() : NULL;

	if (call)
		call->missed_pages += pages_in(folio);
	return 0;
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int BPF_PROG(files_on_page_raw, struct folio *folio)
{
	struct file_call *call = is_on(SIGNAL_files) ? files_reading() : NULL;

	if (call)
		call->missed_pages += pages_in(folio);
	return 0;
}

SEC("tp/filemap/mm_filemap_add_to_page_cache")
int files_on_page_tp(struct trace_event_raw_mm_filemap_op_page_cache *ctx)
{
	struct file_call *call = is_on(SIGNAL_files) ? files_reading() : NULL;

	if (call)
		call->missed_pages += 1 << (BPF_CORE_READ(ctx, order) & 31);
	return 0;
}
