/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes differ by status too. Readers look for a request by its name, so those are summed up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "model/windows_internal.h"

/* A bucket of a class, with the place of its name. */
struct named {
	uint32_t service, name;
	struct bucket bucket;
};

static int by_service_and_name(const void *a, const void *b)
{
	const struct windows_class *x = *(struct windows_class *const *)a;
	const struct windows_class *y = *(struct windows_class *const *)b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void add_class(struct windows_name *name, const struct windows_class *class)
{
	int status = window_words__find_status(class->status);

	name->count += class->count;
	name->n += class->n;
	name->length_ns += class->length_ns;
	name->statuses[status < 0 ? WORDS_STATUSES : status] += class->count;
}

/* `names`: by class, the place of its name. */
static int make_names(struct windows *windows, uint32_t *names)
{
	cleanup(free_p) struct windows_class **list = NULL;

	list = calloc(windows->class_count + 1, sizeof(struct windows_class *));
	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < windows->class_count; i++)
		list[i] = &windows->classes[i];
	qsort(list, windows->class_count, sizeof(struct windows_class *), by_service_and_name);
	for (size_t i = 0; i < windows->class_count; i++) {
		struct windows_service *service = &windows->services[list[i]->of];
		size_t count = service->name_count;
		struct windows_name *name = count ? &service->names[count - 1] : NULL;

		if (!name || strcmp(name->name, list[i]->name)) {
			name = APPEND(&service->names, &service->name_count);
			if (!name)
				return -ENOMEM;
			name->name = list[i]->name;
		}
		names[list[i] - windows->classes] = (uint32_t)service->name_count - 1;
		add_class(name, list[i]);
	}
	return 0;
}

static int by_place(const void *a, const void *b)
{
	const struct named *x = a, *y = b;

	if (x->service != y->service)
		return x->service < y->service ? -1 : 1;
	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->bucket.number - y->bucket.number;
}

static int find_percentiles(struct windows_loading *loading, const uint32_t *names)
{
	cleanup(free_p) struct named *list = NULL;
	cleanup(free_p) struct bucket *buckets = NULL;
	size_t used = 0;

	list = calloc(loading->count_count + 1, sizeof(*list));
	buckets = calloc(loading->count_count + 1, sizeof(*buckets));
	if (!list || !buckets)
		return -ENOMEM;
	for (size_t i = 0; i < loading->count_count; i++) {
		const struct windows_count *count = &loading->counts[i];
		const struct windows_class *class = model_windows__class(loading, count->class);

		list[i] = (struct named) {
			class->of,
			names[class - loading->windows->classes],
			{ count->bucket, count->count },
		};
	}
	qsort(list, loading->count_count, sizeof(*list), by_place);
	for (size_t i = 0; i < loading->count_count; i++) {
		const struct named *next = &list[i + 1];
		struct windows_name *name;

		buckets[used++] = list[i].bucket;
		if (i + 1 < loading->count_count && next->service == list[i].service &&
		    next->name == list[i].name)
			continue;
		name = &loading->windows->services[list[i].service].names[list[i].name];
		percentiles__find(buckets, used, name->count, 0, name->percentiles_ns);
		used = 0;
	}
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct windows_name *x = a, *y = b;

	if (x->length_ns != y->length_ns)
		return x->length_ns < y->length_ns ? 1 : -1;
	return strcmp(x->name, y->name);
}

int model_windows__make_names(struct windows_loading *loading)
{
	cleanup(free_p) uint32_t *names = NULL;
	struct windows *windows = loading->windows;
	int err;

	names = calloc(windows->class_count + 1, sizeof(*names));
	err = names ? make_names(windows, names) : -ENOMEM;
	if (!err)
		err = find_percentiles(loading, names);
	for (size_t i = 0; i < windows->service_count && !err; i++)
		if (windows->services[i].name_count)
			qsort(windows->services[i].names, windows->services[i].name_count,
			      sizeof(struct windows_name), by_time);
	return err;
}
