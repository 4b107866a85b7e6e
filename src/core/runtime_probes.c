/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/runtime_probes.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/threads.h"
#include "base/vec.h"
#include "base/words.h"
#include "core/hooks.h"

#define SECOND_NS UINT64_C(1000000000)
/*
 * With the BPF program, a hit costs up to a microsecond where the instruction is cheap: so many a
 * second cost at most 2 % of a CPU.
 */
#define MOST_HITS UINT64_C(20000)
/* How long the start of a recording waits for the probes of processes that are known by then. */
#define START_WAIT_NS (SECOND_NS / 2)

/* A process with a runtime. */
struct runtime_process {
	uint32_t pid;
	enum runtime_kind kind;
	char *path;
	size_t file; /* number; once it has been looked at */
};

struct runtime_probed_file {
	struct uprobe_file file;
	bool is_whole; /* all of its probes are attached */
};

struct runtime_probe {
	struct bpf_link *link; /* NULL: not any more */
	size_t file;           /* number */
	uint64_t most;         /* hits a second */
	uint64_t hits;         /* when looked at last */
	char name[128];        /* in messages */
};

int runtime_places__add(struct runtime_places *places, const struct finder_place *at,
			bool at_return, const void *site, size_t site_bytes)
{
	struct runtime_place *place = APPEND(&places->list, &places->count);

	if (!place)
		return -ENOMEM;
	place->at = *at;
	place->at_return = at_return;
	if (site_bytes)
		memcpy(place->site, site, site_bytes);
	return 0;
}

void runtime_places__miss(struct runtime_places *places, const char *what)
{
	size_t length = strlen(places->missing);

	snprintf(places->missing + length, sizeof(places->missing) - length, "%s%s",
		 length ? ", " : "", what);
}

void runtime_probes__take(struct runtime_probes *probes, const struct signal_runtime *runtime)
{
	struct runtime_process *process;

	if (probes->options->only && probes->options->only != runtime->kind)
		return;
	pthread_mutex_lock(&probes->lock);
	/* It may execute another program, whose file has no probes yet. */
	for (size_t i = 0; i < probes->done_count; i++)
		if (probes->done[i].pid == runtime->pid &&
		    strcmp(probes->done[i].path, runtime->path) != 0)
			probes->done[i].pid = 0;
	process = APPEND(&probes->queue, &probes->queued);
	if (process)
		*process = (struct runtime_process) { .pid = runtime->pid,
						      .kind = runtime->kind,
						      .path = strdup(runtime->path) };
	pthread_cond_broadcast(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
}

/* --- attaching -------------------------------------------------------------------------------- */

/* Something in the file cannot be seen. */
static void leave_out(struct runtime_probes *probes, size_t file)
{
	pthread_mutex_lock(&probes->lock);
	probes->left_out++;
	probes->files[file].is_whole = false;
	pthread_mutex_unlock(&probes->lock);
}

/* The number of a new site, which the kernel half knows then; 0: there is no room. */
static uint32_t new_site(struct runtime_probes *probes, const struct runtime_place *place,
			 const struct uprobe_file *file)
{
	const char *name = probes->options->sites;
	const struct bpf_map *sites =
		name ? bpf_object__find_map_by_name(probes->object, name) : NULL;
	uint32_t number = 0;

	pthread_mutex_lock(&probes->lock);
	if (probes->probe_count < RUNTIME_MOST_PROBES)
		number = probes->probe_count++;
	pthread_mutex_unlock(&probes->lock);
	if (!number || (name && (!sites || bpf_map_update_elem(bpf_map__fd(sites), &number,
							       place->site, BPF_ANY))))
		return 0;
	probes->probes[number].most = MOST_HITS * instruction__hit_ns(INSTRUCTION_EMULATED) /
				      instruction__hit_ns((enum instruction_cost)place->at.cost);
	snprintf(probes->probes[number].name, sizeof(probes->probes[number].name), "%.40s:%.80s",
		 uprobes__base(file->path), place->at.name);
	return number;
}

static int attach_place(struct runtime_probes *probes, const struct runtime_place *place,
			const struct uprobe_file *file, size_t file_number)
{
	const struct runtime_probes_options *options = probes->options;
	char path[sizeof(file->root) + sizeof(file->path)];
	struct uprobe_site site = { .file = path, .place = place->at };
	uint32_t number = new_site(probes, place, file);
	struct bpf_link *link = NULL;
	int err;

	if (!number)
		return -ENOSPC;
	snprintf(path, sizeof(path), "%s%s", file->root, file->path);
	err = uprobes__attach(probes->object,
			      place->at_return ? options->at_return : options->program, &site,
			      number, &link);
	pthread_mutex_lock(&probes->lock);
	probes->probes[number].file = file_number;
	probes->probes[number].link = link;
	pthread_mutex_unlock(&probes->lock);
	return err;
}

/* Ends first: what begins before its end is attached is not paired. */
static void attach_all(struct runtime_probes *probes, const struct runtime_places *places,
		       const struct uprobe_file *file, size_t number)
{
	for (size_t i = places->count; i > 0; i--) {
		int err = attach_place(probes, &places->list[i - 1], file, number);

		if (!err)
			continue;
		log_warning("'%s' in '%s' cannot be probed (%s); continuing without it",
			    places->list[i - 1].at.name, file->path, strerror(-err));
		leave_out(probes, number);
	}
}

/* The number of a file; *ret_is_new: it was not known. -ENOMEM. */
static int find_file(struct runtime_probes *probes, const struct uprobe_file *file, size_t *ret,
		     bool *ret_is_new)
{
	struct runtime_probed_file *new;

	*ret_is_new = false;
	for (size_t i = 0; i < probes->file_count; i++) {
		const struct uprobe_file *known = &probes->files[i].file;

		*ret = i;
		if (known->device == file->device && known->inode == file->inode)
			return 0;
	}
	pthread_mutex_lock(&probes->lock);
	new = APPEND(&probes->files, &probes->file_count);
	if (new) {
		*new = (struct runtime_probed_file) { .file = *file, .is_whole = true };
		*ret = probes->file_count - 1;
		*ret_is_new = true;
	}
	pthread_mutex_unlock(&probes->lock);
	return new ? 0 : -ENOMEM;
}

/* --- cost ------------------------------------------------------------------------------------- */

static uint64_t hits_of(const struct bpf_map *map, uint32_t number, uint64_t *by_cpu, int cpus)
{
	uint64_t hits = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(map), &number, by_cpu))
		return 0;
	for (int i = 0; i < cpus; i++)
		hits += by_cpu[i];
	return hits;
}

static void hold_one(struct runtime_probes *probes, uint32_t number, uint64_t hits,
		     uint64_t elapsed_ns)
{
	struct runtime_probe *probe = &probes->probes[number];
	uint64_t lately = hits > probe->hits ? hits - probe->hits : 0;
	struct bpf_link *link = NULL;

	probe->hits = hits;
	if (lately * SECOND_NS / elapsed_ns <= probe->most)
		return;
	log_warning("'%s' is called %s times a second; continuing without it", probe->name,
		    words__number((int64_t)(lately * SECOND_NS / elapsed_ns)).text);
	pthread_mutex_lock(&probes->lock);
	link = probe->link;
	probe->link = NULL;
	pthread_mutex_unlock(&probes->lock);
	if (!link)
		return;
	leave_out(probes, probe->file);
	hooks__detach(link);
}

/* The probes from a number on, which were hit for some time since they were looked at last. */
static int hold_from(struct runtime_probes *probes, uint32_t from, uint64_t elapsed_ns)
{
	const struct bpf_map *map =
		bpf_object__find_map_by_name(probes->object, probes->options->hits);
	int cpus = libbpf_num_possible_cpus();
	cleanup(free_p) uint64_t *by_cpu = cpus > 0 ? calloc((size_t)cpus, sizeof(*by_cpu)) : NULL;
	uint32_t count;

	if (!by_cpu || !map)
		return by_cpu ? -EPROTO : -ENOMEM;
	pthread_mutex_lock(&probes->lock);
	count = probes->probe_count;
	pthread_mutex_unlock(&probes->lock);
	for (uint32_t i = from; i < count; i++)
		if (probes->probes[i].link)
			hold_one(probes, i, hits_of(map, i, by_cpu, cpus), elapsed_ns);
	return 0;
}

static void try_from(struct runtime_probes *probes, uint32_t from)
{
	uint64_t began_ns = clock__now_ns();

	usleep(probes->options->trial_us);
	(void)hold_from(probes, from, clock__now_ns() - began_ns);
}

int runtime_probes__hold(struct runtime_probes *probes)
{
	uint64_t now_ns = clock__now_ns(), elapsed_ns = now_ns - probes->looked_ns;

	if (elapsed_ns < SECOND_NS / 4)
		return 0;
	probes->looked_ns = now_ns;
	return hold_from(probes, 1, elapsed_ns);
}

/* --- files and processes ---------------------------------------------------------------------- */

static void probe_file(struct runtime_probes *probes, const struct uprobe_file *file,
		       enum runtime_kind kind, size_t number)
{
	const struct runtime_probes_options *options = probes->options;
	struct runtime_places places = {};
	uint32_t first;
	int err = probes->finder ? 0 : finder__new(&probes->finder);

	if (!err)
		err = options->find(probes->finder, kind, file, &places);
	if (err) {
		log_warning("'%s' cannot be searched (%s); continuing without %s of %s", file->path,
			    strerror(-err), options->what, runtime__words(kind)->title);
		leave_out(probes, number);
	}
	if (*places.missing) {
		log_warning("'%s' has neither probes nor symbols for it; continuing without %s",
			    file->path, places.missing);
		leave_out(probes, number);
	}
	first = probes->probe_count;
	attach_all(probes, &places, file, number);
	if (options->trial_us && places.count)
		try_from(probes, first);
	free(places.list);
}

static void note_done(struct runtime_probes *probes, const struct runtime_process *process,
		      size_t file)
{
	cleanup(free_p) char *path = strdup(process->path);
	struct runtime_process *done = NULL;

	pthread_mutex_lock(&probes->lock);
	if (path)
		done = APPEND(&probes->done, &probes->done_count);
	if (done)
		*done = (struct runtime_process) { .pid = process->pid,
						   .path = TAKE(path),
						   .file = file };
	pthread_mutex_unlock(&probes->lock);
}

/* The runtime's file, as the process sees it. */
static void probe_process(struct runtime_probes *probes, const struct runtime_process *process)
{
	struct target target = {};
	const struct uprobe_scope scope = { &target, NULL };
	struct uprobe_spec spec = { .kind = UPROBE_FUNCTION };
	cleanup(free_p) struct uprobe_file *files = NULL;
	size_t count = 0, number;
	bool is_new;

	if (!process->path || strlen(process->path) >= sizeof(spec.file))
		return;
	snprintf(spec.file, sizeof(spec.file), "%s", process->path);
	if (target__add_pid(&target, process->pid) || uprobes__files(&spec, &scope, &files, &count))
		log_debug("'%s' of process %u is not there", process->path, process->pid);
	for (size_t i = 0; i < count; i++) {
		if (find_file(probes, &files[i], &number, &is_new))
			return;
		if (is_new)
			probe_file(probes, &files[i], process->kind, number);
		note_done(probes, process, number);
	}
}

bool runtime_probes__are_in(struct runtime_probes *probes, uint32_t pid)
{
	bool are_in = false;

	pthread_mutex_lock(&probes->lock);
	/* Pids are reused: the last one counts. */
	for (size_t i = probes->done_count; i > 0; i--)
		if (probes->done[i - 1].pid == pid) {
			are_in = probes->files[probes->done[i - 1].file].is_whole;
			break;
		}
	pthread_mutex_unlock(&probes->lock);
	return are_in;
}

/* --- the thread ------------------------------------------------------------------------------- */

static bool next_process(struct runtime_probes *probes, struct runtime_process *ret)
{
	bool is_there;

	pthread_mutex_lock(&probes->lock);
	probes->is_working = false;
	pthread_cond_broadcast(&probes->changed);
	while (!probes->queued && !probes->is_stopping)
		pthread_cond_wait(&probes->changed, &probes->lock);
	is_there = probes->is_working = probes->queued && !probes->is_stopping;
	if (is_there) {
		*ret = probes->queue[0];
		memmove(probes->queue, probes->queue + 1,
			--probes->queued * sizeof(*probes->queue));
	}
	pthread_mutex_unlock(&probes->lock);
	return is_there;
}

static void *run(void *context)
{
	struct runtime_probes *probes = context;
	struct runtime_process process;

	while (next_process(probes, &process)) {
		probe_process(probes, &process);
		free(process.path);
	}
	return NULL;
}

static void wait_for_probes(struct runtime_probes *probes)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)START_WAIT_NS;
	until.tv_sec += until.tv_nsec / (long)SECOND_NS;
	until.tv_nsec %= (long)SECOND_NS;
	pthread_mutex_lock(&probes->lock);
	while ((probes->queued || probes->is_working) &&
	       !pthread_cond_timedwait(&probes->changed, &probes->lock, &until)) {
	}
	pthread_mutex_unlock(&probes->lock);
}

int runtime_probes__attach(struct runtime_probes *probes, struct bpf_object *object)
{
	int err;

	probes->probes = calloc(RUNTIME_MOST_PROBES, sizeof(*probes->probes));
	if (!probes->probes)
		return -ENOMEM;
	probes->probe_count = 1;
	probes->object = object;
	probes->looked_ns = clock__now_ns();
	probes->is_stopping = false;
	err = threads__start(run, probes, &probes->thread);
	probes->is_running = !err;
	if (!err)
		wait_for_probes(probes);
	return err;
}

void runtime_probes__detach(struct runtime_probes *probes)
{
	pthread_mutex_lock(&probes->lock);
	probes->is_stopping = true;
	pthread_cond_broadcast(&probes->changed);
	pthread_mutex_unlock(&probes->lock);
	if (probes->is_running)
		pthread_join(probes->thread, NULL);
	probes->is_running = false;
	for (uint32_t i = 1; i < probes->probe_count; i++)
		hooks__detach(probes->probes[i].link);
	free(probes->probes);
	probes->probes = NULL;
	probes->probe_count = 0;
	finder__free(probes->finder);
	probes->finder = NULL;
	free(probes->files);
	probes->files = NULL;
	probes->file_count = 0;
	while (probes->done_count)
		free(probes->done[--probes->done_count].path);
	free(probes->done);
	probes->done = NULL;
	while (probes->queued)
		free(probes->queue[--probes->queued].path);
	free(probes->queue);
	probes->queue = NULL;
}

uint64_t runtime_probes__left_out(struct runtime_probes *probes)
{
	uint64_t count;

	pthread_mutex_lock(&probes->lock);
	count = probes->left_out;
	pthread_mutex_unlock(&probes->lock);
	return count;
}
