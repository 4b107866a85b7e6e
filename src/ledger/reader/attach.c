/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ledger/reader/attach.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/sys.h"
#include "ledger/reader/attach_internal.h"
#include "ledger/windows/reader_internal.h"

DEFINE_CLEANUP(struct ledger *, ledger__free)

#define END_IN_NS UINT64_C(1000000)

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

/* `map` is task storage: user space passes a pidfd as the key. */
static int follow(const struct bpf_map *map, const struct target_ids *pids)
{
	uint32_t one = 1;

	for (size_t i = 0; i < pids->count; i++) {
		cleanup(close_p) int fd = (int)syscall(SYS_pidfd_open, (pid_t)pids->ids[i], 0);
		int err = fd < 0 ? -errno
				 : bpf_map_update_elem(bpf_map__fd(map), &fd, &one, BPF_NOEXIST);

		if (err)
			return err;
	}
	return 0;
}

static int fill_targets(struct ledger *ledger, const struct ledger_options *options)
{
	const struct target *target = options->target;
	int err = fill_ids(ledger->skel->maps.wanted_pids, &target->pids);

	if (!err && options->early)
		err = follow(ledger->skel->maps.followed, &target->pids);
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
	if (err || !ledger->skel->rodata->with_windows)
		return err;
	err = map_array(ledger->skel->maps.windows_bands, &ledger->bands);
	return err ? err : map_array(ledger->skel->maps.windows_band_infos, &ledger->band_infos);
}

static int attach_one(struct ledger *ledger, size_t i)
{
	struct hook_use *use = &ledger->uses[i];
	int err;

	if (!use->program)
		return 0;
	err = hooks__attach(ledger->skel->obj, use->program, NULL, &ledger->links[i]);
	if (!err)
		return 0;
	if (use->flags & HOOK_VITAL) {
		log_error("'%s' does not attach: %s [see 'gapless doctor']", use->event,
			  strerror(-err));
		return err;
	}
	log_warning("'%s' does not attach (%s); continuing without it", use->event, strerror(-err));
	use->program = NULL;
	return 0;
}

/* Below level full, hooks at calls are for stacks only. */
static bool is_for_stacks(const struct ledger *ledger, size_t i)
{
	return !ledger->skel->rodata->full && ledger->uses[i].flags & HOOK_AT_CALLS;
}

static int attach(struct ledger *ledger)
{
	int err = 0;

	for (size_t i = 0; i < ledger->hook_count && !err; i++)
		if (!ledger->is_paused || !is_for_stacks(ledger, i))
			err = attach_one(ledger, i);
	return err;
}

int ledger__sample(struct ledger *ledger, bool on)
{
	int err = 0;

	if (!ledger->tick_ns || on == !ledger->is_paused)
		return 0;
	ledger->is_paused = !on;
	ledger->skel->data->is_sampling = on;
	if (!on)
		ticks__stop(ledger);
	for (size_t i = 0; i < ledger->hook_count && !err; i++) {
		if (!is_for_stacks(ledger, i))
			continue;
		if (on) {
			err = attach_one(ledger, i);
			continue;
		}
		hooks__detach(ledger->links[i]);
		ledger->links[i] = NULL;
	}
	return err || !on ? err : ticks__start(ledger);
}

int ledger__open(const struct ledger_options *options, struct features *features,
		 const struct ledger_takers *takers, struct ledger **ret)
{
	cleanup(ledger__free_p) struct ledger *ledger = calloc(1, sizeof(*ledger));
	int err;

	if (!ledger)
		return -ENOMEM;
	ledger->buffer = malloc(READ_BYTES);
	if (!ledger->buffer)
		return -ENOMEM;
	err = parts__load(ledger, options, features);
	if (err)
		return err;
	err = fill_targets(ledger, options);
	if (!err)
		err = map_arrays(ledger);
	if (!err)
		err = ring__new(bpf_map__fd(ledger->skel->maps.ring), takers->take, takers->context,
				&ledger->ring);
	if (!err && options->tick_ns)
		err = ring__new(bpf_map__fd(ledger->skel->maps.stack_ring), takers->take_stack,
				takers->stack_context, &ledger->stack_ring);
	if (!err && ledger->skel->rodata->with_windows && takers->take_window)
		err = ring__new(bpf_map__fd(ledger->skel->maps.windows_ring), takers->take_window,
				takers->window_context, &ledger->window_ring);
	if (!err)
		err = ledger_windows__attach(ledger);
	if (err) {
		log_error("the ledger cannot be set up: %s", strerror(-err));
		return err;
	}
	ledger->shares_calls = ledger->skel->rodata->with_signal[SIGNAL_syscalls];
	ledger->barrier = series__barrier();
	calibrate__before(ledger);
	err = attach(ledger);
	if (!err)
		*ret = TAKE(ledger);
	return err;
}

uint64_t ledger__freeze(struct ledger *ledger)
{
	uint64_t end_ns;

	/*
	 * The time must still be in the future when hooks can see it, see is_over(). If this thread
	 * lost its CPU in between, it is set again.
	 */
	do {
		end_ns = clock__now_ns() + END_IN_NS;
		*(volatile __u64 *)&ledger->skel->bss->end_ns = end_ns;
	} while (clock__now_ns() >= end_ns);
	while (clock__now_ns() < end_ns)
		usleep(END_IN_NS / 1000);
	return end_ns;
}

void ledger__settle(struct ledger *ledger)
{
	series__settle(&ledger->barrier);
}

void ledger__stop(struct ledger *ledger)
{
	ticks__stop(ledger);
	for (size_t i = 0; i < LEDGER_HOOKS; i++) {
		hooks__detach(ledger->links[i]);
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
	bpf_link__destroy(ledger->seeder);
	bpf_link__destroy(ledger->snapshots);
	bpf_link__destroy(ledger->asleep);
	ring__free(ledger->ring);
	ring__free(ledger->stack_ring);
	ring__free(ledger->window_ring);
	series__barrier_close(&ledger->barrier);
	if (ledger->skel) {
		unmap_array(ledger->skel->maps.calls, ledger->calls);
		unmap_array(ledger->skel->maps.histograms, ledger->histograms);
		unmap_array(ledger->skel->maps.cpus, ledger->cpu_accounts);
		unmap_array(ledger->skel->maps.windows_bands, ledger->bands);
		unmap_array(ledger->skel->maps.windows_band_infos, ledger->band_infos);
		ledger_bpf__destroy(ledger->skel);
	}
	free(ledger->buffer);
	free(ledger);
}
