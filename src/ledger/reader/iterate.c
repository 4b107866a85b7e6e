/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the task iterators that open accounts, read them, and read open intervals at the end. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "ledger/reader/attach_internal.h"

/* How often to search for threads that now belong to a wanted user. */
#define USERS_NS UINT64_C(1000000000)

#define BEGIN_IN_NS UINT64_C(100000)

/*
 * After a million tasks without a record, the kernel returns EAGAIN instead of 0, which is the end
 * (bpf_seq_read(), since 5.8). The next read goes on from there.
 */
static ssize_t read_on(int fd, char *buffer, size_t size)
{
	ssize_t bytes;

	do {
		bytes = read(fd, buffer, size);
	} while (bytes < 0 && (errno == EINTR || errno == EAGAIN));
	return bytes < 0 ? -errno : bytes;
}

/* Reads an iterator to its end. `record`: the size of each record. */
static int read_records(struct ledger *ledger, int fd, size_t record, ledger_take_record_fn take,
			void *context)
{
	size_t have = 0;

	for (;;) {
		ssize_t bytes = read_on(fd, ledger->buffer + have, READ_BYTES - have);
		size_t at = 0;

		if (bytes < 0)
			return (int)bytes;
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

/*
 * The link is made at the first use and kept, because making one needs a capability that the
 * process may give up, and running an iterator does not.
 */
static int open_iterator(struct bpf_program *program, struct bpf_link **link, int *ret_fd)
{
	int fd;

	if (!*link)
		*link = bpf_program__attach_iter(program, NULL);
	if (!*link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(*link));
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* Runs the seeding once. Hooks may open accounts before the first thread is visited. */
static int seed(struct ledger *ledger)
{
	cleanup(close_p) int fd = -1;
	int err = open_iterator(ledger->skel->progs.on_seed, &ledger->seeder, &fd);
	ssize_t bytes;
	char byte;

	if (err)
		return err;
	if (!ledger->skel->bss->start_ns) {
		ledger->skel->bss->base_ns = UINT64_MAX; /* NOT_YET in thread.bpf.h */
		ledger->skel->bss->start_ns = clock__now_ns();
		__sync_synchronize(); /* see is_born_early() */
	}
	bytes = read_on(fd, &byte, 1);
	return bytes < 0 ? (int)bytes : 0;
}

static void empty(const struct bpf_map *map)
{
	uint64_t id;

	while (!bpf_map_get_next_key(bpf_map__fd(map), NULL, &id))
		if (bpf_map_delete_elem(bpf_map__fd(map), &id))
			return;
}

void ledger__forget_stacks(struct ledger *ledger)
{
	empty(ledger->skel->maps.processes);
	empty(ledger->skel->maps.pages);
	empty(ledger->skel->maps.asked);
	empty(ledger->skel->maps.stacks_seen);
}

/*
 * The recording begins BEGIN_IN_NS from now. By then every CPU sees base_ns, so all accounts begin
 * at the same nanosecond.
 */
static uint64_t begin(struct ledger *ledger)
{
	uint64_t base_ns = clock__now_ns() + BEGIN_IN_NS;

	*(volatile __u64 *)&ledger->skel->bss->base_ns = base_ns;
	while (clock__now_ns() <= base_ns)
		usleep(BEGIN_IN_NS / 1000);
	return base_ns;
}

/* Those that are used later, while the process still has its privileges. */
static int make_iterators(struct ledger *ledger)
{
	cleanup(close_p) int snapshot = -1;
	cleanup(close_p) int asleep = -1;
	int err = open_iterator(ledger->skel->progs.on_snapshot, &ledger->snapshots, &snapshot);

	if (!err && ledger->tick_ns)
		err = open_iterator(ledger->skel->progs.on_asleep, &ledger->asleep, &asleep);
	return err;
}

int ledger__start(struct ledger *ledger, uint64_t *ret_start_ns)
{
	int err = seed(ledger);

	/* The second pass corrects threads that the first one visited during a switch. */
	if (!err)
		err = seed(ledger);
	if (err) {
		log_error("the threads that are there cannot be listed: %s", strerror(-err));
		return err;
	}
	/* Later seedings must not match by pid or tid: the numbers may have been reused. */
	empty(ledger->skel->maps.wanted_pids);
	empty(ledger->skel->maps.wanted_tids);
	err = make_iterators(ledger);
	if (!err && !ledger->is_paused)
		err = ticks__start(ledger);
	if (!err)
		*ret_start_ns = begin(ledger);
	return err;
}

/* Hooks do not see every change of user, so search for them regularly too. */
static bool is_seeding_due(const struct ledger *ledger)
{
	if (ledger->skel->bss->end_ns)
		return false;
	return ledger->skel->bss->reseed ||
	       (ledger->by_user && clock__now_ns() - ledger->seeded_ns > USERS_NS);
}

/* Two passes, as at the start. */
static int seed_again(struct ledger *ledger)
{
	int err;

	ledger->skel->bss->reseed = 0;
	ledger->seeded_ns = clock__now_ns();
	err = seed(ledger);
	empty(ledger->skel->maps.outside_pids);
	return err ? err : seed(ledger);
}

int ledger__want_outside(struct ledger *ledger, uint32_t pid)
{
	const uint64_t id = pid;
	const uint8_t one = 1;

	if (bpf_map_update_elem(bpf_map__fd(ledger->skel->maps.outside_pids), &id, &one, BPF_ANY))
		return -errno;
	ledger->skel->bss->reseed = 1;
	return 0;
}

int ledger__seed_due(struct ledger *ledger)
{
	return is_seeding_due(ledger) ? seed_again(ledger) : 0;
}

int ledger__snapshot(struct ledger *ledger, uint64_t changed_after_ns, ledger_take_record_fn take,
		     void *context)
{
	cleanup(close_p) int fd = -1;
	int err = ledger__seed_due(ledger);

	if (!err)
		err = open_iterator(ledger->skel->progs.on_snapshot, &ledger->snapshots, &fd);
	if (err)
		return err;
	ledger->skel->bss->changed_after_ns = changed_after_ns;
	return read_records(ledger, fd, sizeof(struct ledger_record), take, context);
}

int ledger__asleep(struct ledger *ledger, ledger_take_record_fn take, void *context)
{
	cleanup(close_p) int fd = -1;
	int err;

	if (!ledger->tick_ns)
		return 0;
	err = open_iterator(ledger->skel->progs.on_asleep, &ledger->asleep, &fd);
	return err ? err : read_records(ledger, fd, sizeof(struct asleep_record), take, context);
}
