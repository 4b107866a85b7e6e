/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An entry of the table of collections.bpf.h. */
#pragma once

#include <linux/types.h>

struct collection_asked {
	__u64 asker; /* the ledger's id of the thread that asks; 0: none */
	__u64 operation;
	__u64 since_ns;
};
