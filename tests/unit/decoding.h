/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the decode() of every signal must do with records that are not good. */
#pragma once

#include "../harness.h"

#include <errno.h>

#include "core/signal.h"

/* It refuses the record and leaves the output alone. */
static inline void refuses(const struct signal *signal, const void *record, size_t size)
{
	struct event event = { .time_ns = 99 }, before = event;

	assert_int_equal(signal->decode(record, size, &event), -EBADMSG);
	assert_memory_equal(&event, &before, sizeof(event));
}

/* It takes the record, but not if it is shorter or its head is wrong. */
static inline void refuses_wrong_heads(const struct signal *signal, const void *good, size_t size)
{
	struct wire_head *head = malloc(size);
	struct event event = {};

	assert_non_null(head);
	memcpy(head, good, size);
	assert_int_equal(signal->decode(head, size, &event), 0);
	refuses(signal, head, size - 1);
	refuses(signal, head, 3);
	refuses(signal, head, 0);
	head->size--;
	refuses(signal, head, size);
	head->size += 2;
	refuses(signal, head, size);
	head->size--;
	head->version++;
	refuses(signal, head, size);
	free(head);
}
