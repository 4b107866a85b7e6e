/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An answer of a kubelet. The first byte says how many bytes arrive at once. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "identity/pods.h"
#include "identity/service.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const labels[] = { "app.kubernetes.io/name", "pod-template-hash", NULL };

static void use(const struct pods *pods)
{
	const struct pods_container *container = NULL;
	const struct pods_pod *pod = pods__find(pods, "u", "c", &container);
	char service[SERVICE_TEXT_BYTES], version[SERVICE_TEXT_BYTES];
	struct service_facts facts = { "", "", false, "", "", "", "", "", "", "", "", pod };

	if (pods__count(pods) > PODS_MOST)
		abort();
	if (!pod)
		return;
	facts.container = container ? container->name : "";
	facts.image = container ? container->image : "";
	service_rules__name(NULL, &facts, service, version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t step = size ? data[0] + 1U : 1;
	struct pods_reader *reader = NULL;
	struct pods *pods = NULL;
	int err = 0;

	if (pods_reader__new(labels, &reader))
		abort();
	for (size_t at = 1; !err && at < size; at += step)
		err = pods_reader__feed(reader, (const char *)data + at,
					size - at < step ? size - at : step);
	if (!err)
		err = pods_reader__finish(reader, &pods);
	if (!err)
		use(pods);
	else if (pods)
		abort();
	pods__free(pods);
	pods_reader__free(reader);
	return 0;
}
