/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/slab/slab.h"

#include <errno.h>

#include "core/signal.h"
#include "symbol/kallsyms.h"

static const struct hook hooks[] = {
	{ "kmalloc", { "slab_on_kmalloc" } },
	{ "kmem_cache_alloc", { "slab_on_cache" } },
	{},
};

static const struct measure measures[] = { { "size", "bytes" }, { "drawn", "allocations" }, {} };

static const struct column columns[] = { {} };

static int slab_decode(const void *bytes, size_t size, struct event *ret)
{
	return -EBADMSG; /* it sends none */
}

static const char *slab_operation(uint32_t operation)
{
	static const char *const names[SLAB_OPERATIONS] = {
		[SLAB_KMALLOC] = "kmalloc",
		[SLAB_CACHE] = "kmem_cache_alloc",
	};

	return operation < SLAB_OPERATIONS ? names[operation] : NULL;
}

static void slab_object(const __u64 numbers[2], char *ret, size_t size)
{
	kallsyms__say(numbers[0], ret, size);
}

const struct signal slab_signal = {
	.name = "slab",
	.number = SIGNAL_slab,
	.about = "memory that the kernel allocates for itself, by the function that asks for it",
	.events = "allocations",
	.role = ROLE_NONE,
	.event_ns = 60,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = slab_decode,
	.operation = slab_operation,
	.object = slab_object,
	.object_kind = "function",
};
