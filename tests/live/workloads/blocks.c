/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * blocks DEVICE NAME=OPERATION:COUNT …: for each argument a thread of this name that does an
 * operation so often, past the page cache, one thread after the other; with a + in front, beside
 * the next one.
 *
 *   random      reads of 4 KiB, none where the last one ended
 *   sequential  reads of 4 KiB, each where the last one ended
 *   humps       reads of 4 KiB, every 20th in the last quarter of the device, the others before it
 *   write       writes of 64 KiB, each where the last one ended
 *   durable     writes of 4 KiB with RWF_DSYNC, each where the last one ended
 *   flush       fdatasync()
 *   discard     BLKDISCARD of 1 MiB
 *   forward     8 reads of 4 KiB in one system call, each where the last one ended
 *   backward    the same, the last one first
 *   broken      reads of the last 64 KiB, which must fail
 */
#include <linux/aio_abi.h>
#include <linux/fs.h>
#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

#include "workload.h"

#define BLOCK      4096UL
#define LARGE      65536UL
#define STEP       7919 /* blocks; a prime */
#define BATCH      8
#define MOST       16
#define DURABLE_AT (8UL << 20)
#define WRITES_AT  (16UL << 20)
#define DISCARD_AT (32UL << 20)
#define DISCARD    (1UL << 20)

struct work {
	char name[16];
	char operation[16];
	unsigned long count;
	bool beside;
	pthread_t thread;
};

static int device;
static unsigned long device_bytes;
static aio_context_t aio;

static void transfer(bool is_write, void *buffer, size_t size, unsigned long at)
{
	ssize_t done = is_write ? pwrite(device, buffer, size, (off_t)at)
				: pread(device, buffer, size, (off_t)at);

	if (done != (ssize_t)size)
		die(is_write ? "pwrite" : "pread");
}

static void write_durably(void *buffer, unsigned long at)
{
	const struct iovec part = { buffer, BLOCK };

	if (pwritev2(device, &part, 1, (off_t)at, RWF_DSYNC) != (ssize_t)BLOCK)
		die("pwritev2");
}

static void submit(void *buffer, unsigned long first, bool backward)
{
	struct iocb blocks[BATCH], *list[BATCH];
	struct io_event events[BATCH];

	for (unsigned long i = 0; i < BATCH; i++) {
		unsigned long at = backward ? BATCH - 1 - i : i;

		blocks[i] = (struct iocb) { .aio_lio_opcode = IOCB_CMD_PREAD,
					    .aio_fildes = (__u32)device,
					    .aio_buf = (__u64)(uintptr_t)buffer + at * BLOCK,
					    .aio_nbytes = BLOCK,
					    .aio_offset = (__s64)((first + at) * BLOCK) };
		list[i] = &blocks[i];
	}
	if (syscall(SYS_io_submit, aio, BATCH, list) != BATCH)
		die("io_submit");
	if (syscall(SYS_io_getevents, aio, BATCH, BATCH, events, NULL) != BATCH)
		die("io_getevents");
	for (int i = 0; i < BATCH; i++)
		if (events[i].res != (__s64)BLOCK)
			die("aio");
}

static void discard(unsigned long i)
{
	const uint64_t range[2] = { DISCARD_AT + i * DISCARD, DISCARD };

	if (ioctl(device, BLKDISCARD, range))
		die("BLKDISCARD");
}

static unsigned long place_of_hump(unsigned long i)
{
	unsigned long part = device_bytes / BLOCK / 4;

	return i % 20 == 19 ? 3 * part + i : (i * STEP) % (3 * part);
}

static void do_once(const char *operation, void *buffer, unsigned long i)
{
	const unsigned long blocks = device_bytes / BLOCK;

	if (!strcmp(operation, "random"))
		transfer(false, buffer, BLOCK, (blocks / 2 + i * STEP) % blocks * BLOCK);
	else if (!strcmp(operation, "sequential"))
		transfer(false, buffer, BLOCK, (1 + i) * BLOCK);
	else if (!strcmp(operation, "humps"))
		transfer(false, buffer, BLOCK, place_of_hump(i) * BLOCK);
	else if (!strcmp(operation, "write"))
		transfer(true, buffer, LARGE, WRITES_AT + i * LARGE);
	else if (!strcmp(operation, "durable"))
		write_durably(buffer, DURABLE_AT + i * BLOCK);
	else if (!strcmp(operation, "flush") && fdatasync(device))
		die("fdatasync");
	else if (!strcmp(operation, "discard"))
		discard(i);
	else if (!strcmp(operation, "forward") || !strcmp(operation, "backward"))
		submit(buffer, (blocks / 4 + i * STEP) % (blocks - BATCH), *operation == 'b');
	else if (!strcmp(operation, "broken") &&
		 (pread(device, buffer, LARGE, (off_t)(device_bytes - LARGE)) >= 0 || errno != EIO))
		die("a read that should have failed");
}

static void *work(void *arg)
{
	const struct work *work = arg;
	void *buffer = aligned_alloc(BLOCK, LARGE);

	set_name(work->name);
	memset(buffer, 'x', LARGE);
	for (unsigned long i = 0; i < work->count; i++)
		do_once(work->operation, buffer, i);
	free(buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	struct work works[MOST] = {};

	if (argc < 3 || argc - 2 > MOST)
		return 2;
	device = open(argv[1], O_RDWR | O_DIRECT | O_CLOEXEC);
	if (device < 0 || ioctl(device, BLKGETSIZE64, &device_bytes))
		die(argv[1]);
	if (syscall(SYS_io_setup, BATCH, &aio))
		die("io_setup");
	for (int i = 0; i < argc - 2; i++) {
		struct work *one = &works[i];
		const char *text = argv[i + 2];

		one->beside = *text == '+';
		if (sscanf(text + one->beside, "%15[^=]=%15[^:]:%lu", one->name, one->operation,
			   &one->count) != 3)
			return 2;
		one->thread = start_thread(work, one);
		for (int j = 0; j <= i && !one->beside; j++)
			if (works[j].thread) {
				pthread_join(works[j].thread, NULL);
				works[j].thread = 0;
			}
	}
	return 0;
}
