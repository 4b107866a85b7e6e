/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The wire format of paths. Written by path.bpf.h. */
#pragma once

#include <linux/types.h>

#define PATH_NAME_BYTES 256 /* of one name, with its NUL */
#define PATH_BYTES      384 /* no name begins after this offset */

enum path_flags {
	PATH_CUT = 1,     /* the beginning is missing */
	PATH_DELETED = 2, /* the file has no name any more; this was its last one */
};

/* A path as the process sees it. No names: the root directory of the process. */
struct path_names {
	__u16 bytes; /* used in `names` */
	__u16 flags;
	__u32 pad;
	char names[PATH_BYTES + PATH_NAME_BYTES]; /* each ends with NUL; the last component first */
};
_Static_assert(sizeof(struct path_names) == 648, "wire format");
