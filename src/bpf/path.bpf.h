/*
 * The path of an open file, from its dentries: bpf_d_path() may not be called from tracepoints.
 * The parts come from the last to the first, each with a NUL; user space turns them round. Mounts
 * are followed up to the root of the file's mount namespace.
 */
#pragma once

#include "bpf/common.h"

#define PATH_PARTS      32
#define PATH_PART_BYTES 256 /* NAME_MAX and a NUL */

/*
 * Writes to `ret` and returns how many bytes; *ret_whole: all parts are there. `most` must be a
 * constant, at least PATH_PART_BYTES.
 */
static __always_inline __u32 path_of(struct file *file, char *ret, const __u32 most,
				     bool *ret_whole)
{
	struct file___path *from = (void *)file;
	struct dentry___path *dentry = BPF_CORE_READ(from, f_path.dentry), *above;
	struct mount___path *mount = (void *)BPF_CORE_READ(from, f_path.mnt) -
				     bpf_core_field_offset(struct mount___path, mnt);
	const unsigned char *name;
	__u64 at = 0;
	long length;

	*ret_whole = false;
	for (int i = 0; i < PATH_PARTS && dentry; i++) {
		/* The root of a mount goes on where that is mounted. */
		if (dentry == BPF_CORE_READ(mount, mnt.mnt_root)) {
			struct mount___path *below = mount;

			mount = BPF_CORE_READ(below, mnt_parent);
			*ret_whole = mount == below;
			if (*ret_whole)
				break;
			dentry = BPF_CORE_READ(below, mnt_mountpoint);
			continue;
		}
		name = BPF_CORE_READ(dentry, d_name.name);
		barrier_var(at); /* 6.1 follows the bounds of the register that it sees compared */
		if (at > most - PATH_PART_BYTES)
			break;
		length = bpf_probe_read_kernel_str(ret + at, PATH_PART_BYTES, name);
		if (length <= 0 || length > PATH_PART_BYTES)
			break;
		at += length;
		above = BPF_CORE_READ(dentry, d_parent);
		/* Not in any folder: "[eventfd]", "memfd:…". */
		*ret_whole = above == dentry;
		if (*ret_whole)
			break;
		dentry = above;
	}
	return at;
}
