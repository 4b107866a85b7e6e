/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two text tables that others write: perf-PID.map and kallsyms. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/kallsyms.h"
#include "symbol/perfmap.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* A name must be inside the text and be terminated. */
static void ask(const struct perfmap *map, const struct kallsyms *kallsyms, uint64_t address,
		size_t size)
{
	const struct symtab_entry *entry = symtab__find(&kallsyms->tab, address);
	const char *name = perfmap__find(map, address);

	if ((name && strlen(name) > size) || (entry && strlen(entry->name) > size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kallsyms kallsyms;
	struct perfmap *map;
	uint64_t address;

	if (perfmap__parse(copy_of(data, size), size, &map) ||
	    kallsyms__parse(copy_of(data, size), size, &kallsyms))
		abort();
	for (address = 0; address < 4096; address += 17)
		ask(map, &kallsyms, address, size);
	for (int shift = 0; shift < 64; shift++)
		ask(map, &kallsyms, UINT64_MAX << shift, size);
	for (size_t i = 0; i < kallsyms.tab.count; i++)
		ask(map, &kallsyms, kallsyms.tab.entries[i].start, size);
	perfmap__free(map);
	kallsyms__release(&kallsyms);
	return 0;
}
