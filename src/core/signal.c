/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/signal.h"

#include <string.h>

bool signal__owns(const char *signal, const char *name)
{
	size_t length = strlen(signal);

	return !strncmp(name, signal, length) && name[length] == '_';
}

size_t signal__values(const struct signal *signal)
{
	size_t count = 0;

	while (signal->measures && count < SERIES_VALUES && signal->measures[count].name)
		count++;
	return count;
}
