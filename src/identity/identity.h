/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which workload a thread belongs to. The kernel half gives the id of its cgroup and the name of
 * its process; the path of the cgroup says which container, pod or unit that is; a kubelet knows
 * the names, which can come later. The id of a workload never changes: facts refer to the id, and
 * names are corrected (struct workload.changes).
 *
 * Ids are the same for the same boot, so an identity that is freed and made anew, for instance
 * with other rules, goes on with the same ids.
 *
 * Times are those of clock__now_ns(). One thread only; nothing here waits for the network.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fold/workload.h"
#include "identity/cgroup_names.h"
#include "identity/kubelet.h"
#include "identity/service.h"

#define IDENTITY_MOST 4096 /* workloads, by default */

/* The service of the workload that stands for those beyond the limit. */
#define IDENTITY_OTHER "(other)"
/* The service of the kernel's own threads. */
#define IDENTITY_KERNEL "(kernel)"

/* Strings and settings are used only during identity__new(), `rules` for as long as it lives. */
struct identity_settings {
	const char *tenant, *host;              /* the host's name; NULL: gethostname() */
	const char *boot_id;                    /* NULL: read from /proc */
	const char *cgroup_root;                /* NULL: see cgroup_names__root() */
	size_t most, most_cgroups;              /* 0: IDENTITY_MOST, CGROUP_NAMES_MOST */
	const struct service_rules *rules;      /* not owned; NULL: none */
	const struct kubelet_settings *kubelet; /* NULL: no Kubernetes. `labels` are set here */
};

/* A process, as far as it is known. */
struct identity_process {
	uint64_t cgroup_id;
	int32_t pid;
	bool is_kernel;
	const char *name;
	const char *build_id; /* of its program; "" or NULL: unknown */
};

struct identity_quality {
	uint64_t workloads; /* known now */
	uint64_t created, evicted;
	uint64_t folded;        /* answers that were IDENTITY_OTHER because the table was full */
	uint64_t without_path;  /* answers for a cgroup whose path is not known */
	uint64_t without_names; /* workloads in pods that no kubelet has named yet */
	uint64_t corrected;     /* workloads whose names changed later */
	struct cgroup_names_quality cgroups;
	struct kubelet_quality kubelet;
	char kubelet_error[KUBELET_ERROR_BYTES]; /* of the last request; "": none */
};

struct identity;

/*
 * Walks the hierarchy of cgroups and starts the thread that asks the kubelet. -ENOENT: no hierarchy
 * of cgroups, or no boot id; errors of kubelet__new().
 */
int identity__new(const struct identity_settings *settings, struct identity **ret);
void identity__free(struct identity *identity);

uint64_t identity__host_id(const struct identity *identity);
/* The same hash, for others who need it. */
uint64_t identity__hash_host(const char *tenant, const char *host);

/* Records of the kernel half: a cgroup was created, or removed. -ENOMEM. */
int identity__add_cgroup(struct identity *identity, uint64_t id, const char *path, uint64_t now_ns);
void identity__remove_cgroup(struct identity *identity, uint64_t id, uint64_t now_ns);

/*
 * The workload of a process, created if it is new. It stays valid until identity__update(). If the
 * table is full, it is the workload IDENTITY_OTHER, so no time is lost. -ENOMEM.
 */
int identity__find(struct identity *identity, const struct identity_process *process,
		   uint64_t now_ns, struct workload **ret);

/*
 * Takes a kubelet's answer, corrects names, and forgets the workloads that were not used for the
 * longest time if the table is nearly full, but none of the last two minutes. Call it every ten
 * seconds, at a moment when nobody holds a workload. -ENOMEM.
 */
int identity__update(struct identity *identity, uint64_t now_ns);

/* The id of IDENTITY_OTHER, for whoever has too many workloads. */
uint64_t identity__other(struct identity *identity, uint64_t now_ns);
/* By id; NULL if it is unknown. */
struct workload *identity__get(const struct identity *identity, uint64_t id);
/* Iterates: start with *at = 0, NULL at the end. Includes IDENTITY_OTHER if it was used. */
struct workload *identity__next(const struct identity *identity, size_t *at);

void identity__quality(struct identity *identity, struct identity_quality *ret);

/* --- redaction ------------------------------------------------------------------------------ */

/* Replaces control characters and invalid UTF-8 by '?'. */
void identity__clean(char *text);
/*
 * A thread's name with a star for each number: "worker-12" becomes "worker-*". A name that the
 * kernel cut after 15 bytes behind a separator gets a star too: "pool-12-thread-". What does not
 * fit is cut.
 */
void identity__fold_name(const char *name, char *ret, size_t size);
/* The same for a process, but "python3.11" stays: short numbers behind letters are a release. */
void identity__fold_process(const char *name, char *ret, size_t size);
/*
 * A path cut to its mount point and the two components that follow, with stars for numbers:
 * "/srv/data/42/x/y" on "/srv" becomes "/srv/data/" and two stars, one for the number, one for the
 * rest. `mount` is "" or "/" if it is unknown.
 */
void identity__fold_path(const char *path, const char *mount, char *ret, size_t size);
