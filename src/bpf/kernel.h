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

/* --- files and sockets --- */

struct super_block {
	__u32 s_dev;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

struct file {
	struct inode *f_inode;
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct pid_namespace;

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

struct in6_addr {
	__u8 bytes[16];
};

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic64_t;

struct sock_common {
	unsigned short skc_family;
	volatile unsigned char skc_state;
	unsigned long skc_flags;
	atomic64_t skc_cookie;
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	struct pid *sk_peer_pid;
	__u16 sk_protocol;
	int sk_err;
	atomic_t sk_drops; /* of a listener: connections that it dropped */
};

struct socket {
	struct sock *sk;
};

/* --- block requests --- */

/* --- file systems, the page cache --- */

/* --- TCP --- */

struct tcp_sock {
	__u64 bytes_sent;
	__u64 bytes_retrans;
	__u64 bytes_received;
	__u32 segs_out;
	__u32 segs_in;
	__u32 total_retrans;
	__u32 srtt_us;
	__u32 rcv_wnd;
	__u32 rcv_nxt;
	__u32 rcv_wup;
	__u8 chrono_type : 2;
	__u32 chrono_start;
	__u32 chrono_stat[3];
};

struct sk_buff;
struct request_sock;
struct msghdr;

/* --- cgroups --- */

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self; /* the first member, so a css of it is the cgroup */
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* --- tasks --- */

struct thread_info {
	__u32 status; /* x86: TS_COMPAT */
};

struct rq {
	__u64 clock;
};

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	__u64 sum_exec_runtime;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_queued;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned long jobctl;
	int on_cpu;
	void *stack;
	int exit_state;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct sched_entity se;
	struct sched_info sched_info;
	pid_t pid;
	pid_t tgid;
	__u64 start_boottime;
	char comm[16];
	struct files_struct *files;
	struct css_set *cgroups;
	struct pid *thread_pid;
};

struct linux_binprm {
	const char *filename;
};

/* --- iterators and classic tracepoints --- */

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct trace_event_raw_sys_enter {
	long id;
	unsigned long args[6];
};

struct trace_event_raw_sched_process_exec {
	__u32 __data_loc_filename;
};

#pragma clang attribute pop
