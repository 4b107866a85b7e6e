/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel types that the signal block reads, as in kernel.h. */
#pragma once

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* --- block requests --- */

struct blk_mq_ops;
struct gendisk;

struct request_queue {
	const struct blk_mq_ops *mq_ops;
	struct gendisk *disk;
};

struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct block_device {
	struct gendisk *bd_disk;
};

/* A cgroup at a device. */
struct blkcg_gq {
	struct blkcg_gq *parent; /* NULL: the root cgroup */
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private;
	struct blkcg_gq *bi_blkg; /* with CONFIG_BLK_CGROUP */
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int rq_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	__u64 start_time_ns;
};

/* --- workqueues --- */

struct workqueue_struct {
	char name[24];
};

struct pool_workqueue {
	struct workqueue_struct *wq;
};

struct worker {
	struct pool_workqueue *current_pwq;
};

struct kthread {
	void *data; /* of a worker: its struct worker */
};

#pragma clang attribute pop
