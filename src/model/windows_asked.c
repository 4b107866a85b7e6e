/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the slowest windows of a service asked other servers for. The requests to other servers that
 * were kept tell it, if the window that they worked for was kept too: nearly all of the slowest
 * are.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"
#include "model/windows_internal.h"

static struct windows_asked *asked_of(struct windows_service *service,
				      const struct windows_class *class)
{
	struct windows_asked *added;

	for (size_t i = 0; i < service->asked_count; i++)
		if (service->asked[i].class == class)
			return &service->asked[i];
	added = APPEND(&service->asked, &service->asked_count);
	if (added)
		added->class = class;
	return added;
}

static int by_asked_time(const void *a, const void *b)
{
	const struct windows_asked *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? 1 : -1;
	return (x->class > y->class) - (x->class < y->class);
}

int model_windows__find_asked(struct windows *windows)
{
	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];
		const struct windows_one *parent =
			one->parent ? model_windows__find(windows, one->parent) : NULL;
		struct windows_service *service;
		struct windows_asked *asked;

		if (!parent || !one->weight)
			continue;
		service = &windows->services[parent->class->of];
		if (!model_windows__is_in(service, WINDOWS_SLOW, parent->length_ns))
			continue;
		asked = asked_of(service, one->class);
		if (!asked)
			return -ENOMEM;
		asked->ns += one->weight * (double)one->length_ns;
		asked->kept++;
	}
	for (size_t i = 0; i < windows->service_count; i++)
		if (windows->services[i].asked_count)
			qsort(windows->services[i].asked, windows->services[i].asked_count,
			      sizeof(struct windows_asked), by_asked_time);
	return 0;
}
