/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file behind a descriptor. Nothing here takes a reference: read from the pointers at once,
 * because a moment later the memory may belong to another file.
 */
#pragma once

#include "bpf/common.h"

#define S_IFMT   0170000
#define S_IFSOCK 0140000
#define S_IFREG  0100000
#define S_IFBLK  0060000
#define S_IFDIR  0040000
#define S_IFIFO  0010000

/*
 * Turns a number into a pointer that plain loads can follow; that is 10 times cheaper than a helper
 * call per field. Since Linux 6.2; older kernels use the helper.
 */
extern void *bpf_rdonly_cast(void *object, __u32 type_id) __ksym __weak;

/* Any struct that begins with a number of 64 bits: bpf_rdonly_cast() needs a struct. */
struct timespec64 {
	__s64 tv_sec;
} __attribute__((preserve_access_index));

/* `task` must be a pointer that the verifier trusts. NULL if the descriptor is not open. */
static __always_inline struct file *file_of(struct task_struct *task, __u32 fd)
{
	struct files_struct *files = task->files;
	struct file *file = NULL;
	struct fdtable *table;

	if (!files)
		return NULL;
	table = files->fdt;
	if (fd >= table->max_fds)
		return NULL;
	if (bpf_rdonly_cast) {
		struct timespec64 *entry =
			bpf_rdonly_cast(table->fd + fd, bpf_core_type_id_kernel(struct timespec64));

		return (struct file *)entry->tv_sec;
	}
	bpf_probe_read_kernel(&file, sizeof(file), table->fd + fd);
	return file;
}

static __always_inline void look_at_inode(struct file *file, __u64 *ret_number, __u32 *ret_mode)
{
	struct inode *inode;

	if (bpf_rdonly_cast) {
		file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
		inode = file->f_inode;
		*ret_number = inode->i_ino;
		*ret_mode = inode->i_mode;
		return;
	}
	inode = BPF_CORE_READ(file, f_inode);
	*ret_number = BPF_CORE_READ(inode, i_ino);
	*ret_mode = BPF_CORE_READ(inode, i_mode);
}

#define ANON_INODE_FS_MAGIC 0x09041934

/*
 * An eventfd, timerfd, signalfd, inotify …: they all share one inode, which has the mode of a
 * regular file in some kernels. The name of the dentry tells what the file is.
 */
static __always_inline bool is_anonymous(struct file *file)
{
	if (bpf_rdonly_cast) {
		file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
		return file->f_inode->i_sb->s_magic == ANON_INODE_FS_MAGIC;
	}
	return BPF_CORE_READ(file, f_inode, i_sb, s_magic) == ANON_INODE_FS_MAGIC;
}

/* Identifies a file among all present and past ones: inode numbers are reused. */
struct file_facts {
	__u64 inode;
	__u64 position; /* where the next read() or write() begins */
	__u32 generation;
	__u32 device; /* of the file system */
	__u32 mode;
};

static __always_inline void look_at_file(struct file *file, struct file_facts *ret)
{
	struct inode *inode;

	if (bpf_rdonly_cast) {
		file = bpf_rdonly_cast(file, bpf_core_type_id_kernel(struct file));
		inode = file->f_inode;
		*ret = (struct file_facts) { inode->i_ino, file->f_pos, inode->i_generation,
					     inode->i_sb->s_dev, inode->i_mode };
		return;
	}
	inode = BPF_CORE_READ(file, f_inode);
	*ret = (struct file_facts) { BPF_CORE_READ(inode, i_ino), BPF_CORE_READ(file, f_pos),
				     BPF_CORE_READ(inode, i_generation),
				     BPF_CORE_READ(inode, i_sb, s_dev),
				     BPF_CORE_READ(inode, i_mode) };
}

#define VECTOR_CHUNK 8
#define VECTOR_MOST  1024 /* UIO_MAXIOV: the kernel refuses more */

struct vector {
	__u64 address, count;
	__u64 bytes; /* so far */
};

static long add_chunk(__u32 i, struct vector *vector)
{
	struct {
		__u64 base, bytes;
	} chunk[VECTOR_CHUNK] = {};
	__u64 done = (__u64)i * VECTOR_CHUNK, left = vector->count - done;
	__u32 size = left < VECTOR_CHUNK ? left * sizeof(*chunk) : sizeof(chunk);

	if (done >= vector->count || size > sizeof(chunk) ||
	    bpf_probe_read_user(chunk, size, (void *)(vector->address + done * sizeof(*chunk))))
		return 1;
	for (int j = 0; j < VECTOR_CHUNK; j++)
		vector->bytes += chunk[j].bytes;
	return 0;
}

/* The sum of the lengths in an iovec. If it cannot be read, the syscall fails with EFAULT too. */
VERIFIED_ONCE __u64 bytes_in_vector(__u64 address, __u64 count)
{
	struct vector vector = { .address = address, .count = count };

	bpf_loop(VECTOR_MOST / VECTOR_CHUNK, add_chunk, &vector, 0);
	return vector.bytes;
}

#define KERNEL_MINOR_BITS 20

/* The kernel's form of a device number that has the encoding of user space. */
static __always_inline __u32 device_of(__u64 number)
{
	__u32 major = number >> 8 & 0xfff, minor = (number & 0xff) | (number >> 12 & 0xfff00);

	return major << KERNEL_MINOR_BITS | minor;
}
