/* How paths travel. Written by path.bpf.h. */
#pragma once

#include <linux/types.h>

#define PATH_NAME_BYTES 256 /* of one name, with its NUL */
#define PATH_BYTES      384 /* no further name begins behind that */

enum path_flags {
	PATH_CUT = 1,     /* the beginning is missing */
	PATH_DELETED = 2, /* it has no name any more; this was the last one */
};

/* As the process sees it. No names: its root. */
struct path_names {
	__u16 bytes; /* used of `names` */
	__u16 flags;
	__u32 pad;
	char names[PATH_BYTES + PATH_NAME_BYTES]; /* each ends with NUL; the last one comes first */
};
_Static_assert(sizeof(struct path_names) == 648, "wire format");
