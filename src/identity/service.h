/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What service and which version a workload is. The first of these that is known:
 *
 *   service  a rule of the configuration; the label app.kubernetes.io/name; the pod's owner without
 *            its hash; the container's name; the systemd unit; the name of the main process
 *   version  a rule; the label app.kubernetes.io/version; the image's tag, unless it is "latest";
 *            the image's digest; the build-id of the main program
 *
 * A rule is a line:
 *
 *   FIELD=GLOB [FIELD=GLOB…] -> service=TEXT [version=TEXT]
 *
 * with the fields cgroup, unit, namespace, pod, container, image, process and label.NAME. All of
 * its globs must match; an unknown field matches none. In TEXT, {FIELD} is replaced by the field. A
 * rule whose service would be empty does not apply. The first rule that applies counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SERVICE_ERROR_BYTES 256
#define SERVICE_TEXT_BYTES  256 /* longer names are cut */
#define SERVICE_MOST_RULES  1024

struct pods_pod;

/* What is known of a workload. Strings are not NULL; "" is unknown. */
struct service_facts {
	const char *cgroup, *unit;
	bool is_session; /* the unit is a user's session, which is no service */
	const char *namespace_name, *pod, *container;
	const char *image, *image_id;
	const char *process;               /* name of the main process */
	const char *build_id;              /* of its program */
	const char *container_id;          /* of a pod's container that is not known yet */
	const struct pods_pod *kubernetes; /* NULL: none, or not known yet */
};

struct service_rules;

int service_rules__new(struct service_rules **ret);
void service_rules__free(struct service_rules *rules);

/*
 * Adds the rule in `line`. -EINVAL: it is not one, and `ret_error` says why; -E2BIG: there are too
 * many; -ENOMEM.
 */
int service_rules__add(struct service_rules *rules, const char *line,
		       char ret_error[SERVICE_ERROR_BYTES]);

/* The labels that names depend on; ends with NULL. Valid until a rule is added. */
const char *const *service_rules__labels(const struct service_rules *rules);

/* Valid UTF-8 without control characters. `rules` may be NULL. */
void service_rules__name(const struct service_rules *rules, const struct service_facts *facts,
			 char ret_service[SERVICE_TEXT_BYTES],
			 char ret_version[SERVICE_TEXT_BYTES]);
