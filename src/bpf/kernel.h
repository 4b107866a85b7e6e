/*
 * The kernel types that we read, each with only the fields that we read: the list of what gapless
 * depends on. CO-RE relocates every access to the running kernel's layout (preserve_access_index),
 * so order and size here mean nothing. A field that a kernel renamed gets a flavour (___old) beside
 * it, with the version that made it necessary.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

/* Makes bpf_tracing.h use the kernel's names for registers, as struct pt_regs below has them. */
#define __VMLINUX_H__ 1

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip, cs, flags, sp, ss;
};

struct task_struct {
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	pid_t pid;
	pid_t tgid;
	char comm[16];
};

struct linux_binprm {
	const char *filename;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

/* The classic tracepoint's record; CO-RE finds its fields in BTF like any other type. */
struct trace_entry {
	int pid;
};

struct trace_event_raw_sys_enter {
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sched_process_exec {
	__u32 __data_loc_filename;
};

struct bpf_perf_event_data;

#pragma clang attribute pop
