/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The path of a file, as its process sees it. */
#pragma once

#include "bpf/common.h"
#include "bpf/files.bpf.h"
#include "bpf/path.h"

#define AT_FDCWD (-100)

/* Where a relative path begins; false if there is no such directory. */
static __always_inline bool find_directory(struct task_struct *task, __s32 fd, struct path *ret)
{
	struct file *file;

	if (fd == AT_FDCWD) {
		BPF_CORE_READ_INTO(ret, task, fs, pwd);
		return true;
	}
	file = file_of(task, fd);
	if (file)
		BPF_CORE_READ_INTO(ret, file, f_path);
	return file;
}

/* The maximum number of names and mounts in a path. */
#define PATH_STEPS 48

static __always_inline struct mount *mount_of(struct vfsmount *at)
{
	return (void *)at - bpf_core_field_offset(struct mount, mnt);
}

/* No members of type struct path: CO-RE would relocate the accesses to them. */
struct path_walk {
	struct dentry *dentry, *root_dentry;
	struct vfsmount *mnt, *root_mnt;
	struct path_names *names;
	__u32 used;
	__u32 flags;
};

/* Moves from a mount's root to its mount point; false at the root of the mount tree. */
static __always_inline bool leave_mount(struct path_walk *walk)
{
	struct mount *mount = mount_of(walk->mnt);
	struct mount *parent = BPF_CORE_READ(mount, mnt_parent);

	if (parent == mount)
		return false;
	walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	walk->mnt = (void *)parent + bpf_core_field_offset(struct mount, mnt);
	return true;
}

static __always_inline bool is_deleted(struct dentry *dentry)
{
	return !BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
}

/* Moves up by one name or mount; 1: the path is complete, or cannot go on. */
static long step_up(__u32 i, struct path_walk *walk)
{
	struct vfsmount *mnt = walk->mnt;
	struct dentry *dentry = walk->dentry, *parent = BPF_CORE_READ(dentry, d_parent);
	__u64 used = walk->used;
	long length;

	barrier_var(used); /* 6.1 tracks a bound only in the compared register */
	if (used >= PATH_BYTES)
		return 1;
	if (dentry == walk->root_dentry && mnt == walk->root_mnt) {
		walk->flags &= ~PATH_CUT;
		return 1;
	}
	if (dentry == BPF_CORE_READ(mnt, mnt_root)) {
		if (leave_mount(walk))
			return 0;
		walk->flags &= ~PATH_CUT;
		return 1;
	}
	length = bpf_probe_read_kernel_str(walk->names->names + used, PATH_NAME_BYTES,
					   BPF_CORE_READ(dentry, d_name.name));
	if (length <= 0)
		return 1;
	walk->used = used + length;
	if (dentry == parent) { /* in no directory: a memfd */
		walk->flags &= ~PATH_CUT;
		return 1;
	}
	walk->dentry = parent;
	return 0;
}

/*
 * Collects the names from `from` up to the root directory of the current process (which may be a
 * container's). Not with bpf_d_path(), which tracepoints may not call. If a rename happens
 * meanwhile, the result may mix old and new names.
 */
VERIFIED_ONCE int walk_path(const struct path *from, struct path_names *ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct path_walk walk = { .flags = PATH_CUT };

	if (!from || !ret)
		return 0;
	walk.names = ret;
	walk.dentry = from->dentry;
	walk.mnt = from->mnt;
	if (is_deleted(walk.dentry))
		walk.flags |= PATH_DELETED;
	walk.root_dentry = BPF_CORE_READ(task, fs, root.dentry);
	walk.root_mnt = BPF_CORE_READ(task, fs, root.mnt);
	bpf_loop(PATH_STEPS, step_up, &walk, 0);
	ret->bytes = walk.used;
	ret->flags = walk.flags;
	return 0;
}
