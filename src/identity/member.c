/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "identity/member.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "identity/identity.h"
#include "identity/pods.h"

#define TEXTS 12

/* All texts that it owns. */
static void list_texts(struct member *member, char **ret[TEXTS])
{
	struct workload *workload = &member->workload;
	char **const texts[TEXTS] = {
		&workload->service, &workload->version,   &workload->namespace_name,
		&workload->pod,     &workload->container, &workload->container_id,
		&workload->cgroup,  &workload->unit,      &workload->image,
		&member->image_id,  &member->process,     &member->build_id,
	};

	memcpy(ret, texts, sizeof(texts));
}

struct member *member__new(uint64_t id, uint64_t cgroup_id)
{
	struct member *member = calloc(1, sizeof(*member));
	char **texts[TEXTS];

	if (!member)
		return NULL;
	member->workload.id = id;
	member->workload.cgroup_id = cgroup_id;
	list_texts(member, texts);
	for (size_t i = 0; i < TEXTS; i++) {
		*texts[i] = strdup("");
		if (!*texts[i]) {
			member__free(member);
			return NULL;
		}
	}
	return member;
}

void member__free(struct member *member)
{
	char **texts[TEXTS];

	if (!member)
		return;
	list_texts(member, texts);
	for (size_t i = 0; i < TEXTS; i++)
		free(*texts[i]);
	free(member);
}

/* Sets a text; notes in *changes whether it differs, or that there is no memory for it. */
static void set(char **to, const char *text, int *changes)
{
	char *copy;

	if (!strcmp(*to, text))
		return;
	copy = strdup(text);
	if (!copy) {
		*changes = -ENOMEM;
		return;
	}
	identity__clean(copy);
	/* What cleaning changed would differ each time. */
	if (*changes >= 0 && strcmp(*to, copy) != 0)
		*changes = 1;
	free(*to);
	*to = copy;
}

int member__set_path(struct member *member, const char *path)
{
	struct workload *workload = &member->workload;
	struct cgroup_path parsed;
	int changes = 0;

	cgroup_path__parse(path, &parsed);
	set(&workload->cgroup, path, &changes);
	set(&workload->unit, parsed.unit, &changes);
	set(&workload->container_id, parsed.container_id, &changes);
	set(&workload->container, parsed.container_name, &changes);
	member->is_session = parsed.kind == CGROUP_PATH_SESSION;
	memcpy(member->pod_uid, parsed.pod_uid, sizeof(member->pod_uid));
	member->has_path = changes >= 0;
	return changes < 0 ? changes : 0;
}

/* The engine's own name, before it executes the program of the container. */
static bool is_engine(const char *process)
{
	static const char *const names[] = { "runc", "crun", "youki", "conmon", "(" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(process, names[i], strlen(names[i])))
			return true;
	return !*process;
}

bool member__is_provisional(const struct member *member)
{
	return is_engine(member->process);
}

int member__see(struct member *member, int32_t pid, const char *name, const char *build_id)
{
	int changes = 0;

	if (pid != member->main_pid && *member->process &&
	    (!member__is_provisional(member) || is_engine(name)))
		return 0;
	member->main_pid = pid;
	set(&member->process, name, &changes);
	if (build_id && *build_id)
		set(&member->build_id, build_id, &changes);
	return changes;
}

static const struct pods_pod *find_pod(const struct member *member, const struct pods *pods,
				       const struct pods_container **ret_container)
{
	*ret_container = NULL;
	if (!pods || (!*member->pod_uid && !*member->workload.container_id))
		return NULL;
	return pods__find(pods, member->pod_uid, member->workload.container_id, ret_container);
}

int member__name(struct member *member, const struct service_rules *rules, const struct pods *pods,
		 bool has_kubelet)
{
	char service[SERVICE_TEXT_BYTES], version[SERVICE_TEXT_BYTES];
	struct workload *workload = &member->workload;
	const struct pods_container *container;
	const struct pods_pod *pod = find_pod(member, pods, &container);
	struct service_facts facts;
	int changes = 0;

	/* The pod is gone, but its names are known. */
	if (!pod && *workload->pod)
		return 0;
	if (pod) {
		set(&workload->namespace_name, pod->namespace_name, &changes);
		set(&workload->pod, pod->name, &changes);
	}
	if (container) {
		set(&workload->container, container->name, &changes);
		set(&workload->image, container->image, &changes);
		set(&member->image_id, container->image_id, &changes);
		member->is_named = true;
	}
	facts = (struct service_facts) {
		.cgroup = workload->cgroup,
		.unit = workload->unit,
		.is_session = member->is_session,
		.namespace_name = workload->namespace_name,
		.pod = workload->pod,
		.container = workload->container,
		.image = workload->image,
		.image_id = member->image_id,
		.process = member->process,
		.build_id = member->build_id,
		.container_id = "",
		.kubernetes = pod,
	};
	if (has_kubelet && *member->pod_uid)
		facts.container_id =
			*workload->container_id ? workload->container_id : member->pod_uid;
	service_rules__name(rules, &facts, service, version);
	set(&workload->service, service, &changes);
	set(&workload->version, version, &changes);
	return changes;
}
