/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In containers and units, a workload is a cgroup; elsewhere it is a cgroup and the name of a
 * process, because a session or the root has many programs that have nothing to do with each other.
 *
 * Workloads are evicted only by identity__update(), so that pointers stay valid while a snapshot is
 * folded. A table that is full until then folds into one workload. Rejected: eviction on demand,
 * which would need reference counts in every bucket.
 */
#include "identity/identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "core/sys.h"
#include "identity/member.h"
#include "identity/pods.h"

#define SECOND_NS         UINT64_C(1000000000)
#define KEEP_NS           (120 * SECOND_NS)
#define FIRST_PAUSE_NS    (10 * SECOND_NS)
#define MOST_PAUSE_NS     (60 * SECOND_NS)
#define LEAST             8
#define BOOT_ID           "/proc/sys/kernel/random/boot_id"
#define PROCESS_BYTES     64
#define FULL_SHARE(most)  ((most) - (most) / 8) /* evict from here … */
#define AFTER_SHARE(most) ((most) - (most) / 4) /* … to here */

struct identity {
	struct map members; /* by the workload's id */
	struct member *other;
	size_t most;
	uint64_t host_id, boot_hash;
	uint64_t wall_offset_ns;
	struct cgroup_names *names;
	const struct service_rules *rules;
	struct kubelet *kubelet; /* NULL: none */
	struct pods *pods;       /* the last answer; NULL: none yet */
	struct identity_quality quality;
};

/* --- making --------------------------------------------------------------------------------- */

uint64_t identity__hash_host(const char *tenant, const char *host)
{
	return map__mix_text(map__mix_text(0, tenant), host);
}

uint64_t identity__host_id(const struct identity *identity)
{
	return identity->host_id;
}

static int hash_machine(struct identity *identity, const struct identity_settings *settings)
{
	char host[256] = "", boot[64];

	if (gethostname(host, sizeof(host) - 1))
		return -errno;
	snprintf(boot, sizeof(boot), "%s", settings->boot_id ? settings->boot_id : "");
	if (!settings->boot_id && sys__read_line(BOOT_ID, boot, sizeof(boot)))
		return -ENOENT;
	identity->host_id = identity__hash_host(settings->tenant ? settings->tenant : "",
						settings->host ? settings->host : host);
	identity->boot_hash = map__mix_text(identity->host_id, boot);
	return 0;
}

static int start_kubelet(struct identity *identity, const struct kubelet_settings *settings,
			 const struct service_rules *rules)
{
	struct kubelet_settings ours = *settings;
	struct service_rules *none = NULL;
	int err;

	/* Without rules, names still depend on some labels. */
	if (!rules) {
		err = service_rules__new(&none);
		if (err)
			return err;
	}
	ours.labels = service_rules__labels(rules ? rules : none);
	err = kubelet__new(&ours, &identity->kubelet);
	service_rules__free(none);
	return err;
}

static int make_names(struct identity *identity, const struct identity_settings *settings)
{
	char root[PATH_MAX];
	int err = settings->cgroup_root ? 0 : cgroup_names__root(root);

	if (!err)
		err = cgroup_names__new(settings->cgroup_root ? settings->cgroup_root : root,
					settings->most_cgroups, &identity->names);
	return err ? err : cgroup_names__walk(identity->names, clock__now_ns());
}

void identity__free(struct identity *identity)
{
	struct member *member;
	size_t at = 0;

	if (!identity)
		return;
	kubelet__free(identity->kubelet);
	pods__free(identity->pods);
	while ((member = map__next(&identity->members, &at)))
		member__free(member);
	map__release(&identity->members);
	member__free(identity->other);
	cgroup_names__free(identity->names);
	free(identity);
}
DEFINE_CLEANUP(struct identity *, identity__free)

static struct member *make_other(uint64_t hash)
{
	struct member *other = member__new(map__mix_text(hash, IDENTITY_OTHER) | 1, 0);

	if (!other)
		return NULL;
	free(other->workload.service);
	other->workload.service = strdup(IDENTITY_OTHER);
	if (!other->workload.service) {
		member__free(other);
		return NULL;
	}
	return other;
}

int identity__new(const struct identity_settings *settings, struct identity **ret)
{
	cleanup(identity__free_p) struct identity *identity = calloc(1, sizeof(*identity));
	int err = identity ? hash_machine(identity, settings) : -ENOMEM;

	if (err)
		return err;
	identity->most = settings->most ? settings->most : IDENTITY_MOST;
	if (identity->most < LEAST)
		identity->most = LEAST;
	identity->rules = settings->rules;
	identity->wall_offset_ns = clock__wall_offset_ns();
	identity->other = make_other(identity->boot_hash);
	if (!identity->other)
		return -ENOMEM;
	err = make_names(identity, settings);
	if (!err && settings->kubelet)
		err = start_kubelet(identity, settings->kubelet, settings->rules);
	if (err)
		return err;
	*ret = TAKE(identity);
	return 0;
}

int identity__add_cgroup(struct identity *identity, uint64_t id, const char *path, uint64_t now_ns)
{
	return cgroup_names__add(identity->names, id, path, now_ns);
}

void identity__remove_cgroup(struct identity *identity, uint64_t id, uint64_t now_ns)
{
	cgroup_names__remove(identity->names, id, now_ns);
}

/* --- finding -------------------------------------------------------------------------------- */

static bool is_by_process(enum cgroup_path_kind kind)
{
	return kind == CGROUP_PATH_OTHER || kind == CGROUP_PATH_SESSION;
}

static void show_process(const struct identity_process *process, bool is_kernel,
			 char ret[PROCESS_BYTES])
{
	if (is_kernel)
		snprintf(ret, PROCESS_BYTES, "%s", IDENTITY_KERNEL);
	else
		identity__fold_process(process->name, ret, PROCESS_BYTES);
}

static uint64_t id_of(const struct identity *identity, uint64_t cgroup_id, const char *process)
{
	uint64_t id = map__mix(identity->boot_hash, cgroup_id);

	if (process)
		id = map__mix_text(id, process);
	return id ? id : 1;
}

static int name(struct identity *identity, struct member *member)
{
	int changes = member__name(member, identity->rules, identity->pods, identity->kubelet);

	if (changes > 0) {
		member->workload.changes++;
		identity->quality.corrected += member->workload.changes > 1;
	}
	return changes < 0 ? changes : 0;
}

/* Whether a kubelet has not named it yet. Cgroups of pods that are no container have only a pod. */
static bool is_unnamed(const struct identity *identity, const struct member *member)
{
	return identity->kubelet && *member->pod_uid &&
	       !(*member->workload.container_id ? member->is_named : *member->workload.pod);
}

static void ask_for(struct identity *identity, struct member *member, uint64_t now_ns)
{
	if (!is_unnamed(identity, member) || now_ns < member->ask_at_ns)
		return;
	/* Kubelets know pods' sandboxes, but do not list them: give up. */
	if (*member->workload.pod && member->ask_pause_ns == MOST_PAUSE_NS)
		return;
	kubelet__ask(identity->kubelet);
	member->ask_pause_ns = member->ask_pause_ns ? 2 * member->ask_pause_ns : FIRST_PAUSE_NS;
	if (member->ask_pause_ns > MOST_PAUSE_NS)
		member->ask_pause_ns = MOST_PAUSE_NS;
	member->ask_at_ns = now_ns + member->ask_pause_ns;
}

static int create(struct identity *identity, uint64_t id, uint64_t cgroup_id, struct member **ret)
{
	struct member *member = member__new(id, cgroup_id);

	if (!member || map__put(&identity->members, id, member)) {
		member__free(member);
		return -ENOMEM;
	}
	identity->quality.created++;
	*ret = member;
	return 0;
}

static void touch(const struct identity *identity, struct member *member, uint64_t now_ns)
{
	struct workload *workload = &member->workload;

	member->used_ns = now_ns;
	workload->last_seen_s = (now_ns + identity->wall_offset_ns) / SECOND_NS;
	if (!workload->first_seen_s)
		workload->first_seen_s = workload->last_seen_s;
}

/* Whether nothing that this process says can change the member. */
static bool is_settled(const struct member *member, const struct identity_process *process)
{
	return member->has_path && process->pid != member->main_pid &&
	       !member__is_provisional(member);
}

/* Sets path and names of a member that is new, or whose main process or path changed. */
static int refresh(struct identity *identity, struct member *member, const char *path,
		   const struct identity_process *process)
{
	char shown[PROCESS_BYTES];
	bool is_new = !member->workload.changes;
	int err = 0, seen;

	if (path && !member->has_path) {
		is_new = true;
		err = member__set_path(member, path);
	}
	show_process(process, member->is_kernel, shown);
	seen = member__see(member, process->pid, shown, process->build_id);
	if (err || seen < 0)
		return err ? err : seen;
	return is_new || seen ? name(identity, member) : 0;
}

/* The member of a process, created if it is new; NULL if the table is full. -ENOMEM. */
static int find_member(struct identity *identity, const struct identity_process *process,
		       uint64_t now_ns, struct member **ret)
{
	struct cgroup_name cgroup = {};
	bool has_path = !cgroup_names__find(identity->names, process->cgroup_id, now_ns, &cgroup);
	bool by_process = !has_path || is_by_process(cgroup.kind);
	char shown[PROCESS_BYTES];
	struct member *member;
	uint64_t id;
	int err = 0;

	identity->quality.without_path += !has_path;
	if (by_process)
		show_process(process, process->is_kernel, shown);
	id = id_of(identity, process->cgroup_id, by_process ? shown : NULL);
	member = map__get(&identity->members, id);
	if (!member && identity->members.count < identity->most) {
		err = create(identity, id, process->cgroup_id, &member);
		if (!err)
			member->is_kernel = by_process && process->is_kernel;
	}
	if (!err && member && !is_settled(member, process))
		err = refresh(identity, member, has_path ? cgroup.path : NULL, process);
	if (!err)
		*ret = member;
	return err;
}

int identity__find(struct identity *identity, const struct identity_process *process,
		   uint64_t now_ns, struct workload **ret)
{
	struct member *member = NULL;
	int err = find_member(identity, process, now_ns, &member);

	if (err)
		return err;
	if (member) {
		ask_for(identity, member, now_ns);
	} else {
		identity->quality.folded++;
		member = identity->other;
	}
	touch(identity, member, now_ns);
	*ret = &member->workload;
	return 0;
}

uint64_t identity__other(struct identity *identity, uint64_t now_ns)
{
	touch(identity, identity->other, now_ns);
	return identity->other->workload.id;
}

struct workload *identity__get(const struct identity *identity, uint64_t id)
{
	struct member *member = map__get(&identity->members, id);

	if (!member && id == identity->other->workload.id)
		member = identity->other;
	return member ? &member->workload : NULL;
}

struct workload *identity__next(const struct identity *identity, size_t *at)
{
	struct member *member;

	if (*at == SIZE_MAX)
		return NULL;
	member = map__next(&identity->members, at);
	if (!member) {
		*at = SIZE_MAX;
		member = identity->other->used_ns ? identity->other : NULL;
	}
	return member ? &member->workload : NULL;
}

/* --- updating ------------------------------------------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool is_unused(void *context, uint64_t id, void *value)
{
	struct member *member = value;
	const uint64_t *limit_ns = context;

	if (member->used_ns > *limit_ns)
		return false;
	member__free(member);
	return true;
}

/* Removes those not used for the longest time, but none of the last two minutes. */
static int evict(struct identity *identity, uint64_t now_ns)
{
	size_t count = identity->members.count, at = 0, i = 0;
	cleanup(free_p) uint64_t *times = NULL;
	const struct member *member;
	uint64_t limit_ns;

	if (count < FULL_SHARE(identity->most) || now_ns < KEEP_NS)
		return 0;
	times = calloc(count, sizeof(*times));
	if (!times)
		return -ENOMEM;
	while ((member = map__next(&identity->members, &at)))
		times[i++] = member->used_ns;
	qsort(times, count, sizeof(*times), compare_times);
	limit_ns = times[count - 1 - AFTER_SHARE(identity->most)];
	if (limit_ns > now_ns - KEEP_NS)
		limit_ns = now_ns - KEEP_NS;
	map__sweep(&identity->members, is_unused, &limit_ns);
	identity->quality.evicted += count - identity->members.count;
	return 0;
}

/* Names all members again with a new answer. */
static int take_answer(struct identity *identity)
{
	struct pods *pods = identity->kubelet ? kubelet__take(identity->kubelet) : NULL;
	struct member *member;
	size_t at = 0;
	int err = 0;

	if (!pods)
		return 0;
	pods__free(identity->pods);
	identity->pods = pods;
	while (!err && (member = map__next(&identity->members, &at)))
		if (*member->pod_uid || *member->workload.container_id)
			err = name(identity, member);
	return err;
}

int identity__update(struct identity *identity, uint64_t now_ns)
{
	struct member *member;
	size_t at = 0;
	int err;

	identity->wall_offset_ns = clock__wall_offset_ns();
	cgroup_names__forget(identity->names, now_ns);
	err = take_answer(identity);
	while (!err && (member = map__next(&identity->members, &at)))
		if (member->used_ns + KEEP_NS > now_ns)
			ask_for(identity, member, now_ns);
	return err ? err : evict(identity, now_ns);
}

void identity__quality(struct identity *identity, struct identity_quality *ret)
{
	const struct member *member;
	size_t at = 0;

	*ret = identity->quality;
	ret->workloads = identity->members.count;
	while ((member = map__next(&identity->members, &at)))
		ret->without_names += is_unnamed(identity, member);
	ret->cgroups = *cgroup_names__quality(identity->names);
	if (identity->kubelet)
		kubelet__quality(identity->kubelet, &ret->kubelet, ret->kubelet_error);
}
