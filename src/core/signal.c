/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/signal.h"

bool signal__any_in_ledger(const struct signal *const *list)
{
	while (*list && !(*list)->in_ledger)
		list++;
	return *list;
}

size_t signal__values(const struct signal *signal)
{
	size_t count = 0;

	while (signal->measures && count < SERIES_VALUES && signal->measures[count].name)
		count++;
	return count;
}
