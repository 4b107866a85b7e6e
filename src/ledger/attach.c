#include "ledger/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"
#include "ledger/attach_internal.h"
#include "ledger/states.h"

#define READ_BYTES (256 * 1024)

DEFINE_CLEANUP(struct ledger *, ledger__free)
DEFINE_CLEANUP(struct bpf_link *, bpf_link__destroy)

/* Birth first, so that no thread can slip in between the seeding and its hook. */
static const struct hook hooks[] = {
	{ "task_newtask", { "on_newtask" } },
	{ "sched_process_exit", { "on_exit" } },
	{ "sched_switch", { "on_switch" } },
	{ "sched_waking", { "on_waking" } },
	{ "sched_wakeup", { "on_wakeup" } },
	{ "contention_begin", { "on_contention_begin" } },
	{ "contention_end", { "on_contention_end" } },
	{ "sys_enter", { "on_sys_enter" } },
	{ "sys_exit", { "on_sys_exit" } },
	{ "sched_process_exec", { "on_exec" } },
	{ "task_rename", { "on_rename" } },
	{ "cgroup_attach_task", { "on_cgroup_attach" } },
	{},
};

static bool is_needed(const char *event, const struct ledger_options *options)
{
	if (!strncmp(event, "sys_", 4))
		return options->full;
	if (!strcmp(event, "task_rename"))
		return options->target->name_count > 0;
	if (!strcmp(event, "cgroup_attach_task"))
		return options->target->cgroups.count > 0;
	return true;
}

/* Without these the account cannot close; the rest only loses detail. */
static bool is_vital(const char *event)
{
	return !strcmp(event, "task_newtask") || !strcmp(event, "sched_switch") ||
	       !strcmp(event, "sched_wakeup");
}

static int set_knobs(struct ledger *ledger, const struct ledger_options *options)
{
	struct ledger_bpf *skel = ledger->skel;
	const struct target *target = options->target;
	uint8_t classes[LEDGER_SYSCALLS];
	int err = 0;

	skel->rodata->full = options->full;
	skel->rodata->all_threads = target->all;
	skel->rodata->track_cpus = target->all;
	skel->rodata->by_cgroup = target->cgroups.count > 0;
	skel->rodata->name_count = (uint32_t)target->name_count;
	memcpy((void *)skel->rodata->names, target->names, sizeof(target->names));
	skel->rodata->drop_every = options->drop_every;
	skel->rodata->no_repair = options->drop_every > 0;
	skel->rodata->nr_wait4 = states__number("wait4");
	skel->rodata->nr_exit = states__number("exit");
	skel->rodata->nr_sigreturn = states__number("rt_sigreturn");
	skel->rodata->nr_restart = states__number("restart_syscall");
	states__classes(classes);
	memcpy((void *)skel->rodata->class_of, classes, sizeof(classes));
	ledger->cpus = sys__cpus();
	err |= bpf_map__set_max_entries(
		skel->maps.calls, (uint32_t)(options->full ? ledger->cpus : 1) * LEDGER_SYSCALLS);
	err |= bpf_map__set_max_entries(skel->maps.histograms, (uint32_t)ledger->cpus * SLOT_COUNT);
	err |= bpf_map__set_max_entries(skel->maps.cpus, (uint32_t)ledger->cpus);
	return err;
}

static int choose_hooks(struct ledger *ledger, const struct ledger_options *options,
			struct features *features)
{
	struct hook needed[LEDGER_HOOKS + 1] = {};

	for (size_t i = 0; hooks[i].event; i++) {
		if (is_needed(hooks[i].event, options))
			needed[ledger->hook_count++] = hooks[i];
		else
			bpf_program__set_autoload(bpf_object__find_program_by_name(
							  ledger->skel->obj, hooks[i].programs[0]),
						  false);
	}
	loader__choose(ledger->skel->obj, needed, features, ledger->uses);
	for (size_t i = 0; i < ledger->hook_count; i++) {
		if (ledger->uses[i].program || !is_vital(ledger->uses[i].event))
			continue;
		log_error("'%s' cannot be hooked: %s [see 'gapless doctor']", ledger->uses[i].event,
			  ledger->uses[i].why_not);
		return -ENOTSUP;
	}
	return 0;
}

static int fill_ids(const struct bpf_map *map, const struct target_ids *ids)
{
	uint8_t one = 1;

	for (size_t i = 0; i < ids->count; i++) {
		int err = bpf_map_update_elem(bpf_map__fd(map), &ids->ids[i], &one, BPF_ANY);

		if (err)
			return err;
	}
	return 0;
}

static int fill_targets(struct ledger *ledger, const struct target *target)
{
	int err = fill_ids(ledger->skel->maps.wanted_pids, &target->pids);

	if (!err)
		err = fill_ids(ledger->skel->maps.wanted_tids, &target->tids);
	if (!err)
		err = fill_ids(ledger->skel->maps.wanted_cgroups, &target->cgroups);
	return err;
}

static size_t mapped_bytes(const struct bpf_map *map)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t value = (bpf_map__value_size(map) + 7) & ~(size_t)7;
	size_t bytes = value * bpf_map__max_entries(map);

	return (bytes + page - 1) & ~(page - 1);
}

static int map_array(const struct bpf_map *map, void **ret)
{
	void *at = mmap(NULL, mapped_bytes(map), PROT_READ, MAP_SHARED, bpf_map__fd(map), 0);

	if (at == MAP_FAILED)
		return -errno;
	*ret = at;
	return 0;
}

static int map_arrays(struct ledger *ledger)
{
	int err = map_array(ledger->skel->maps.calls, &ledger->calls);

	if (!err)
		err = map_array(ledger->skel->maps.histograms, &ledger->histograms);
	if (!err)
		err = map_array(ledger->skel->maps.cpus, &ledger->cpu_accounts);
	return err;
}

static int attach(struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->hook_count; i++) {
		struct hook_use *use = &ledger->uses[i];

		if (!use->program)
			continue;
		ledger->links[i] = bpf_program__attach(
			bpf_object__find_program_by_name(ledger->skel->obj, use->program));
		if (ledger->links[i])
			continue;
		if (is_vital(use->event)) {
			int err = -errno;

			log_error("'%s' does not attach: %s [see 'gapless doctor']", use->event,
				  strerror(-err));
			return err;
		}
		log_warning("'%s' does not attach (%s); continuing without it", use->event,
			    strerror(errno));
		use->program = NULL;
	}
	return 0;
}

static int load(struct ledger *ledger, const struct ledger_options *options,
		struct features *features)
{
	int err;

	ledger->skel = ledger_bpf__open();
	if (!ledger->skel)
		return -errno;
	err = set_knobs(ledger, options);
	if (!err)
		err = choose_hooks(ledger, options, features);
	if (err)
		return err;
	loader__forget();
	err = ledger_bpf__load(ledger->skel);
	if (err) {
		loader__replay();
		log_error("the ledger does not load: %s [see 'gapless doctor']", strerror(-err));
	}
	return err;
}

int ledger__open(const struct ledger_options *options, struct features *features,
		 ledger_take_record_fn take, void *context, struct ledger **ret)
{
	cleanup(ledger__free_p) struct ledger *ledger = calloc(1, sizeof(*ledger));
	int err;

	if (!ledger)
		return -ENOMEM;
	ledger->buffer = malloc(READ_BYTES);
	if (!ledger->buffer)
		return -ENOMEM;
	err = load(ledger, options, features);
	if (err)
		return err;
	err = fill_targets(ledger, options->target);
	if (!err)
		err = map_arrays(ledger);
	if (!err)
		err = ring__new(bpf_map__fd(ledger->skel->maps.ring), take, context, &ledger->ring);
	if (err) {
		log_error("the ledger cannot be set up: %s", strerror(-err));
		return err;
	}
	err = attach(ledger);
	if (!err)
		*ret = TAKE(ledger);
	return err;
}

uint64_t ledger__freeze(struct ledger *ledger)
{
	/* The clock after the flag: no hook can be later than that, but for one already at work. */
	*(volatile bool *)&ledger->skel->bss->frozen = true;
	ledger->skel->bss->frozen_ns = clock__now_ns();
	return ledger->skel->bss->frozen_ns;
}

void ledger__stop(struct ledger *ledger)
{
	ledger__timing(ledger, false);
	for (size_t i = 0; i < LEDGER_HOOKS; i++) {
		bpf_link__destroy(ledger->links[i]);
		ledger->links[i] = NULL;
	}
}

static void unmap_array(const struct bpf_map *map, void *at)
{
	if (at)
		munmap(at, mapped_bytes(map));
}

void ledger__free(struct ledger *ledger)
{
	if (!ledger)
		return;
	ledger__stop(ledger);
	ring__free(ledger->ring);
	if (ledger->skel) {
		unmap_array(ledger->skel->maps.calls, ledger->calls);
		unmap_array(ledger->skel->maps.histograms, ledger->histograms);
		unmap_array(ledger->skel->maps.cpus, ledger->cpu_accounts);
		ledger_bpf__destroy(ledger->skel);
	}
	free(ledger->buffer);
	free(ledger);
}

/* Reads an iterator to its end; its records are all of one size. */
static int read_records(struct ledger *ledger, int fd, ledger_take_record_fn take, void *context)
{
	const size_t record = sizeof(struct ledger_record);
	size_t have = 0;

	for (;;) {
		ssize_t bytes = read(fd, ledger->buffer + have, READ_BYTES - have);
		size_t at = 0;

		if (bytes < 0 && errno == EINTR)
			continue;
		if (bytes < 0)
			return -errno;
		if (!bytes)
			return have ? -EBADMSG : 0;
		have += (size_t)bytes;
		for (; have - at >= record; at += record) {
			int err = take(context, (const void *)(ledger->buffer + at));

			if (err)
				return err;
		}
		have -= at;
		memmove(ledger->buffer, ledger->buffer + at, have);
	}
}

static int open_iterator(struct bpf_program *program, struct bpf_link **ret_link, int *ret_fd)
{
	cleanup(bpf_link__destroy_p) struct bpf_link *link =
		bpf_program__attach_iter(program, NULL);
	int fd;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	*ret_link = TAKE(link);
	return 0;
}

/* Runs the seeding once; its clock begins right before the first thread is looked at. */
static int seed(struct ledger *ledger)
{
	cleanup(bpf_link__destroy_p) struct bpf_link *link = NULL;
	cleanup(close_p) int fd = -1;
	char byte;
	int err = open_iterator(ledger->skel->progs.on_seed, &link, &fd);

	if (err)
		return err;
	if (!ledger->skel->bss->start_ns) {
		ledger->skel->bss->seed_base_ns = clock__now_ns();
		ledger->skel->bss->start_ns = ledger->skel->bss->seed_base_ns;
	}
	return read(fd, &byte, 1) < 0 ? -errno : 0;
}

static void empty(const struct bpf_map *map)
{
	uint64_t id;

	while (!bpf_map_get_next_key(bpf_map__fd(map), NULL, &id))
		if (bpf_map_delete_elem(bpf_map__fd(map), &id))
			return;
}

int ledger__start(struct ledger *ledger, uint64_t *ret_start_ns)
{
	int err = seed(ledger);

	/* The second pass checks what the first one saw in the middle of a switch. */
	if (!err)
		err = seed(ledger);
	if (err) {
		log_error("the threads that are there cannot be listed: %s", strerror(-err));
		return err;
	}
	/* Threads that are found later were not wanted before, and numbers may mean others by then.
	 */
	ledger->skel->bss->seed_base_ns = 0;
	empty(ledger->skel->maps.wanted_pids);
	empty(ledger->skel->maps.wanted_tids);
	*ret_start_ns = ledger->skel->bss->start_ns;
	return 0;
}

int ledger__snapshot(struct ledger *ledger, uint64_t changed_after_ns, ledger_take_record_fn take,
		     void *context)
{
	cleanup(bpf_link__destroy_p) struct bpf_link *link = NULL;
	cleanup(close_p) int fd = -1;
	int err = 0;

	if (ledger->skel->bss->reseed) {
		ledger->skel->bss->reseed = 0;
		err = seed(ledger);
	}
	if (!err)
		err = open_iterator(ledger->skel->progs.on_snapshot, &link, &fd);
	if (err)
		return err;
	ledger->skel->bss->changed_after_ns = changed_after_ns;
	return read_records(ledger, fd, take, context);
}

int ledger__poll(struct ledger *ledger, int timeout_ms)
{
	return ring__poll(ledger->ring, timeout_ms);
}
