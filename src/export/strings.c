/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/strings.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

int strings__add(struct strings *strings, const char *text, uint32_t *ret)
{
	cleanup(free_p) char *copy = strdup(text);
	size_t before = strings->names.count;
	int err = copy ? intern__find(&strings->names, copy, ret) : -ENOMEM;

	if (strings->names.count > before)
		copy = NULL; /* now owned by the table */
	return err;
}

void strings__release(struct strings *strings)
{
	for (size_t i = 0; i < strings->names.count; i++)
		free((char *)strings->names.texts[i]);
	intern__release(&strings->names);
}
