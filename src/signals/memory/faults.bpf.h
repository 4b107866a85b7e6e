/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Page faults of the part memory: what was touched, and how long the kernel took.
 *
 * exceptions:page_fault_user has the address and what the access was. It has no
 * mapping, so that is looked up with bpf_find_vma(), which costs 1.2 µs here: at this place
 * interrupts are off, and mmap_lock is released by an interrupt of its own. But the next fault of a
 * thread is mostly in the same mapping. So each thread remembers its last one, which is valid until
 * somebody takes mmap_lock for writing: the kernel counts that (mm_lock_seq, since 6.4; before,
 * every fault is looked up). Rejected: /proc/PID/maps in user space, where the mapping may be
 * another one, or the process gone; and asking only for some faults, because then no count would be
 * exact.
 *
 * The kernel's own counters of a thread (table fault_slice) are the authority for the number of
 * faults. They have those of system calls too, which touch memory of the program in kernel mode. A
 * fault that the kernel has to try again is seen twice here.
 *
 * Some faults, and some calls that add memory, are drawn with their user stack (bpf/drawn.bpf.h).
 * What a program frees and allocates again does not fault again, so that these stacks show growth.
 *
 * No tracepoint shows the end of a fault. Where the kernel lets functions be hooked, its time is
 * that of handle_mm_fault(), the first attempt to the last. The rest, the exception itself and the
 * search for the mapping, is short. Rejected: to begin at page_fault_user, because the interrupt
 * that releases mmap_lock after bpf_find_vma() comes between the two.
 */
#pragma once

#define VM_GROWSDOWN       0x100
#define TMPFS_MAGIC        0x01021994
#define FAULT_BY_WRITE     2 /* X86_PF_WRITE */
#define FAULT_BY_EXECUTION 16
#define FAULT_FLAG_USER    0x40 /* of handle_mm_fault() */
#define VM_FAULT_MAJOR     0x4
#define VM_FAULT_RETRY     0x400

static __always_inline bool memory_has_lock_seq(void)
{
	return bpf_core_field_exists(struct mm_struct, mm_lock_seq);
}

static __always_inline __u32 memory_lock_seq(struct mm_struct *mm)
{
	struct mm_struct___int *old = (void *)mm;

	if (!memory_has_lock_seq())
		return 0;
	if (bpf_core_field_exists(mm->mm_lock_seq.sequence))
		return BPF_CORE_READ(mm, mm_lock_seq.sequence);
	return BPF_CORE_READ(old, mm_lock_seq);
}

/* Called with the mapping that contains the address. */
static long memory_look(struct task_struct *task, struct vm_area_struct *vma,
			struct memory_mapping *mapping)
{
	struct mm_struct *mm = task->mm;
	struct file *file = vma->vm_file;
	struct inode *inode;

	mapping->begin = vma->vm_start;
	mapping->end = vma->vm_end;
	if (!file) {
		if (vma->vm_flags & VM_GROWSDOWN)
			mapping->kind = MEMORY_STACK;
		else if (mm && vma->vm_start < mm->brk && vma->vm_end > mm->start_brk)
			mapping->kind = MEMORY_HEAP;
		else
			mapping->kind = MEMORY_ANONYMOUS;
		return 0;
	}
	inode = file->f_inode;
	mapping->kind = inode->i_sb->s_magic == TMPFS_MAGIC ? MEMORY_SHARED : MEMORY_FILE;
	mapping->object[0] = inode->i_ino;
	mapping->object[1] = inode->i_sb->s_dev | (__u64)inode->i_generation << 32;
	mapping->dentry = file->f_path.dentry;
	mapping->mnt = file->f_path.mnt;
	return 0;
}

/* Sends the name of the mapped file, once. */
VERIFIED_ONCE int memory_name(const struct memory_mapping *mapping)
{
	struct memory_name *record;
	struct path path = {};
	__u64 object[2]; /* the verifier of 6.1 wants a map key on the stack or in a map */
	__u8 one = 1;

	if (!is_on(SIGNAL_memory) || !mapping)
		return 0;
	object[0] = mapping->object[0];
	object[1] = mapping->object[1];
	if (by_class || bpf_map_lookup_elem(&memory_named, object))
		return 0;
	record = bpf_ringbuf_reserve(&memory_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(memory, LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), MEMORY_NAME, 1);
	record->object[0] = object[0];
	record->object[1] = object[1];
	path.dentry = mapping->dentry;
	path.mnt = mapping->mnt;
	walk_path(&path, &record->path);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	bpf_map_update_elem(&memory_named, object, &one, BPF_ANY);
	return 0;
}

/* Finds the mapping of `address` in the current process and remembers it in `last`. */
static __noinline int memory_find(struct memory_mapping *last, __u64 address, __u32 lock_seq)
{
	struct memory_mapping mapping = { .lock_seq = lock_seq };

	bpf_find_vma(bpf_get_current_task_btf(), address, memory_look, &mapping, 0);
	if (mapping.dentry)
		memory_name(&mapping);
	*last = mapping;
	return 0;
}

static __always_inline bool memory_is_in(const struct memory_mapping *mapping, __u64 address,
					 __u32 lock_seq)
{
	return memory_has_lock_seq() && address >= mapping->begin && address < mapping->end &&
	       lock_seq == mapping->lock_seq;
}

static __always_inline __u32 memory_access_of(__u64 error)
{
	return error & FAULT_BY_WRITE       ? MEMORY_WRITE
	       : error & FAULT_BY_EXECUTION ? MEMORY_EXECUTE
					    : MEMORY_READ;
}

/* A stack for the event, now and then. Of `bytes` each. */
static __always_inline void memory_draw(struct draw *draw, __u32 operation, __u64 bytes)
{
	struct drawn drawn = { .signal = SIGNAL_memory, .operation = operation };

	if (by_class)
		return;
	drawn.count = draw_stack(draw);
	drawn.bytes = drawn.count * bytes;
	if (drawn.count)
		send_drawn(&drawn);
}

static __always_inline void memory_fault_opens(struct memory_thread *thread, __u64 address,
					       __u32 operation)
{
	if (!memory_calls.times_faults)
		return;
	if (thread->fault_open) /* the address was not valid, or a signal ended the fault */
		__sync_fetch_and_add(&series[SIGNAL_memory].unpaired, 1);
	thread->fault_address = address;
	thread->fault_operation = operation;
	thread->fault_major = 0;
	thread->fault_ns = 0;
	thread->fault_open = 1;
}

VERIFIED_ONCE int memory_faults(__u64 address, __u64 error)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 values[memory_values] = {};
	struct memory_thread *thread;
	struct series_key key = {};
	struct identity who;
	__u32 lock_seq;

	if (!is_on(SIGNAL_memory) || !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	thread = memory_thread_of(task);
	if (thread) {
		lock_seq = memory_lock_seq(task->mm);
		if (!memory_is_in(&thread->last, address, lock_seq))
			memory_find(&thread->last, address, lock_seq);
		key.operation = thread->last.kind * MEMORY_ACCESSES;
		key.object[0] = thread->last.object[0];
		key.object[1] = thread->last.object[1];
	}
	key.thread = who.id;
	key.operation += MEMORY_FAULTS + memory_access_of(error);
	series_reduce(&key);
	series_sum_up_own(SERIES(memory), series_turn(SERIES(memory)), &key, values);
	memory_draw(&memory_fault_draw, key.operation, MEMORY_PAGE_BYTES);
	if (thread)
		memory_fault_opens(thread, address, key.operation);
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(memory_on_fault, unsigned long address, struct pt_regs *regs, unsigned long error)
{
	return memory_faults(address, error);
}

/* Adds the time of a fault that is counted already. */
VERIFIED_ONCE int memory_fault_ended(__u64 ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	const struct series_maps maps = SERIES(memory);
	__u64 values[memory_values] = { ns };
	struct memory_thread *thread;
	struct series_key key = {};
	struct series_sum *sum;
	struct identity who;
	__u32 turn;

	if (!is_on(SIGNAL_memory) || !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	thread = bpf_task_storage_get(&memory_threads, task, NULL, 0);
	if (!thread)
		return 0;
	key.thread = who.id;
	key.operation = thread->fault_operation;
	key.object[0] = thread->last.object[0];
	key.object[1] = thread->last.object[1];
	series_reduce(&key);
	turn = series_turn(maps);
	sum = series_sum_of(maps, turn, &key);
	if (!sum)
		sum = &maps.control->overflow;
	__sync_fetch_and_add(&sum->sum[0], ns);
	if (ns > sum->max[0])
		sum->max[0] = ns;
	series_distribute(maps, turn, &key, values);
	return 0;
}

/* The fault has read memory back from swap. It is counted by its mapping, too. */
VERIFIED_ONCE int memory_swapped_in(__u64 ns)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 values[memory_values] = { ns, MEMORY_PAGE_BYTES };
	struct series_key key = { .operation = MEMORY_SWAP_IN };
	struct identity who;

	if (!is_on(SIGNAL_memory) || !is_wanted_by(SIGNAL_memory, task, &who))
		return 0;
	key.thread = who.id;
	key.place = memory_cgroup_of(task, NULL, 0);
	series_reduce(&key);
	series_add_own(SERIES(memory), &key, values);
	if (series_is_slow(SERIES(memory), ns))
		memory_send_slow(&key, values);
	return 0;
}

/* The current thread, if it handles the fault that page_fault_user has shown. */
static __always_inline struct memory_thread *memory_handles(__u64 address, __u32 flags)
{
	struct memory_thread *thread;

	if (!(flags & FAULT_FLAG_USER)) /* a system call touches memory of the program */
		return NULL;
	thread = bpf_task_storage_get(&memory_threads, bpf_get_current_task_btf(), NULL, 0);
	return thread && thread->fault_open && thread->fault_address == address ? thread : NULL;
}

SEC("fentry/handle_mm_fault")
int BPF_PROG(memory_on_handle, struct vm_area_struct *vma, unsigned long address,
	     unsigned int flags)
{
	struct memory_thread *thread = is_on(SIGNAL_memory) ? memory_handles(address, flags) : NULL;

	if (thread && !thread->fault_ns)
		thread->fault_ns = bpf_ktime_get_ns();
	return 0;
}

/* A fault that has to be tried again goes on. */
SEC("fexit/handle_mm_fault")
int BPF_PROG(memory_on_handled, struct vm_area_struct *vma, unsigned long address,
	     unsigned int flags, struct pt_regs *regs, unsigned int ret)
{
	__u64 begin_ns, now = bpf_ktime_get_ns();
	struct memory_thread *thread = is_on(SIGNAL_memory) ? memory_handles(address, flags) : NULL;

	if (!thread || !thread->fault_ns)
		return 0;
	thread->fault_major |= ret & VM_FAULT_MAJOR;
	if (ret & VM_FAULT_RETRY)
		return 0;
	begin_ns = thread->fault_ns;
	thread->fault_open = 0;
	if (begin_ns < series[SIGNAL_memory].since_ns)
		return 0;
	memory_fault_ended(now - begin_ns);
	if (thread->fault_major && thread->last.kind != MEMORY_FILE)
		memory_swapped_in(now - begin_ns);
	return 0;
}
