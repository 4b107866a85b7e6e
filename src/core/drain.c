/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/drain.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BATCH 1024

int drain__map(const struct bpf_map *map, drain_take_fn take, void *context)
{
	size_t key_size = bpf_map__key_size(map), value_size = bpf_map__value_size(map);
	cleanup(free_p) char *keys = calloc(BATCH, key_size);
	cleanup(free_p) char *values = calloc(BATCH, value_size);
	uint32_t position, count;
	void *from = NULL;
	int end = 0, err = 0;

	if (!keys || !values)
		return -ENOMEM;
	while (!end && !err) {
		count = BATCH;
		end = bpf_map_lookup_and_delete_batch(bpf_map__fd(map), from, &position, keys,
						      values, &count, NULL);
		/* -ENOENT: the map is empty now; -ENOSPC: a bucket is larger than the batch. */
		if (end && end != -ENOENT)
			return end;
		for (uint32_t i = 0; i < count && !err; i++)
			err = take(context, keys + i * key_size, values + i * value_size);
		from = &position;
	}
	return err;
}
