/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of the signal, and the callers of functions.
 *
 * The caller is the return address. The first time that an address space calls from there, the
 * mapping is looked up, and the object of all later calls is the place in the file: the same
 * caller in many processes is one object.
 */
#pragma once

#include "bpf/arch/arch.h"
#include "bpf/identity.bpf.h"
#include "bpf/path.bpf.h"
#include "signals/functions/functions.h"

#define FUNCTIONS_DEPTH       64
#define FUNCTIONS_MOST_EVENTS 200 /* hits of declared probes that are sent, about per second */
#define FUNCTIONS_USER_PAGE   12
#define E2BIG                 7

SERIES_MAPS(functions, 2, 0, 8192);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} functions_ring SEC(".maps");

struct functions_frame {
	__u64 sp;
	__u64 begin_ns;
	__u64 object[2];
	__u32 site;
	__u32 pad;
};

struct functions_stack {
	__u32 depth;
	__u32 pad;
	struct functions_frame frames[FUNCTIONS_DEPTH];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct functions_stack);
} functions_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FUNCTIONS_SITES);
	__type(key, __u32);
	__type(value, struct functions_site);
} functions_sites SEC(".maps");

/* Hits of each site, by whomever: the cost is theirs too. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, FUNCTIONS_SITES);
	__type(key, __u32);
	__type(value, __u64);
} functions_hits SEC(".maps");

/* A return address in an address space; or the first argument at a place, without the former. */
struct functions_origin {
	__u64 address;
	__u64 space;
};

struct functions_object {
	__u64 numbers[2];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct functions_origin);
	__type(value, struct functions_object);
} functions_objects SEC(".maps");

__u64 functions_second, functions_sent;

/* --- callers ------------------------------------------------------------------------------ */

struct functions_found {
	struct file *file;
	__u64 address;
	__u64 offset;
};

static long functions_take_vma(struct task_struct *task, struct vm_area_struct *vma,
			       struct functions_found *found)
{
	found->file = vma->vm_file;
	found->offset = found->address - vma->vm_start + (vma->vm_pgoff << FUNCTIONS_USER_PAGE);
	return 0;
}

/* Says what an object is. Not sent: it stays without a name, and is counted. */
static __always_inline bool functions_name_caller(const struct functions_found *found,
						  const struct functions_object *object, __u32 pid)
{
	struct functions_caller *record;
	struct file *file = found->file;
	struct path path;

	record = bpf_ringbuf_reserve(&functions_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(functions, LOST_RING_FULL);
		return false;
	}
	wire_head_init(&record->head, sizeof(*record), FUNCTIONS_CALLER, 1);
	record->object[0] = object->numbers[0];
	record->object[1] = object->numbers[1];
	record->offset = found->offset;
	record->pid = pid;
	record->pad = 0;
	record->path.bytes = 0;
	BPF_CORE_READ_INTO(&path, file, f_path);
	walk_path(&path, &record->path);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

static __always_inline void functions_learn_caller(struct task_struct *task,
						   const struct functions_origin *origin, __u32 pid,
						   __u64 ret[2])
{
	struct functions_found found = { .address = origin->address };
	struct functions_object object;
	struct file *file;

	/* Another thread may hold the lock; then a later call learns it. */
	if (bpf_find_vma(task, origin->address, functions_take_vma, &found, 0) || !found.file)
		return;
	file = found.file;
	object.numbers[0] = found.offset + 1;
	object.numbers[1] = BPF_CORE_READ(file, f_inode, i_ino) ^
			    (__u64)BPF_CORE_READ(file, f_inode, i_sb, s_dev) << 40;
	if (bpf_map_update_elem(&functions_objects, origin, &object, BPF_NOEXIST) == -E2BIG) {
		COUNT_LOST(functions, LOST_MAP_FULL);
		return;
	}
	if (!functions_name_caller(&found, &object, pid))
		bpf_map_delete_elem(&functions_objects, origin);
	ret[0] = object.numbers[0];
	ret[1] = object.numbers[1];
}

VERIFIED_ONCE int functions_find_caller(__u64 address, __u32 pid, struct functions_object *ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct functions_origin origin = { address, (__u64)task->mm };
	struct functions_object *known;

	if (!is_on(SIGNAL_functions) || !ret)
		return 0;
	known = bpf_map_lookup_elem(&functions_objects, &origin);
	if (known)
		*ret = *known;
	else
		functions_learn_caller(task, &origin, pid, ret->numbers);
	return 0;
}

static __always_inline __u64 functions_return_address(struct pt_regs *ctx)
{
#if ARCH_LINK_REGISTER
	return ctx->ARCH_LINK;
#else
	__u64 address = 0;

	bpf_probe_read_user(&address, sizeof(address), (void *)ctx->ARCH_SP);
	return address;
#endif
}
