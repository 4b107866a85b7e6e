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

/* How many names and mounts a path may have. */
#define PATH_STEPS 48

static __always_inline struct mount *mount_of(struct vfsmount *at)
{
	return (void *)at - bpf_core_field_offset(struct mount, mnt);
}

/* From a mount's root to where it is mounted; false at the end of all mounts. */
static __always_inline bool leave_mount(struct path *at)
{
	struct mount *mount = mount_of(at->mnt);
	struct mount *parent = BPF_CORE_READ(mount, mnt_parent);

	if (parent == mount)
		return false;
	at->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	at->mnt = (void *)parent + bpf_core_field_offset(struct mount, mnt);
	return true;
}

static __always_inline bool is_deleted(struct dentry *dentry)
{
	return !BPF_CORE_READ(dentry, d_hash.pprev) && BPF_CORE_READ(dentry, d_parent) != dentry;
}

/*
 * The names from `at` up to the root of the process (a container's, say). By hand, since
 * bpf_d_path() is not for tracepoints. A rename meanwhile may mix old and new names.
 */
static __noinline void walk_path(struct task_struct *task, struct path *from,
				 struct path_names *ret)
{
	struct path at = *from, root = {};
	__u64 used = 0;
	__u32 flags = is_deleted(at.dentry) ? PATH_DELETED | PATH_CUT : PATH_CUT;

	BPF_CORE_READ_INTO(&root, task, fs, root);
	for (int i = 0; i < PATH_STEPS && used < PATH_BYTES; i++) {
		struct dentry *parent = BPF_CORE_READ(at.dentry, d_parent);
		long length;

		if (at.dentry == root.dentry && at.mnt == root.mnt) {
			flags &= ~PATH_CUT;
			break;
		}
		if (at.dentry == BPF_CORE_READ(at.mnt, mnt_root)) {
			if (leave_mount(&at))
				continue;
			flags &= ~PATH_CUT;
			break;
		}
		length = bpf_probe_read_kernel_str(ret->names + used, PATH_NAME_BYTES,
						   BPF_CORE_READ(at.dentry, d_name.name));
		if (length <= 0)
			break;
		used += length;
		if (at.dentry == parent) { /* in no folder: a memfd */
			flags &= ~PATH_CUT;
			break;
		}
		at.dentry = parent;
	}
	ret->bytes = used;
	ret->flags = flags;
}
