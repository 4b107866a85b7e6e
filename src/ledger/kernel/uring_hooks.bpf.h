/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hooks of io_uring, for the ledger (uring.bpf.h) and for the parts of signals. */
#pragma once

#include "ledger/kernel/uring.bpf.h"

static __always_inline int request_enters(struct io_kiocb *request)
{
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_submits(request);
	AT_io_uring_submit_req(PART);
#undef PART
	return note_request(request);
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(on_uring_submit, struct io_kiocb *request)
{
	return request_enters(request);
}

/* Up to 6.3. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(on_uring_submit_sqe, struct io_kiocb *request)
{
	return request_enters(request);
}

/* `request` is NULL for a completion that is not the last one of its request. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(on_uring_complete, void *ring, void *request)
{
#define PART(name)                                                                                 \
	if (is_on(SIGNAL_##name))                                                                  \
		name##_completes(ctx);
	AT_io_uring_complete(PART);
#undef PART
	return forget_request((__u64)request, (__u64)ring);
}
