/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations of the signal slab. It sends no records. */
#pragma once

enum slab_operation {
	SLAB_KMALLOC,
	SLAB_CACHE, /* kmem_cache_alloc() */
	SLAB_OPERATIONS,
};
