/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/mapper.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "bpf/unwind.h"
#include "stacks/compiler.h"
#include "stacks/events.h"
#include "stacks/modules.h"
#include "stacks/thread.h"
#include "stacks/tracker.h"

#define SWEEP_MS 100
#define WAIT_US  500
/*
 * How often unneeded modules are searched for. They stay for IDLE_NS, because stacks that use them
 * may be on their way, and the next process may run the same program.
 */
#define SWEEP_MODULES_NS 2000000000ULL
#define IDLE_NS          10000000000ULL

/* A runtime that was found. */
struct given {
	uint32_t pid;
	uint64_t start_ticks;
	struct runtime runtime;
};

struct mapper {
	struct quality quality;
	struct modules *modules;
	struct compiler *compiler;
	struct tracker *tracker;
	uint64_t budget_bytes;
	int asked_fd;
	bool eager;
	struct events *events; /* NULL: not available */
	struct ring_buffer *requests;
	pthread_t thread;
	bool has_thread;
	uint64_t swept_ns; /* last sweep of modules */

	int wake_fd;
	pthread_mutex_t lock; /* protects all fields below */
	bool stopping;
	uint32_t *watched; /* processes to learn about */
	size_t watched_count, watched_capacity;
	struct given *given;
	size_t given_count;
	bool is_learning; /* some watched processes are not known yet */
};

/* --- the thread ------------------------------------------------------------------------------- */

static void take_events(struct mapper *mapper)
{
	if (mapper->events)
		events__drain(mapper->events, tracker__take, mapper->tracker);
}

static int take_request(void *context, void *record, size_t size)
{
	const struct unwind_request *request = record;
	struct mapper *mapper = context;
	struct module *module;

	if (size < sizeof(*request) || request->head.size != sizeof(*request))
		return 0;
	if (request->head.kind == UNWIND_NEED_PROCESS) {
		/* Also between requests: a thousand in a row would let the event rings fill up. */
		take_events(mapper);
		tracker__follow(mapper->tracker, request->id);
	} else if (request->head.kind == UNWIND_NEED_MODULE) {
		module = modules__get(mapper->modules, request->id);
		if (module)
			compiler__ask(mapper->compiler, module);
	}
	return 0;
}

/* If eager, loads the module at once, up to half of the budget; the rest is for requests. */
static void take_module(void *context, struct module *module)
{
	struct mapper *mapper = context;

	if (mapper->eager && mapper->quality.table_bytes < mapper->budget_bytes / 2)
		compiler__ask(mapper->compiler, module);
}

/* The next process to learn about; 0: none. */
static uint32_t next_watched(struct mapper *mapper)
{
	uint32_t pid = 0;

	pthread_mutex_lock(&mapper->lock);
	if (mapper->watched_count && !mapper->stopping)
		pid = mapper->watched[--mapper->watched_count];
	pthread_mutex_unlock(&mapper->lock);
	return pid;
}

/* false: there is none. */
static bool next_given(struct mapper *mapper, struct given *ret)
{
	bool found;

	pthread_mutex_lock(&mapper->lock);
	found = mapper->given_count && !mapper->stopping;
	if (found)
		*ret = mapper->given[--mapper->given_count];
	pthread_mutex_unlock(&mapper->lock);
	return found;
}

static void note_learnt(struct mapper *mapper)
{
	pthread_mutex_lock(&mapper->lock);
	mapper->is_learning = mapper->watched_count > 0 || mapper->given_count > 0;
	pthread_mutex_unlock(&mapper->lock);
}

static bool is_stopping(struct mapper *mapper)
{
	bool stopping;

	pthread_mutex_lock(&mapper->lock);
	stopping = mapper->stopping;
	pthread_mutex_unlock(&mapper->lock);
	return stopping;
}

static void leave_module(void *context, struct module *module)
{
	uint64_t key = UNWIND_ASKED(UNWIND_NEED_MODULE, module->id);
	struct mapper *mapper = context;

	if (module->state == MODULE_LOADED)
		compiler__leave(mapper->compiler, module);
	/* Another module may get this id, so the kernel half must be able to request it. */
	if (module->state == MODULE_GONE)
		bpf_map_delete_elem(mapper->asked_fd, &key);
}

static void sweep(struct mapper *mapper, uint64_t now_ns)
{
	tracker__sweep(mapper->tracker);
	if (now_ns - mapper->swept_ns < SWEEP_MODULES_NS)
		return;
	mapper->swept_ns = now_ns;
	tracker__mark(mapper->tracker, now_ns);
	modules__sweep(mapper->modules, now_ns - IDLE_NS, now_ns, leave_module, mapper);
}

static void *run(void *context)
{
	struct mapper *mapper = context;
	struct pollfd wishes[] = {
		{ .fd = mapper->wake_fd, .events = POLLIN },
		{ .fd = ring_buffer__epoll_fd(mapper->requests), .events = POLLIN },
		{ .fd = mapper->events ? events__fd(mapper->events) : -1, .events = POLLIN },
	};
	uint64_t sweep_ns = 0, wakes;
	struct given given;
	uint32_t pid;

	thread__begins("gapless-maps");
	while (!is_stopping(mapper)) {
		(void)poll(wishes, 3, SWEEP_MS);
		if (wishes[0].revents)
			(void)!read(mapper->wake_fd, &wakes, sizeof(wakes));
		take_events(mapper);
		while ((pid = next_watched(mapper)))
			tracker__follow(mapper->tracker, pid);
		while (next_given(mapper, &given))
			tracker__set_runtime(mapper->tracker, given.pid, given.start_ticks,
					     &given.runtime);
		note_learnt(mapper);
		(void)ring_buffer__consume(mapper->requests);
		if (clock__now_ns() - sweep_ns < SWEEP_MS * 1000000ULL)
			continue;
		sweep(mapper, clock__now_ns());
		sweep_ns = clock__now_ns();
	}
	return NULL;
}

static void wake(struct mapper *mapper)
{
	/* Fails only if the counter is full; then the thread is awake anyway. */
	(void)!write(mapper->wake_fd, &(uint64_t) { 1 }, sizeof(uint64_t));
}

/* --- create and free -------------------------------------------------------------------------- */

static int open_all(struct mapper *mapper, const struct mapper_options *options)
{
	int err;

	mapper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (mapper->wake_fd < 0)
		return -errno;
	if (events__new(&mapper->events))
		mapper->events = NULL;
	mapper->requests = ring_buffer__new(options->requests_fd, take_request, mapper, NULL);
	if (!mapper->requests)
		return -errno;
	err = modules__new(&mapper->quality, &mapper->modules);
	if (err)
		return err;
	err = tracker__new(&(struct tracker_options) { .processes_fd = options->processes_fd,
						       .asked_fd = options->asked_fd,
						       .modules = mapper->modules,
						       .quality = &mapper->quality,
						       .has_events = mapper->events != NULL,
						       .take_module = take_module,
						       .context = mapper,
						       .languages = options->languages },
			   &mapper->tracker);
	if (err)
		return err;
	return compiler__new(options->pages_fd, options->asked_fd, options->budget_bytes,
			     &mapper->quality, &mapper->compiler);
}

int mapper__new(const struct mapper_options *options, struct mapper **ret)
{
	struct mapper *mapper = calloc(1, sizeof(*mapper));
	int err;

	if (!mapper)
		return -ENOMEM;
	mapper->wake_fd = -1;
	mapper->budget_bytes = options->budget_bytes;
	mapper->asked_fd = options->asked_fd;
	mapper->swept_ns = clock__now_ns();
	mapper->eager = options->eager;
	pthread_mutex_init(&mapper->lock, NULL);
	err = open_all(mapper, options);
	if (!err)
		err = thread__start(&mapper->thread, run, mapper);
	if (err) {
		mapper__free(mapper);
		return err;
	}
	mapper->has_thread = true;
	*ret = mapper;
	return 0;
}

void mapper__stop(struct mapper *mapper)
{
	if (!mapper || !mapper->has_thread)
		return;
	pthread_mutex_lock(&mapper->lock);
	mapper->stopping = true;
	pthread_mutex_unlock(&mapper->lock);
	modules__stop(mapper->modules);
	wake(mapper);
	pthread_join(mapper->thread, NULL);
	mapper->has_thread = false;
	compiler__stop(mapper->compiler);
}

void mapper__free(struct mapper *mapper)
{
	if (!mapper)
		return;
	mapper__stop(mapper);
	compiler__free(mapper->compiler);
	tracker__free(mapper->tracker);
	modules__free(mapper->modules);
	ring_buffer__free(mapper->requests);
	events__free(mapper->events);
	if (mapper->wake_fd >= 0)
		close(mapper->wake_fd);
	pthread_mutex_destroy(&mapper->lock);
	free(mapper->watched);
	free(mapper->given);
	free(mapper);
}

/* --- from any thread -------------------------------------------------------------------------- */

static bool is_watched(const struct mapper *mapper, uint32_t pid)
{
	for (size_t i = 0; i < mapper->watched_count; i++)
		if (mapper->watched[i] == pid)
			return true;
	return false;
}

void mapper__watch(struct mapper *mapper, pid_t pid)
{
	pthread_mutex_lock(&mapper->lock);
	if (pid <= 0 || is_watched(mapper, (uint32_t)pid)) {
		pthread_mutex_unlock(&mapper->lock);
		return;
	}
	if (mapper->watched_count == mapper->watched_capacity) {
		size_t capacity = mapper->watched_capacity ? 2 * mapper->watched_capacity : 16;
		uint32_t *watched = realloc(mapper->watched, capacity * sizeof(*watched));

		if (watched) {
			mapper->watched = watched;
			mapper->watched_capacity = capacity;
		}
	}
	/* Without memory, the process becomes known when the kernel half requests it. */
	if (mapper->watched_count < mapper->watched_capacity)
		mapper->watched[mapper->watched_count++] = (uint32_t)pid;
	mapper->is_learning = mapper->watched_count > 0;
	pthread_mutex_unlock(&mapper->lock);
	wake(mapper);
}

void mapper__set_runtime(struct mapper *mapper, uint32_t pid, uint64_t start_ticks,
			 const struct runtime *runtime)
{
	struct given *given;

	pthread_mutex_lock(&mapper->lock);
	given = APPEND(&mapper->given, &mapper->given_count);
	/* Without memory, the process has no frames of its runtime. */
	if (given)
		*given = (struct given) { pid, start_ticks, *runtime };
	mapper->is_learning = true;
	pthread_mutex_unlock(&mapper->lock);
	wake(mapper);
}

static bool is_learning(struct mapper *mapper)
{
	bool learning;

	pthread_mutex_lock(&mapper->lock);
	learning = mapper->is_learning;
	pthread_mutex_unlock(&mapper->lock);
	return learning;
}

void mapper__wait(struct mapper *mapper, uint64_t most_ns)
{
	uint64_t until_ns = clock__now_ns() + most_ns;

	while ((is_learning(mapper) || !compiler__is_done(mapper->compiler)) &&
	       clock__now_ns() < until_ns)
		usleep(WAIT_US);
}

void mapper__want(struct mapper *mapper, uint32_t id)
{
	struct module *module = modules__hold(mapper->modules, id);

	if (!module)
		return;
	compiler__ask(mapper->compiler, module);
	modules__leave(mapper->modules, id);
}

bool mapper__locate(struct mapper *mapper, uint32_t pid, uint64_t address, uint32_t *ret_module,
		    uint64_t *ret_address)
{
	return tracker__locate(mapper->tracker, pid, address, ret_module, ret_address);
}

bool mapper__locate_variable(struct mapper *mapper, uint32_t pid, uint64_t address,
			     uint32_t *ret_module, uint64_t *ret_address)
{
	return tracker__locate_variable(mapper->tracker, pid, address, ret_module, ret_address);
}

int mapper__module(struct mapper *mapper, uint32_t id, struct mapper_module *ret)
{
	const struct module *module = modules__get(mapper->modules, id);

	if (!module)
		return -ENOENT;
	*ret = (struct mapper_module) {
		.id = module->id,
		.fd = module->fd,
		.path = module->path,
		.build_id = module->build_id,
		.size = module->image ? module->image_bytes : (uint64_t)module->stat.st_size,
		.pid = module->pid,
		.is_vdso = module->image != NULL,
	};
	return 0;
}

int mapper__hold(struct mapper *mapper, uint32_t id, struct mapper_module *ret)
{
	return modules__hold(mapper->modules, id) ? mapper__module(mapper, id, ret) : -ENOENT;
}

void mapper__leave(struct mapper *mapper, uint32_t id)
{
	modules__leave(mapper->modules, id);
}

void mapper__used(struct mapper *mapper, uint32_t module)
{
	modules__use(mapper->modules, module);
}

struct mapper_quality mapper__quality(struct mapper *mapper)
{
	const struct quality *quality = &mapper->quality;
	uint64_t table_bytes = quality->table_bytes; /* read before the peak: see note_bytes() */

	return (struct mapper_quality) {
		.lost_events = quality->lost_events,
		.crowded_processes = quality->crowded_processes,
		.processes_failed = quality->processes_failed,
		.without_events = !mapper->events,
		.modules = quality->modules,
		.modules_failed = quality->modules_failed,
		.rows = quality->rows,
		.broken_rows = quality->broken_rows,
		.evicted = quality->evicted,
		.over_budget = quality->over_budget,
		.table_bytes = table_bytes,
		.table_bytes_peak = quality->table_bytes_peak,
		.compile_ns = quality->compile_ns,
	};
}
