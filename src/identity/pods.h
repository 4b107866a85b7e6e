/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pods of this node, from the answer of a kubelet (/pods) or of the API server (a PodList). The
 * answer is read while it arrives, pod by pod, so memory is bounded by the largest pod.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PODS_MOST_BYTES      (16 << 20) /* of an answer */
#define PODS_MOST_POD_BYTES  (1 << 20)  /* etcd's limit for one object is 1.5 MB by default */
#define PODS_MOST            2048
#define PODS_MOST_CONTAINERS 64 /* per pod */
#define PODS_MOST_DEPTH      64

struct pods_label {
	char *key, *value;
};

struct pods_container {
	char *id; /* without "containerd://"; "": not started yet */
	char *name;
	char *image;    /* as the pod asks for it: "nginx:1.27" */
	char *image_id; /* as the runtime found it: "docker.io/library/nginx@sha256:…" */
};

/* Strings are never NULL; "" is unknown. */
struct pods_pod {
	char *uid;
	char *static_uid; /* of a static pod's copy in the API server: the uid in paths */
	char *namespace_name, *name;
	char *owner_kind, *owner;  /* its controller, or its first owner */
	struct pods_label *labels; /* only those that were asked for */
	size_t label_count;
	struct pods_container *containers;
	size_t container_count;
};

struct pods;

void pods__free(struct pods *pods);
size_t pods__count(const struct pods *pods);
/* Pods left out: one of the limits above was reached, or they are malformed or have no uid. */
uint64_t pods__skipped(const struct pods *pods);

/*
 * By the uid in a cgroup's path and the container's id; either can be "". *ret_container is NULL if
 * the pod is known but the container is not. NULL: unknown.
 */
const struct pods_pod *pods__find(const struct pods *pods, const char *uid,
				  const char *container_id,
				  const struct pods_container **ret_container);

/* NULL if the pod does not have it or it was not asked for. */
const char *pods__label(const struct pods_pod *pod, const char *key);

struct pods_reader;

/* `labels` ends with NULL; the reader keeps the pointer. -ENOMEM. */
int pods_reader__new(const char *const *labels, struct pods_reader **ret);
void pods_reader__free(struct pods_reader *reader);
/*
 * The next bytes of the answer. -EBADMSG: not a list of pods; -E2BIG: longer than PODS_MOST_BYTES,
 * or too deep; -ENOMEM. After an error, the reader can only be freed.
 */
int pods_reader__feed(struct pods_reader *reader, const char *bytes, size_t size);
/* The end of the answer. -EBADMSG: it is not complete. */
int pods_reader__finish(struct pods_reader *reader, struct pods **ret);
