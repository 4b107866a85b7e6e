/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/runtime/runtime_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/threads.h"
#include "base/vec.h"
#include "base/words.h"
#include "core/hooks.h"
#include "signals/runtime/runtime_sites.h"

/* A hit costs up to a microsecond: so many cost at most 2 % of a CPU. */
#define MOST_HITS UINT64_C(20000) /* per second */
#define SECOND_NS UINT64_C(1000000000)
/* How long the start of a recording waits for the probes of processes that are known by then. */
#define START_WAIT_NS (SECOND_NS / 2)

/* A process with a runtime. */
struct found {
	uint32_t pid;
	enum runtime_kind kind;
	char *path;
};

struct attached {
	struct bpf_link *link; /* NULL: not any more */
	uint64_t hits;         /* when looked at last */
	char name[128];        /* in messages */
};

/* There is one, because a recording has one signal of each kind. */
static struct {
	struct bpf_object *object;
	struct finder *finder;
	struct uprobe_file *files; /* that were looked at */
	size_t file_count;
	uint64_t looked_ns;
	pthread_t thread;
	bool is_running;
	/* Under the lock: */
	bool is_stopping, is_working;
	struct found *queue;
	size_t queued;
	struct attached probes[RUNTIME_SITES]; /* by cookie; 0 is none */
	uint32_t probe_count;
	uint64_t left_out;
} all = { .probe_count = 1 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

void runtime_probes__take(const struct signal_runtime *runtime)
{
	struct found *found;

	pthread_mutex_lock(&lock);
	found = APPEND(&all.queue, &all.queued);
	if (found)
		*found = (struct found) { runtime->pid, runtime->kind, strdup(runtime->path) };
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
}

/* --- attaching -------------------------------------------------------------------------------- */

static void count_left_out(void)
{
	pthread_mutex_lock(&lock);
	all.left_out++;
	pthread_mutex_unlock(&lock);
}

/* The number of a new site, which the kernel half knows then; 0: there is no room. */
static uint32_t new_site(const struct runtime_place *place, const struct uprobe_file *file)
{
	const struct bpf_map *sites = bpf_object__find_map_by_name(all.object, "runtime_sites");
	uint32_t number = 0;

	pthread_mutex_lock(&lock);
	if (sites && all.probe_count < RUNTIME_SITES)
		number = all.probe_count++;
	pthread_mutex_unlock(&lock);
	if (!number || bpf_map_update_elem(bpf_map__fd(sites), &number, &place->site, BPF_ANY))
		return 0;
	snprintf(all.probes[number].name, sizeof(all.probes[number].name), "%.40s:%.80s",
		 uprobes__base(file->path), place->at.name);
	return number;
}

static int attach_place(const struct runtime_place *place, const struct uprobe_file *file)
{
	char path[sizeof(file->root) + sizeof(file->path)];
	struct uprobe_site site = { .file = path, .place = place->at };
	uint32_t number = new_site(place, file);
	struct bpf_link *link = NULL;
	int err;

	if (!number)
		return -ENOSPC;
	snprintf(path, sizeof(path), "%s%s", file->root, file->path);
	err = uprobes__attach(all.object, place->at_return ? "runtime_on_return" : "runtime_on_hit",
			      &site, number, &link);
	pthread_mutex_lock(&lock);
	all.probes[number].link = link;
	pthread_mutex_unlock(&lock);
	return err;
}

/* Ends first: what begins before its end is attached is not paired. */
static void attach_all(const struct runtime_places *places, const struct uprobe_file *file)
{
	for (size_t i = places->count; i > 0; i--) {
		int err = attach_place(&places->list[i - 1], file);

		if (!err)
			continue;
		log_warning("'%s' in '%s' cannot be probed (%s); continuing without it",
			    places->list[i - 1].at.name, file->path, strerror(-err));
		count_left_out();
	}
}

static bool is_known(const struct uprobe_file *file)
{
	for (size_t i = 0; i < all.file_count; i++)
		if (all.files[i].device == file->device && all.files[i].inode == file->inode)
			return true;
	return false;
}

static void probe_file(const struct uprobe_file *file, enum runtime_kind kind)
{
	struct runtime_places places = {};
	struct uprobe_file *known = APPEND(&all.files, &all.file_count);
	int err = known ? 0 : -ENOMEM;

	if (known)
		*known = *file;
	if (!err && !all.finder)
		err = finder__new(&all.finder);
	if (!err)
		err = runtime_sites__find(all.finder, kind, file, &places);
	if (err)
		log_warning("'%s' cannot be searched (%s); continuing without pauses of %s",
			    file->path, strerror(-err), runtimes__words(kind)->title);
	if (*places.missing) {
		log_warning("'%s' has neither probes nor symbols for it; continuing without %s",
			    file->path, places.missing);
		count_left_out();
	}
	attach_all(&places, file);
	free(places.list);
}

/* The runtime's file, as the process sees it. */
static void probe_process(const struct found *found)
{
	struct target target = {};
	const struct uprobe_scope scope = { &target, NULL };
	struct uprobe_spec spec = { .kind = UPROBE_FUNCTION };
	cleanup(free_p) struct uprobe_file *files = NULL;
	size_t count = 0;

	if (!found->path || strlen(found->path) >= sizeof(spec.file))
		return;
	snprintf(spec.file, sizeof(spec.file), "%s", found->path);
	if (target__add_pid(&target, found->pid) || uprobes__files(&spec, &scope, &files, &count))
		log_debug("'%s' of process %u is not there", found->path, found->pid);
	for (size_t i = 0; i < count; i++)
		if (!is_known(&files[i]))
			probe_file(&files[i], found->kind);
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool next_found(struct found *ret)
{
	bool is_there;

	pthread_mutex_lock(&lock);
	all.is_working = false;
	pthread_cond_broadcast(&changed);
	while (!all.queued && !all.is_stopping)
		pthread_cond_wait(&changed, &lock);
	is_there = all.is_working = all.queued && !all.is_stopping;
	if (is_there) {
		*ret = all.queue[0];
		memmove(all.queue, all.queue + 1, --all.queued * sizeof(*all.queue));
	}
	pthread_mutex_unlock(&lock);
	return is_there;
}

static void *run(void *context)
{
	struct found found;

	while (next_found(&found)) {
		probe_process(&found);
		free(found.path);
	}
	return NULL;
}

static void wait_for_probes(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)START_WAIT_NS;
	until.tv_sec += until.tv_nsec / (long)SECOND_NS;
	until.tv_nsec %= (long)SECOND_NS;
	pthread_mutex_lock(&lock);
	while ((all.queued || all.is_working) && !pthread_cond_timedwait(&changed, &lock, &until)) {
	}
	pthread_mutex_unlock(&lock);
}

int runtime_probes__attach(struct bpf_object *object)
{
	int err;

	all.object = object;
	all.looked_ns = clock__now_ns();
	all.is_stopping = false;
	err = threads__start(run, NULL, &all.thread);
	all.is_running = !err;
	if (!err)
		wait_for_probes();
	return err;
}

void runtime_probes__detach(void)
{
	pthread_mutex_lock(&lock);
	all.is_stopping = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	if (all.is_running)
		pthread_join(all.thread, NULL);
	all.is_running = false;
	for (uint32_t i = 1; i < all.probe_count; i++)
		hooks__detach(all.probes[i].link);
	memset(all.probes, 0, sizeof(all.probes));
	all.probe_count = 1;
	finder__free(all.finder);
	all.finder = NULL;
	free(all.files);
	all.files = NULL;
	all.file_count = 0;
	while (all.queued)
		free(all.queue[--all.queued].path);
	free(all.queue);
	all.queue = NULL;
}

/* --- cost ------------------------------------------------------------------------------------- */

static uint64_t hits_of(int map, uint32_t number, uint64_t *by_cpu, int cpus)
{
	uint64_t hits = 0;

	if (bpf_map_lookup_elem(map, &number, by_cpu))
		return 0;
	for (int i = 0; i < cpus; i++)
		hits += by_cpu[i];
	return hits;
}

static void hold_one(struct attached *probe, uint64_t hits, uint64_t elapsed_ns)
{
	uint64_t lately = hits > probe->hits ? hits - probe->hits : 0;
	struct bpf_link *link = NULL;

	probe->hits = hits;
	if (lately * SECOND_NS / elapsed_ns <= MOST_HITS)
		return;
	log_warning("'%s' is called %s times a second; continuing without it", probe->name,
		    words__number((int64_t)(lately * SECOND_NS / elapsed_ns)).text);
	pthread_mutex_lock(&lock);
	link = probe->link;
	probe->link = NULL;
	all.left_out += link != NULL;
	pthread_mutex_unlock(&lock);
	hooks__detach(link);
}

int runtime_probes__hold(const struct bpf_object *object)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(object, "runtime_hits");
	uint64_t now_ns = clock__now_ns(), elapsed_ns = now_ns - all.looked_ns;
	int cpus = libbpf_num_possible_cpus();
	cleanup(free_p) uint64_t *by_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*by_cpu)) : NULL;
	uint32_t count;

	if (!by_cpu || !map)
		return by_cpu ? -EPROTO : -ENOMEM;
	if (elapsed_ns < SECOND_NS / 4)
		return 0;
	all.looked_ns = now_ns;
	pthread_mutex_lock(&lock);
	count = all.probe_count;
	pthread_mutex_unlock(&lock);
	for (uint32_t i = 1; i < count; i++)
		if (all.probes[i].link)
			hold_one(&all.probes[i], hits_of(bpf_map__fd(map), i, by_cpu, cpus),
				 elapsed_ns);
	return 0;
}

uint64_t runtime_probes__left_out(void)
{
	uint64_t count;

	pthread_mutex_lock(&lock);
	count = all.left_out;
	pthread_mutex_unlock(&lock);
	return count;
}
