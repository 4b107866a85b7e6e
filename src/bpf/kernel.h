/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel types that we read, each with only the fields that we read: the list of what gapless
 * depends on. CO-RE relocates every access to the running kernel's layout (preserve_access_index),
 * so order and size here mean nothing. A field that a kernel renamed gets a flavour (___old) beside
 * it, with the kernel version that made it necessary. The types of the block layer are in
 * kernel_block.h.
 */
#pragma once

#include <linux/bpf.h>
#include <stdbool.h>

/* Makes bpf_tracing.h use the kernel's names for registers, as struct pt_regs has them. */
#define __VMLINUX_H__ 1

#include "bpf/arch/arch.h"
#include "bpf/kernel_sched.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

/* --- files and sockets --- */

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

typedef struct {
	__s64 counter;
} atomic64_t;

struct rw_semaphore {
	atomic64_t owner; /* as in struct mutex */
};

struct inode;

struct address_space {
	struct inode *host;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	__u32 i_generation;
	struct super_block *i_sb;
	struct hlist_head i_dentry; /* of d_alias */
	struct rw_semaphore i_rwsem;
	struct address_space i_data;
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
	struct hlist_head *f_ep; /* epoll instances that it is registered in */
};

struct eventpoll;

struct epoll_event {
	__u32 events;
};

struct epitem {
	struct hlist_node fllink; /* in file.f_ep */
	struct eventpoll *ep;
	struct epoll_event event;
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

struct numa_drop_counters {
	atomic_t drops0, drops1;
};

struct sock {
	struct sock_common __sk_common;
	struct pid *sk_peer_pid;
	struct socket *sk_socket;
	__u16 sk_type;
	__u16 sk_protocol;
	__u8 sk_userlocks : 4;
	int sk_err;
	atomic_t sk_drops; /* of a listener: connections that it dropped */
	struct numa_drop_counters *sk_drop_counters; /* since 6.18, for UDP; NULL: sk_drops */
};

struct socket {
	long unsigned int flags;
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un {
	char sun_path[108];
};

struct unix_address {
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct inet_bind_bucket {
	signed char fastreuse; /* -1: connect() chose the port */
};

struct inet_connection_sock {
	struct inet_bind_bucket *icsk_bind_hash;
	struct {
		__u32 lrcvtime;
	} icsk_ack;
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
	union {
		struct hlist_node d_alias;
	} d_u;
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

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	unsigned long vm_pgoff;
	struct file *vm_file;
};

struct vm_fault {
	struct vm_area_struct *vma;
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
	__u32 copied_seq; /* what the program has read */
	__u32 rcv_wup;
	__u32 write_seq;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 snd_sml; /* end of the last segment sent that was not full */
	__u32 snd_wnd;
	__u32 mss_cache;
	__u32 packets_out;
	__u32 snd_cwnd;
	__u32 lsndtime;
	__u8 nonagle : 4;
	__u8 chrono_type : 2;
	__u32 chrono_start;
	__u32 chrono_stat[3];
};

struct sk_buff {
	unsigned int len;
	__u16 protocol;
	unsigned char *data;
};

struct request_sock;
struct msghdr;

/* --- cgroups --- */

struct kernfs_node {
	__u64 id;
	const char *name;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self; /* first: a pointer to it is a pointer to the cgroup */
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

enum cgroup_subsys_id { memory_cgrp_id };

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* by enum cgroup_subsys_id */
	struct cgroup *dfl_cgrp;
};

/* --- tasks --- */

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_queued;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	struct {
		int counter;
	} live;                               /* threads that have not begun to exit */
	struct sigpending shared_pending;     /* sent to the process */
	int nr_threads;                       /* threads that have not been released yet */
	unsigned long long sum_sched_runtime; /* of threads that have been released */
	int group_exit_code;
	unsigned int flags;
};

union __sifields {
	struct {
		void *_addr;
	} _sigfault;
};

struct kernel_siginfo {
	int si_signo;
	int si_code;
	union __sifields _sifields;
};

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

struct task_struct;

struct mm_struct {
	struct rw_semaphore mmap_lock;
	struct task_struct *owner; /* with CONFIG_MEMCG */
	struct file *exe_file;
	unsigned long start_brk;
	unsigned long brk;
	unsigned long arg_start;
	unsigned long arg_end;
	struct {
		unsigned int sequence;
	} mm_lock_seq; /* changes when mmap_lock was taken for writing */
};

/* 6.4 to 6.12. Before 6.4 there was none. */
struct mm_struct___int {
	int mm_lock_seq;
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct io_uring_task;

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state;
	unsigned int flags;
	unsigned long jobctl;
	int on_cpu;
	int prio;
	int nr_cpus_allowed;
	bool throttled; /* since 6.18, with CONFIG_CFS_BANDWIDTH */
	void *stack;
	unsigned int in_iowait : 1;
	unsigned int in_memstall : 1; /* with CONFIG_PSI */
	int exit_state;
	int exit_code;
	struct mm_struct *mm;
	struct signal_struct *signal;
	sigset_t blocked;
	struct sigpending pending;
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
	void *worker_private;           /* of a kernel thread: its struct kthread */
	struct io_uring_task *io_uring; /* NULL: never used it */
	struct thread_struct thread;
};

/* Before 6.10, this tracepoint had the pid as its only argument. */
struct trace_event_raw_mark_victim {
	unsigned int uid;
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

struct work_struct {
	void *func;
};

struct kmem_cache {
	unsigned int object_size;
};

#pragma clang attribute pop
