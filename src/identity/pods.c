/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "identity/pods.h"

#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/map.h"

#include "base/vec.h"
#include "identity/identity.h"
#include "identity/pods_internal.h"

struct pods {
	struct pods_pod **pods;
	size_t count;
	uint64_t skipped;
	struct map by_uid, by_container; /* keys are hashes, so a match must be compared */
};

int pods__new(struct pods **ret)
{
	struct pods *pods = calloc(1, sizeof(*pods));

	if (!pods)
		return -ENOMEM;
	*ret = pods;
	return 0;
}

static void free_pod(struct pods_pod *pod)
{
	if (!pod)
		return;
	for (size_t i = 0; i < pod->label_count; i++) {
		free(pod->labels[i].key);
		free(pod->labels[i].value);
	}
	for (size_t i = 0; i < pod->container_count; i++) {
		free(pod->containers[i].id);
		free(pod->containers[i].name);
		free(pod->containers[i].image);
		free(pod->containers[i].image_id);
	}
	free(pod->labels);
	free(pod->containers);
	free(pod->uid);
	free(pod->static_uid);
	free(pod->namespace_name);
	free(pod->name);
	free(pod->owner_kind);
	free(pod->owner);
	free(pod);
}
DEFINE_CLEANUP(struct pods_pod *, free_pod)

void pods__free(struct pods *pods)
{
	if (!pods)
		return;
	for (size_t i = 0; i < pods->count; i++)
		free_pod(pods->pods[i]);
	free(pods->pods);
	map__release(&pods->by_uid);
	map__release(&pods->by_container);
	free(pods);
}

size_t pods__count(const struct pods *pods)
{
	return pods->count;
}

uint64_t pods__skipped(const struct pods *pods)
{
	return pods->skipped;
}

void pods__skip(struct pods *pods)
{
	pods->skipped++;
}

static const struct pods_container *container_of(const struct pods_pod *pod, const char *id)
{
	for (size_t i = 0; *id && i < pod->container_count; i++)
		if (!strcmp(pod->containers[i].id, id))
			return &pod->containers[i];
	return NULL;
}

const struct pods_pod *pods__find(const struct pods *pods, const char *uid,
				  const char *container_id,
				  const struct pods_container **ret_container)
{
	const struct pods_pod *pod = map__get(&pods->by_container, map__mix_text(0, container_id));

	if (pod && container_of(pod, container_id)) {
		*ret_container = container_of(pod, container_id);
		return pod;
	}
	pod = map__get(&pods->by_uid, map__mix_text(0, uid));
	if (!*uid || !pod || (strcmp(pod->uid, uid) && strcmp(pod->static_uid, uid)))
		return NULL;
	*ret_container = NULL;
	return pod;
}

const char *pods__label(const struct pods_pod *pod, const char *key)
{
	for (size_t i = 0; i < pod->label_count; i++)
		if (!strcmp(pod->labels[i].key, key))
			return pod->labels[i].value;
	return NULL;
}

/* --- from JSON ------------------------------------------------------------------------------ */

/* A copy of a text; "" if `key` is missing or is no text. NULL: out of memory. */
static char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	char *copy = strdup(text ? text : "");

	if (copy)
		identity__clean(copy);
	return copy;
}

static bool fill_owner(struct pods_pod *pod, const json_t *metadata)
{
	const json_t *owners = json_object_get(metadata, "ownerReferences"), *owner;
	size_t controller = 0;

	for (size_t i = 0; i < json_array_size(owners); i++)
		if (json_is_true(json_object_get(json_array_get(owners, i), "controller")))
			controller = i;
	owner = json_array_get(owners, controller);
	pod->owner_kind = text_of(owner, "kind");
	pod->owner = text_of(owner, "name");
	return pod->owner_kind && pod->owner;
}

static bool fill_labels(struct pods_pod *pod, const json_t *labels, const char *const *wanted)
{
	for (; *wanted; wanted++) {
		struct pods_label *label;

		if (!json_is_string(json_object_get(labels, *wanted)))
			continue;
		label = APPEND(&pod->labels, &pod->label_count);
		if (!label)
			return false;
		label->key = strdup(*wanted);
		label->value = text_of(labels, *wanted);
		if (!label->key || !label->value)
			return false;
	}
	return true;
}

static char *strip_scheme(char *id)
{
	char *after = id ? strstr(id, "://") : NULL;

	if (after)
		memmove(id, after + 3, strlen(after + 3) + 1);
	return id;
}

static const json_t *named(const json_t *list, const char *name)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const char *text = json_string_value(json_object_get(one, "name"));

		if (text && !strcmp(text, name))
			return one;
	}
	return NULL;
}

/* Containers are those of the specification; what runs is in the status. */
static bool fill_containers(struct pods_pod *pod, const json_t *specs, const json_t *statuses)
{
	for (size_t i = 0; i < json_array_size(specs); i++) {
		const json_t *spec = json_array_get(specs, i), *status;
		struct pods_container *container;

		if (pod->container_count == PODS_MOST_CONTAINERS)
			return true;
		container = APPEND(&pod->containers, &pod->container_count);
		if (!container)
			return false;
		container->name = text_of(spec, "name");
		if (!container->name)
			return false;
		status = named(statuses, container->name);
		container->id = strip_scheme(text_of(status, "containerID"));
		container->image = text_of(spec, "image");
		container->image_id = strip_scheme(text_of(status, "imageID"));
		if (!container->id || !container->image || !container->image_id)
			return false;
	}
	return true;
}

static bool fill_all_containers(struct pods_pod *pod, const json_t *spec, const json_t *status)
{
	static const char *const lists[][2] = {
		{ "containers", "containerStatuses" },
		{ "initContainers", "initContainerStatuses" },
		{ "ephemeralContainers", "ephemeralContainerStatuses" },
	};

	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		if (!fill_containers(pod, json_object_get(spec, lists[i][0]),
				     json_object_get(status, lists[i][1])))
			return false;
	return true;
}

static bool fill(struct pods_pod *pod, const json_t *object, const char *const *labels)
{
	const json_t *metadata = json_object_get(object, "metadata");

	pod->uid = text_of(metadata, "uid");
	pod->static_uid =
		text_of(json_object_get(metadata, "annotations"), "kubernetes.io/config.hash");
	pod->namespace_name = text_of(metadata, "namespace");
	pod->name = text_of(metadata, "name");
	return pod->uid && pod->static_uid && pod->namespace_name && pod->name &&
	       fill_owner(pod, metadata) &&
	       fill_labels(pod, json_object_get(metadata, "labels"), labels) &&
	       fill_all_containers(pod, json_object_get(object, "spec"),
				   json_object_get(object, "status"));
}

static int put(struct map *map, const char *key, struct pods_pod *pod)
{
	return *key ? map__put(map, map__mix_text(0, key), pod) : 0;
}

int pods__add(struct pods *pods, const json_t *object, const char *const *labels)
{
	cleanup(free_pod_p) struct pods_pod *pod = calloc(1, sizeof(*pod));
	struct pods_pod **slot, *added;

	if (!pod || !fill(pod, object, labels))
		return -ENOMEM;
	if (!*pod->uid || pods->count == PODS_MOST) {
		pods->skipped++;
		return 0;
	}
	slot = APPEND(&pods->pods, &pods->count);
	if (!slot)
		return -ENOMEM;
	*slot = added = TAKE(pod);
	if (put(&pods->by_uid, added->uid, added) || put(&pods->by_uid, added->static_uid, added))
		return -ENOMEM;
	for (size_t i = 0; i < added->container_count; i++)
		if (put(&pods->by_container, added->containers[i].id, added))
			return -ENOMEM;
	return 0;
}
