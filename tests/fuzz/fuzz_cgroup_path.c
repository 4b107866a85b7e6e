/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names that users choose: paths of cgroups, names of threads, rules. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "identity/cgroup_path.h"
#include "identity/identity.h"
#include "identity/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *text)
{
	struct cgroup_path path;

	cgroup_path__parse(text, &path);
	if (strlen(path.container_id) > NAME_MAX || strlen(path.container_name) > NAME_MAX ||
	    strlen(path.unit) > NAME_MAX || strlen(path.pod_uid) >= CGROUP_PATH_UID_BYTES)
		abort();
	if ((path.kind == CGROUP_PATH_POD) > (*path.pod_uid != '\0'))
		abort();
}

static void check_folds(const char *text, const char *mount)
{
	char name[64], process[64], path[64];

	identity__fold_name(text, name, sizeof(name));
	identity__fold_process(text, process, sizeof(process));
	identity__fold_path(text, mount, path, sizeof(path));
	if (strlen(name) >= sizeof(name) || strlen(process) >= sizeof(process) ||
	    strlen(path) >= sizeof(path) || strpbrk(name, "0123456789\n"))
		abort();
}

static void check_rule(const char *text)
{
	const struct service_facts facts = { .cgroup = text,
					     .unit = text,
					     .namespace_name = "n",
					     .pod = "",
					     .container = "c",
					     .image = text,
					     .image_id = text,
					     .process = text,
					     .build_id = "b",
					     .container_id = "" };
	char error[SERVICE_ERROR_BYTES], service[SERVICE_TEXT_BYTES], version[SERVICE_TEXT_BYTES];
	struct service_rules *rules = NULL;

	if (service_rules__new(&rules))
		abort();
	*error = '\0';
	if (service_rules__add(rules, text, error) && !*error)
		abort();
	/* The pattern is the administrator's; matching it against itself costs much for nothing. */
	if (strlen(text) < 64)
		service_rules__name(rules, &facts, service, version);
	service_rules__free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_path(text);
	check_folds(text, size > 8 ? text + size / 2 : "/");
	check_rule(text);
	free(text);
	return 0;
}
