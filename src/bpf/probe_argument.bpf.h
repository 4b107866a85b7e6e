/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads an argument of a declared probe when it is hit. */
#pragma once

#include "bpf/common.h"
#include "bpf/probe_argument.h"

/* 0: it could be read. */
static __always_inline long probe_argument_read(struct pt_regs *ctx,
						const struct probe_argument *argument, __s64 *ret)
{
	__u32 bytes = argument->bytes, shift;
	__u64 value = argument->value;
	long err = argument->kind ? 0 : -1;

	if (bytes > sizeof(value))
		return -1;
	if (argument->kind >= 2) {
		err = bpf_probe_read_kernel(&value, sizeof(value),
					    (void *)ctx + argument->register_at);
		value += argument->kind == 3 ? argument->value : 0;
	}
	/* The value may be the last one of a page, so read no more than its bytes. */
	if (argument->kind == 3) {
		void *from = (void *)value;

		value = 0;
		err = bpf_probe_read_user(&value, bytes, from);
	}
	shift = (64 - 8 * bytes) & 63;
	*ret = argument->is_signed ? (__s64)(value << shift) >> shift
				   : (__s64)(value << shift >> shift);
	return err;
}
