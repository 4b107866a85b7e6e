/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/cgroups.h"
#include "identity/identity.h"
#include "identity/pods.h"
#include "identity/service_internal.h"

#define SHORT_ID 12 /* digits of an id that docker and crictl show */

static size_t without(const char *text, size_t length, const char *end)
{
	size_t tail = strlen(end);

	return length > tail && !strncmp(text + length - tail, end, tail) ? length - tail : length;
}

/* --- owners --------------------------------------------------------------------------------- */

/*
 * The length of the name of a ReplicaSet without the hash of its template. Hashes have 8 to 10
 * characters of an alphabet without vowels (rand.SafeEncodeString() of Kubernetes).
 */
static size_t without_hash(const char *name, const char *hash)
{
	const char *dash = strrchr(name, '-');
	size_t digits;

	if (!dash || dash == name)
		return strlen(name);
	if (hash)
		return !strcmp(dash + 1, hash) ? (size_t)(dash - name) : strlen(name);
	digits = strspn(dash + 1, "bcdfghjklmnpqrstvwxz2456789");
	return digits >= 8 && digits <= 10 && !dash[1 + digits] ? (size_t)(dash - name)
								: strlen(name);
}

/* "backup-28473920": a CronJob adds the minutes since 1970 to the names of its jobs. */
static size_t without_number(const char *name, size_t least_digits)
{
	const char *dash = strrchr(name, '-');
	size_t digits = dash ? strspn(dash + 1, "0123456789") : 0;

	return dash && dash != name && digits >= least_digits && !dash[1 + digits]
		       ? (size_t)(dash - name)
		       : strlen(name);
}

static size_t owner_length(const struct pods_pod *pod)
{
	if (!strcmp(pod->owner_kind, "ReplicaSet"))
		return without_hash(pod->owner, pods__label(pod, SERVICE_LABEL_HASH));
	if (!strcmp(pod->owner_kind, "Job"))
		return without_number(pod->owner, 8);
	/* OpenShift's deployments: "web-3". */
	if (!strcmp(pod->owner_kind, "ReplicationController"))
		return without_number(pod->owner, 1);
	/* A static pod belongs to its node, which is no service. */
	return strcmp(pod->owner_kind, "Node") ? strlen(pod->owner) : 0;
}

static void take_pod(const struct pods_pod *pod, const char *container, char *ret)
{
	const char *label = pods__label(pod, SERVICE_LABEL_NAME);

	if (label && *label)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", label);
	else
		snprintf(ret, SERVICE_TEXT_BYTES, "%.*s", (int)owner_length(pod), pod->owner);
	/* For static pods, a kubelet does not know which container has which id. */
	if (!*ret && !*container && pod->container_count == 1)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", pod->containers[0].name);
	if (!*ret && !*container)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", pod->name);
}

/* --- units ---------------------------------------------------------------------------------- */

static void take_unit(const char *unit, char *ret)
{
	size_t length = strlen(unit), stem = without(unit, length, ".service");
	const char *at = memchr(unit, '@', stem);
	char text[SERVICE_TEXT_BYTES];

	if (at && at != unit) {
		snprintf(ret, SERVICE_TEXT_BYTES, "%.*s@*", (int)(at - unit), unit);
		return;
	}
	snprintf(text, sizeof(text), "%.*s", (int)without(unit, stem, ".scope"), unit);
	/* Scopes and the units of systemd-run(1) have numbers, and there is one for each start. */
	if (cgroups__is_unit_of("scope", unit) || !strncmp(unit, "run-", 4))
		identity__fold_name(text, ret, SERVICE_TEXT_BYTES);
	else
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", text);
}

void service_default__name(const struct service_facts *facts, char ret[SERVICE_TEXT_BYTES])
{
	*ret = '\0';
	if (facts->kubernetes)
		take_pod(facts->kubernetes, facts->container, ret);
	if (!*ret)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", facts->container);
	if (!*ret)
		snprintf(ret, SERVICE_TEXT_BYTES, "%.*s", SHORT_ID, facts->container_id);
	if (!*ret && !facts->is_session)
		take_unit(facts->unit, ret);
	if (!*ret)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", facts->process);
}

/* --- versions ------------------------------------------------------------------------------- */

/* The tag of "registry:5000/team/web:1.2@sha256:…"; empty if there is none. */
static void take_tag(const char *image, char *ret)
{
	size_t length = strcspn(image, "@");
	const char *slash = memrchr(image, '/', length), *from = slash ? slash + 1 : image;
	const char *colon = memchr(from, ':', length - (size_t)(from - image));

	/* "sha256:…" alone is the id of an image, no name with a tag. */
	if (!colon || (!slash && !strncmp(image, "sha256:", 7)))
		return;
	snprintf(ret, SERVICE_TEXT_BYTES, "%.*s", (int)(length - (size_t)(colon + 1 - image)),
		 colon + 1);
	/* The same word for different programs. */
	if (!strcmp(ret, "latest"))
		*ret = '\0';
}

static void take_digest(const char *image, char *ret)
{
	const char *digest = strstr(image, "sha256:");

	if (digest)
		snprintf(ret, SERVICE_TEXT_BYTES, "%.*s", (int)(strlen("sha256:") + SHORT_ID),
			 digest);
}

void service_default__version(const struct service_facts *facts, char ret[SERVICE_TEXT_BYTES])
{
	const char *label =
		facts->kubernetes ? pods__label(facts->kubernetes, SERVICE_LABEL_VERSION) : NULL;

	snprintf(ret, SERVICE_TEXT_BYTES, "%s", label ? label : "");
	if (!*ret)
		take_tag(facts->image, ret);
	if (!*ret)
		take_digest(facts->image, ret);
	if (!*ret)
		take_digest(facts->image_id, ret);
	if (!*ret)
		snprintf(ret, SERVICE_TEXT_BYTES, "%s", facts->build_id);
}
