/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that we read, each with only the fields that we read: the list of what gapless
 * depends on. CO-RE relocates every access to the running kernel's layout (preserve_access_index),
 * so order and size here mean nothing. A field that a kernel renamed gets a flavour (___old) beside
 * it, with the kernel version that made it necessary.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

/* Makes bpf_tracing.h use the kernel's names for registers, as struct pt_regs has them. */
#define __VMLINUX_H__ 1

#include "bpf/arch/arch.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

/* --- files and sockets --- */

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
};

struct dentry;
struct vfsmount;

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	const void *f_op;
	struct path f_path;
	long long f_pos;
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

struct blk_mq_ops;
struct gendisk;

struct request_queue {
	const struct blk_mq_ops *mq_ops;
	struct gendisk *disk;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct block_device {
	struct gendisk *bd_disk;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	__u64 start_time_ns;
};

/* --- file systems, the page cache --- */

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

enum pageflags {
	PG_head = 6,
};

struct folio {
	unsigned long flags;
	unsigned int _nr_pages;
};

/* Before 6.16. */
struct folio___old {
	unsigned int _folio_nr_pages;
};

/* Since 6.18. */
typedef struct {
	unsigned long f;
} memdesc_flags_t;

struct folio___memdesc {
	memdesc_flags_t flags;
};

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
	struct cgroup_subsys_state self; /* first: a pointer to it is a pointer to the cgroup */
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

/* --- tasks --- */

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

struct signal_struct {
	struct {
		int counter;
	} live;         /* threads that have not begun to exit */
	int nr_threads; /* threads that have not been released yet */
	int group_exit_code;
	unsigned int flags;
};

struct kernel_siginfo;

struct sigaction {
	void (*sa_handler)(int number);
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct mutex {
	atomic64_t owner; /* a pointer to the owner task, with flags in the low bits */
};

struct rw_semaphore {
	atomic64_t owner; /* as in struct mutex */
};

struct mm_struct {
	struct rw_semaphore mmap_lock;
	struct file *exe_file;
	unsigned long arg_start;
	unsigned long arg_end;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned long jobctl;
	int on_cpu;
	void *stack;
	unsigned int in_iowait : 1;
	unsigned int in_memstall : 1; /* with CONFIG_PSI */
	int exit_state;
	int exit_code;
	struct mm_struct *mm;
	struct signal_struct *signal;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct sched_entity se;
	struct sched_info sched_info;
	pid_t pid;
	pid_t tgid;
	__u64 start_time;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct css_set *cgroups;
	struct pid *thread_pid;
	const struct cred *real_cred;
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

struct trace_event_raw_sys_exit {
	long id;
	long ret;
};

struct trace_event_raw_mm_filemap_op_page_cache {
	unsigned char order;
};

struct trace_event_raw_sched_process_exec {
	__u32 __data_loc_filename;
};

#pragma clang attribute pop
