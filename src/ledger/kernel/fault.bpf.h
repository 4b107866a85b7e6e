/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which file a page fault reads. At switch-out nothing shows the address that a thread faulted on:
 * the kernel keeps it in a register and in local variables. So the fault handler of files is
 * hooked. It runs only if the page is not in the page cache or is about to be written; faults in
 * anonymous memory, which can be frequent, do not get there, nor do most minor faults in files.
 *
 * Only the pointer of the inode is noted. It is used if the thread leaves the CPU in the same
 * fault.
 *
 * Rejected: bpf_find_vma(), which takes the lock of the address space; the tracepoint
 * page_fault_user, which costs every minor fault and exists on x86 only.
 */
#pragma once

#include "ledger/kernel/thread.bpf.h"

/* A finished fault increments one of these counters, so their sum identifies the fault. */
static __always_inline __u32 faults_of(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

static __always_inline int note_fault(struct inode *inode)
{
	struct task_struct *current = bpf_get_current_task_btf();
	struct thread *thread = find(current);

	if (!thread)
		return 0;
	thread->fault_inode = (__u64)inode;
	thread->fault_number = faults_of(current);
	return 0;
}

/* The inode of the file that the thread's fault reads; NULL: not known, or not a file. */
static __always_inline struct inode *inode_of_fault(const struct thread *thread,
						    struct task_struct *task)
{
	return thread->fault_number == faults_of(task) ? (void *)thread->fault_inode : NULL;
}

/* Since 6.12. */
SEC("tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping)
{
	return note_fault(mapping->host);
}

SEC("fentry/filemap_fault")
int BPF_PROG(on_file_fault_entry, struct vm_fault *fault)
{
	return note_fault(fault->vma->vm_file->f_inode);
}

SEC("kprobe/filemap_fault")
int BPF_KPROBE(on_file_fault_probe, struct vm_fault *fault)
{
	return note_fault(BPF_CORE_READ(fault, vma, vm_file, f_inode));
}
