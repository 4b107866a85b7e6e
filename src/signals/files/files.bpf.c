/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Operations on files, from syscall entry to return. The hooks are those of all syscalls, because
 * every kernel has them. Functions like vfs_read() can be observed only where fentry or kprobes
 * work, are renamed now and then, and would miss what a syscall does before and after them. A
 * syscall that is not an operation on files returns after one table lookup.
 *
 * How a file is identified: for calls with a descriptor, by the inode, looked up at syscall entry.
 * For calls with a path, by the path as passed, because a file that does not exist has no inode;
 * only open() has an inode on return. Paths are read on return: at entry, their page may not be in
 * memory.
 *
 * Pages added to the page cache while a thread is in a call that reads are counted as misses of
 * that call.
 */
#include "bpf/common.h"

#define SERIES_USED  4
#define SERIES_KEYS  16384 /* room for many processes, each with many files */
#define SERIES_PLAIN 0x2   /* no histogram of bytes asked for; bytes returned say more */

#include "bpf/files.bpf.h"
#include "bpf/identity.bpf.h"
#include "bpf/pages.bpf.h"
#include "bpf/path.bpf.h"
#include "bpf/syscall.bpf.h"
#include "signals/files/files.h"

/* MAX_RW_COUNT: no call transfers more, whatever it asks for. */
#define MOST_ASKED 0x7ffff000

#define NAMED 16384

const volatile struct files_calls calls SEC(".rodata.files");
volatile __u32 forgotten SEC(".data.files"); /* number of times that user space forgot a name */

/* The current call of a thread, and what is remembered from earlier ones. */
struct call {
	__u64 begin_ns; /* 0: not in a call that is recorded */
	__u64 thread;
	__u64 object[2];
	__u64 named[2]; /* the last object whose name is known to have been sent */
	__u64 asked_bytes;
	__u64 offset_bytes;
	__u32 place;
	__u32 missed_pages;
	__u32 may_miss; /* count pages added to the cache as misses */
	__u32 named_at; /* `forgotten` when `named` was set */
	__u64 text[FILES_TEXT_BYTES / sizeof(__u64)];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} in_flight SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, NAMED);
	__type(key, __u64[2]);
	__type(value, __u8);
} named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 * 1024 * 1024);
} ring SEC(".maps");

/* --- names ---------------------------------------------------------------------------------- */

/* `text`, if any, is relative to `path`. No path->dentry: absolute, or unknown. */
VERIFIED_ONCE bool send_name(const struct call *call, const struct path *path, bool has_text)
{
	struct files_name_record *record;
	__u64 object[2]; /* the verifier of 6.1 wants a map key on the stack or in a map */
	__u8 one = 1;

	if (!call || !path)
		return false;
	__builtin_memcpy(object, call->object, sizeof(object));
	if (bpf_map_lookup_elem(&named, object))
		return true;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
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
	bpf_map_update_elem(&named, object, &one, BPF_ANY);
	return true;
}

/* Usually the object is the same as in the previous call. */
static __always_inline bool is_named(const struct call *call)
{
	return call->named[0] == call->object[0] && call->named[1] == call->object[1] &&
	       call->named_at == forgotten;
}

static __always_inline void name(struct call *call, const struct path *path, bool has_text)
{
	__u32 now = forgotten; /* read it before the lookup, because it may change meanwhile */

	if (!send_name(call, path, has_text))
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

/* False if there is no file, or one of a kind that is not counted. */
static __always_inline bool take_file(struct call *call, struct task_struct *task, __s32 fd,
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
	if (!is_named(call)) {
		BPF_CORE_READ_INTO(&path, file, f_path);
		name(call, &path, false);
	}
	return true;
}

static __always_inline bool take_descriptor(struct call *call, struct task_struct *task,
					    struct pt_regs *regs, __u32 shape)
{
	__s32 fd = shape == FILES_SECOND_FD ? regs->ARCH_ARG2 : regs->ARCH_ARG1;

	if (!take_file(call, task, fd, false))
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

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0xff51afd7ed558ccdULL;
	return hash ^ hash >> 33;
}

VERIFIED_ONCE __u64 hash_text(const struct call *call, __u32 length, __u64 hash)
{
	if (!call)
		return hash;
	for (__u32 i = 0; i < FILES_TEXT_BYTES / sizeof(__u64); i++) {
		__u64 word = call->text[i];
		__u32 left = length - i * sizeof(word);

		if (i * sizeof(word) >= length)
			break;
		if (left < sizeof(word)) /* the remaining bytes are from an earlier text */
			word &= (1ULL << left * 8) - 1;
		hash = mix(hash, word);
	}
	return hash;
}

/* Identifies a path by its text and by the directory where it starts. */
VERIFIED_ONCE int take_text(struct call *call, __s32 fd, __u32 length)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path path = {};
	struct inode *inode;
	__u64 hash = 1;

	if (!call)
		return 0;
	if (*(char *)call->text != '/' && find_directory(task, fd, &path)) {
		inode = BPF_CORE_READ(path.dentry, d_inode);
		hash = mix(BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(inode, i_generation));
		hash = mix(hash, BPF_CORE_READ(inode, i_sb, s_dev));
	}
	call->object[0] = hash_text(call, length, hash);
	call->object[1] = FILES_BY_PATH;
	if (!is_named(call))
		name(call, &path, true);
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
static __always_inline bool take_path(struct call *call, struct task_struct *task,
				      struct pt_regs *regs, __u32 shape, __u32 result, long ret)
{
	__u64 address = shape == FILES_PATH ? regs->ARCH_ARG1 : regs->ARCH_ARG2;
	__s32 fd = shape == FILES_PATH ? AT_FDCWD : (__s32)regs->ARCH_ARG1;
	long length;

	call->asked_bytes = 0;
	call->place = 0;
	call->object[0] = call->object[1] = 0;
	if (result == FILES_OPENED && ret >= 0) {
		take_file(call, task, ret, true);
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
		bool counts = take_file(call, task, fd, false);

		call->offset_bytes = FILES_NO_OFFSET;
		return counts;
	}
	if (length > 0)
		take_text(call, fd, length);
	if (!ret)
		call->place = place_in_result(regs, result);
	return true;
}

/* --- begin and end -------------------------------------------------------------------------- */

static __always_inline int begins(struct pt_regs *regs, __u64 nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct identity who;
	struct call *call;
	__u32 shape;

	if (nr >= FILES_SYSCALLS || !calls.of[nr].operation || is_32bit(task))
		return 0;
	if (!is_wanted(task, &who))
		return 0;
	call = bpf_task_storage_get(&in_flight, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		__sync_fetch_and_add(&series.unpaired, 1);
		return 0;
	}
	if (call->begin_ns) { /* the syscall number changed before the return */
		__sync_fetch_and_add(&series.unpaired, 1);
		call->begin_ns = 0;
	}
	shape = calls.of[nr].shape;
	if (shape < FILES_PATH && !take_descriptor(call, task, regs, shape))
		return 0;
	call->thread = who.id;
	call->missed_pages = 0;
	call->may_miss = calls.of[nr].may_miss;
	call->begin_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void send_slow(const struct call *call, const struct series_key *key,
				      const __u64 values[SERIES_USED])
{
	struct files_slow_record *record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);

	if (!record) {
		count_lost(LOST_RING_FULL);
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
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Counts a call of a thread without an entry: it was already in the call when recording started. */
static __always_inline void count_unpaired(struct pt_regs *regs, struct task_struct *task,
					   __u32 shape)
{
	struct identity who;
	struct file *file;
	__u64 inode;
	__u32 mode;

	if (!is_wanted(task, &who))
		return;
	if (shape < FILES_PATH) {
		file = file_of(task, shape == FILES_SECOND_FD ? regs->ARCH_ARG2 : regs->ARCH_ARG1);
		if (!file)
			return;
		look_at_inode(file, &inode, &mode);
		if (!is_kept_in_files(mode))
			return;
	}
	__sync_fetch_and_add(&series.unpaired, 1);
}

static __always_inline int ends(struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 values[SERIES_USED], nr = syscall_of(regs);
	struct series_key key = {};
	__u32 shape, result;
	struct call *call;

	if (nr >= FILES_SYSCALLS || !calls.of[nr].operation || is_32bit(task))
		return 0;
	shape = calls.of[nr].shape;
	result = calls.of[nr].result;
	call = bpf_task_storage_get(&in_flight, task, NULL, 0);
	if (!call) {
		count_unpaired(regs, task, shape);
		return 0;
	}
	if (!call->begin_ns || !series.enabled)
		return 0;
	values[0] = end_of_call(task) - call->begin_ns;
	call->begin_ns = 0;
	if (shape >= FILES_PATH && !take_path(call, task, regs, shape, result, ret))
		return 0;
	values[1] = call->asked_bytes;
	values[2] = result == FILES_BYTES && ret > 0 ? ret : 0;
	values[3] = call->missed_pages;
	key.thread = call->thread;
	key.object[0] = call->object[0];
	key.object[1] = call->object[1];
	key.place = call->place;
	key.operation = calls.of[nr].operation;
	/* An interrupted call counts as EINTR, whether it is restarted or not. */
	key.error = is_broken_off(ret) ? EINTR : errno_in(ret);
	series_add_own(&key, values);
	if (series_is_slow(values[0]))
		send_slow(call, &key, values);
	return 0;
}

/*
 * The context depends on the kind of hook. bpf_task_pt_regs() gives the same registers for all
 * kinds, as a pointer that the verifier trusts.
 */
#define CURRENT_REGS() ((struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf()))

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter_btf, struct pt_regs *regs, long id)
{
	return begins(regs, id);
}

SEC("raw_tp/sys_enter")
int BPF_PROG(on_enter_raw, struct pt_regs *regs, long id)
{
	return begins(CURRENT_REGS(), id);
}

SEC("tp/raw_syscalls/sys_enter")
int on_enter_tp(struct trace_event_raw_sys_enter *ctx)
{
	return begins(CURRENT_REGS(), BPF_CORE_READ(ctx, id));
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit_btf, struct pt_regs *regs, long ret)
{
	return ends(regs, ret);
}

SEC("raw_tp/sys_exit")
int BPF_PROG(on_exit_raw, struct pt_regs *regs, long ret)
{
	return ends(CURRENT_REGS(), ret);
}

SEC("tp/raw_syscalls/sys_exit")
int on_exit_tp(struct trace_event_raw_sys_exit *ctx)
{
	return ends(CURRENT_REGS(), BPF_CORE_READ(ctx, ret));
}

/* --- the page cache ------------------------------------------------------------------------- */

/* The current call of the thread, if it reads. A write creates pages, so these are not misses. */
static __always_inline struct call *reading(void)
{
	struct call *call = bpf_task_storage_get(&in_flight, bpf_get_current_task_btf(), NULL, 0);

	return call && call->begin_ns && call->may_miss ? call : NULL;
}

SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_btf, struct folio *folio)
{
	struct call *call = reading();

	if (call)
		call->missed_pages += pages_in(folio);
	return 0;
}

SEC("raw_tp/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_raw, struct folio *folio)
{
	struct call *call = reading();

	if (call)
		call->missed_pages += pages_in(folio);
	return 0;
}

SEC("tp/filemap/mm_filemap_add_to_page_cache")
int on_page_tp(struct trace_event_raw_mm_filemap_op_page_cache *ctx)
{
	struct call *call = reading();

	if (call)
		call->missed_pages += 1 << (BPF_CORE_READ(ctx, order) & 31);
	return 0;
}
