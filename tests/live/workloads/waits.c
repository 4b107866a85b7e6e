/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waits MS: threads with known names that wait in known ways for MS milliseconds: for 10 µs to 1 s
 * at a time, several times in one call, in calls that signals break off and that go on, in faults,
 * without end, and for a CPU. Each logs how long its own clock says it was in those calls.
 */
#include "workload.h"

#include <linux/userfaultfd.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")
#define CHUNK_BYTES  65536 /* what a pipe holds */
#define CHUNKS       16    /* in one call */
#define PAGE_BYTES   4096
#define MOST_CROWD   64

static uint64_t length_ns;

static void *sleep_for(void *arg)
{
	uint64_t ns = (uint64_t)(uintptr_t)arg;
	struct timespec nap = { (time_t)(ns / (1000 * MS)), (long)(ns % (1000 * MS)) };
	char name[24];
	struct phase phase;

	snprintf(name, sizeof(name), "sleep-%uus", (unsigned int)(ns / 1000));
	phase = phase_begin("sleep", name);
	do {
		call_begins(&phase);
		nanosleep(&nap, NULL);
		call_ends(&phase);
	} while (now_ns() < phase.begin_ns + length_ns);
	phase_end(&phase);
	return NULL;
}

static void *drain(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char *buffer = malloc(CHUNK_BYTES);

	set_name("drain");
	do
		sleep_ns(5 * MS);
	while (read(fd, buffer, CHUNK_BYTES) > 0);
	free(buffer);
	return NULL;
}

/* One write, and a wait for each piece of it. */
static void *write_chunks(void *arg)
{
	size_t size = (size_t)CHUNKS * CHUNK_BYTES;
	char *buffer = calloc(1, size);
	struct phase phase = phase_begin("chunks", "chunks");
	pthread_t reader;
	int ends[2];

	make_pipe(ends);
	reader = start_thread(drain, (void *)(intptr_t)ends[0]);
	do {
		call_begins(&phase);
		if (write(ends[1], buffer, size) != (ssize_t)size)
			die("write");
		call_ends(&phase);
	} while (now_ns() < phase.begin_ns + length_ns);
	phase_end(&phase);
	close(ends[1]);
	pthread_join(reader, NULL);
	free(buffer);
	return NULL;
}

static void on_tick(int number)
{
}

static timer_t start_ticks(int flags, uint64_t ns)
{
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = flags };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = flags ? SIGUSR1 : SIGUSR2 };
	struct itimerspec ticks = { { 0, (long)ns }, { 0, (long)ns } };
	timer_t timer;

	event._sigev_un._tid = gettid();
	sigaction(event.sigev_signo, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &ticks, NULL))
		die("timer");
	return timer;
}

static NOINLINE void read_once(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		die("read");
	KEEP_FRAME();
}

static void *write_late(void *arg)
{
	set_name("late");
	sleep_ns(length_ns);
	send_token((int)(intptr_t)arg);
	return NULL;
}

/* One read that signals interrupt every 5 ms and that goes on by itself. */
static void *read_restarted(void *arg)
{
	struct phase phase = phase_begin("restarted", "restarted");
	pthread_t writer;
	timer_t timer;
	int ends[2];

	make_pipe(ends);
	writer = start_thread(write_late, (void *)(intptr_t)ends[1]);
	timer = start_ticks(SA_RESTART, 5 * MS);
	call_begins(&phase);
	read_once(ends[0]);
	call_ends(&phase);
	timer_delete(timer);
	phase_end(&phase);
	pthread_join(writer, NULL);
	return NULL;
}

static void *poll_broken_off(void *arg)
{
	struct phase phase = phase_begin("broken-off", "broken-off");
	timer_t timer = start_ticks(0, 7 * MS);

	do {
		call_begins(&phase);
		poll(NULL, 0, 10000);
		call_ends(&phase);
	} while (now_ns() < phase.begin_ns + length_ns);
	timer_delete(timer);
	phase_end(&phase);
	return NULL;
}

/* Blocked when the recording begins and when it ends. */
static void *never_back(void *arg)
{
	int ends[2];

	set_name("never");
	make_pipe(ends);
	read_once(ends[0]);
	return NULL;
}

static void *fill_pages(void *arg)
{
	int fd = (int)(intptr_t)arg;
	static char page[PAGE_BYTES];
	struct uffd_msg message;

	set_name("filler");
	while (read(fd, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_copy copy = { .dst = message.arg.pagefault.address &
						   ~(PAGE_BYTES - 1UL),
					    .src = (uintptr_t)page,
					    .len = PAGE_BYTES };

		sleep_ns(4 * MS);
		ioctl(fd, UFFDIO_COPY, &copy);
	}
	return NULL;
}

static NOINLINE void touch(const volatile char *at)
{
	(void)*at;
	KEEP_FRAME();
}

/* Waits outside any call: for pages that a thread brings after 4 ms. */
static void *fault_in(void *arg)
{
	struct phase phase = phase_begin("fault", "fault");
	struct uffdio_api api = { .api = UFFD_API };
	size_t size = PAGE_BYTES * (length_ns / (4 * MS) + 1);
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	range.range.start = (uintptr_t)memory;
	range.range.len = size;
	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) || ioctl(fd, UFFDIO_REGISTER, &range)) {
		phase_skip("fault", "userfaultfd");
		return NULL;
	}
	pthread_detach(start_thread(fill_pages, (void *)(intptr_t)fd));
	for (size_t at = 0; at < size; at += PAGE_BYTES) {
		call_begins(&phase);
		touch(memory + at);
		call_ends(&phase);
		if (now_ns() > phase.begin_ns + length_ns)
			break;
	}
	phase_end(&phase);
	return NULL;
}

/* The others keep to no CPU. */
static void stay_on(int cpu)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		die("sched_setaffinity");
}

NOINLINE static void ring_bell(int fd)
{
	if (write(fd, "", 1) != 1)
		die("write");
	KEEP_FRAME();
}

static void *ring(void *arg)
{
	uint64_t end_ns = now_ns() + length_ns;

	set_name("bell-ringer");
	stay_on(0);
	while (now_ns() < end_ns) {
		sleep_ns(2 * MS);
		ring_bell((int)(intptr_t)arg);
	}
	close((int)(intptr_t)arg);
	return NULL;
}

/* Woken from another CPU, which this one is told by an interrupt if it idles. */
static void *wait_for_bell(void *arg)
{
	struct phase phase;
	int ends[2];
	ssize_t got;
	char byte;

	make_pipe(ends);
	stay_on((int)sysconf(_SC_NPROCESSORS_ONLN) - 1);
	pthread_detach(start_thread(ring, (void *)(intptr_t)ends[1]));
	phase = phase_begin("bell", "bell-waiter");
	do {
		call_begins(&phase);
		got = read(ends[0], &byte, 1);
		call_ends(&phase);
	} while (got == 1);
	phase_end(&phase);
	return NULL;
}

static void *crowd_member(void *arg)
{
	struct phase phase = phase_begin("crowd", "crowd");

	spin_until(phase.begin_ns + length_ns / 2);
	phase_end(&phase);
	return NULL;
}

/* Two threads more than CPUs, behind the others, which they would delay. */
static void crowd(void)
{
	pthread_t threads[MOST_CROWD];
	long count = sysconf(_SC_NPROCESSORS_ONLN) + 2;

	if (count > MOST_CROWD)
		count = MOST_CROWD;
	for (long i = 0; i < count; i++)
		threads[i] = start_thread(crowd_member, NULL);
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
	static void *(*const bodies[])(void *) = { write_chunks, read_restarted, poll_broken_off,
						   fault_in, wait_for_bell };
	static const uint64_t naps_us[] = { 10, 100, 1000, 10000, 100000, 1000000 };
	pthread_t threads[sizeof(bodies) / sizeof(*bodies) + sizeof(naps_us) / sizeof(*naps_us)];
	size_t count = 0;

	length_ns = (argc > 1 ? strtoul(argv[1], NULL, 10) : 1000) * MS;
	pthread_detach(start_thread(never_back, NULL));
	for (size_t i = 0; i < sizeof(naps_us) / sizeof(*naps_us); i++)
		threads[count++] =
			start_thread(sleep_for, (void *)(uintptr_t)(naps_us[i] * (MS / 1000)));
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		threads[count++] = start_thread(bodies[i], NULL);
	for (size_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	crowd();
	return 0;
}
