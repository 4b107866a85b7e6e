/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two text tables that others write: perf-PID.map and kallsyms. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/kallsyms.h"
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A name must be inside the text and be terminated. */
static void ask(const struct perfmap *map, const struct kallsyms *kallsyms, uint64_t address,
		size_t size)
{
	const char *owner = NULL, *in_kernel = kallsyms__find(kallsyms, address, &owner);
	const char *name = perfmap__find(map, address);

	if ((name && strlen(name) > size) || (in_kernel && strlen(in_kernel) > size) ||
	    (in_kernel && owner && strlen(owner) > size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms kallsyms;
	struct perfmap *map;
	FILE *file = fmemopen((void *)data, size, "r");

	if (!file || perfmap__read(file, NULL, &map))
		abort();
	rewind(file);
	if (kallsyms__read(file, &kallsyms))
		abort();
	fclose(file);
	for (uint64_t address = 0; address < 4096; address += 17)
		ask(map, &kallsyms, address, size);
	for (int shift = 0; shift < 64; shift++)
		ask(map, &kallsyms, UINT64_MAX << shift, size);
	perfmap__free(map);
	kallsyms__release(&kallsyms);
	return 0;
}
