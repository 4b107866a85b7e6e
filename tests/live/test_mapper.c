/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The mapper on this kernel: processes that do what it must notice, and what it then knows. */
#include "../harness.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "ledger.h"
#include "maps.h"
#include "stacks/headers.h"
#include "stacks/maps.h"

#define LIBRARY    "/lib/x86_64-linux-gnu/libgcc_s.so.1"
#define COPY       "/tmp/gapless-test-mapper.so"
#define BUDGET     (64UL << 20)
#define PAGE_BYTES 4096UL
#define CHILDREN   500
#define SECOND_NS  1000000000UL

static char sleeper[PATH_MAX]; /* the program behind `sleep` */

/* --- children --------------------------------------------------------------------------------- */

/* A child that does something each time it gets a byte, and answers with eight. */
struct child {
	pid_t pid;
	int to, from;
};

typedef uint64_t (*child_fn)(void);

static void serve(child_fn act, int from, int to)
{
	char byte;

	while (read(from, &byte, 1) == 1) {
		uint64_t answer = act();

		if (write(to, &answer, sizeof(answer)) != sizeof(answer))
			break;
	}
	_exit(0);
}

static struct child start(child_fn act)
{
	struct child child;
	int to[2], from[2];

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	child.pid = fork();
	if (!child.pid) {
		close(to[1]);
		close(from[0]);
		serve(act, to[0], from[1]);
	}
	close(to[0]);
	close(from[1]);
	child.to = to[1];
	child.from = from[0];
	return child;
}

static uint64_t make_act(const struct child *child)
{
	uint64_t answer = 0;

	assert_int_equal(write(child->to, "x", 1), 1);
	assert_int_equal(read(child->from, &answer, sizeof(answer)), sizeof(answer));
	return answer;
}

static void end(struct child *child)
{
	close(child->to);
	close(child->from);
	kill(child->pid, SIGKILL);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

static void copy_library(void)
{
	char bytes[65536];
	int from = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	int to = open(COPY, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		assert_int_equal(write(to, bytes, (size_t)got), got);
	close(from);
	close(to);
}

static uint64_t act_idle(void)
{
	return 1;
}

/* The address of a function in a library that is loaded now. */
static uint64_t act_dlopen(void)
{
	void *library = dlopen(COPY, RTLD_NOW);

	return library ? (uintptr_t)dlsym(library, "_Unwind_Backtrace") : 0;
}

static uint64_t act_fork(void)
{
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	return (uint64_t)pid;
}

/* 300 mappings that cannot become one. */
static uint64_t act_map_much(void)
{
	int fd = open(LIBRARY, O_RDONLY | O_CLOEXEC);
	struct headers headers;
	uint64_t done = 0;

	if (fd < 0 || headers__read(fd, &headers))
		return 0;
	for (int i = 0; i < 300; i++)
		done += mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			     (off_t)(headers.segments[0].offset & ~(PAGE_BYTES - 1))) != MAP_FAILED;
	return done;
}

static void *stay(void *context)
{
	pause();
	return NULL;
}

/* The first thread ends, the process goes on. */
static uint64_t act_leave(void)
{
	pthread_t thread;

	if (!pthread_create(&thread, NULL, stay, NULL))
		pthread_exit(NULL);
	return 0;
}

static pid_t start_sleeper(const char *seconds)
{
	pid_t pid = fork();

	if (!pid) {
		execl("/bin/sleep", "sleep", seconds, NULL);
		_exit(126);
	}
	return pid;
}

/* The kernel says that the program's code is mapped. */
static bool has_execed(pid_t pid)
{
	char path[64], line[PATH_MAX + 128];
	struct maps_line mapping = { 0 };
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		found = !maps__parse(line, &mapping) && mapping.executable &&
			!strcmp(mapping.path, sleeper);
	}
	if (file)
		fclose(file);
	return found;
}

/* --- tests ------------------------------------------------------------------------------------ */

static int open_world(void **state)
{
	static struct world world;

	copy_library();
	world__open(&world, BUDGET);
	*state = &world;
	return 0;
}

static int close_world(void **state)
{
	world__close(*state);
	unlink(COPY);
	return 0;
}

static uint64_t start_ticks_of(pid_t pid)
{
	char path[64], text[1024] = "";
	FILE *file;
	uint64_t ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(fgets(text, sizeof(text), file));
	fclose(file);
	assert_int_equal(sscanf(strrchr(text, ')'),
				") %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
				"%*s %*s %*s %lu",
				&ticks),
			 1);
	return ticks;
}

/* Of our own program: the first one that is told about. */
static int take_address(struct dl_phdr_info *info, size_t size, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

static uint64_t load_address(void)
{
	uint64_t address = 0;

	dl_iterate_phdr(take_address, &address);
	return address;
}

static void a_watched_process_is_known_with_its_files_its_vdso_and_its_start(void **state)
{
	struct world *world = *state;
	struct child child = start(act_idle);
	struct unwind_process process = { 0 };
	struct mapper_module module;
	uint64_t address;
	uint32_t id;

	assert_false(mapper__quality(world->mapper).without_events);
	make_act(&child);
	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	assert_int_equal(process.start_ticks, start_ticks_of(child.pid));
	EVENTUALLY(world__maps(world, child.pid, "[vdso]"));
	assert_true(mapper__locate(world->mapper, (uint32_t)child.pid, (uintptr_t)act_idle, &id,
				   &address));
	assert_int_equal(mapper__module(world->mapper, id, &module), 0);
	assert_non_null(strstr(module.path, "test_mapper"));
	assert_true(module.fd >= 0);
	assert_false(mapper__locate(world->mapper, (uint32_t)child.pid, (uintptr_t)&process, &id,
				    &address));
	assert_int_equal(mapper__module(world->mapper, 0, &module), -ENOENT);
	assert_int_equal(mapper__module(world->mapper, 1U << 20, &module), -ENOENT);
	end(&child);
}

static void a_variable_is_located_whether_the_file_has_its_bytes_or_not(void **state)
{
	static int with_bytes = 7, without[4096];
	struct world *world = *state;
	struct child child = start(act_idle);
	void *pages[] = { &with_bytes, &without[4000] };
	cleanup(free_p) void *heap = malloc(1);
	uint32_t pid = (uint32_t)child.pid, id;
	struct unwind_process process;
	struct mapper_module module;
	uint64_t address;

	make_act(&child);
	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	for (size_t i = 0; i < 2; i++) {
		assert_true(mapper__locate_variable(world->mapper, pid, (uintptr_t)pages[i], &id,
						    &address));
		assert_int_equal(mapper__module(world->mapper, id, &module), 0);
		assert_non_null(strstr(module.path, "test_mapper"));
		assert_int_equal(address, (uintptr_t)pages[i] - load_address());
	}
	assert_false(mapper__locate_variable(world->mapper, pid, (uintptr_t)heap, &id, &address));
	assert_false(
		mapper__locate_variable(world->mapper, pid, (uintptr_t)&process, &id, &address));
	end(&child);
}

static void a_request_has_the_same_effect(void **state)
{
	struct world *world = *state;
	struct child child = start(act_idle);
	struct unwind_process process;

	make_act(&child);
	world__ask(world, UNWIND_NEED_PROCESS, (uint32_t)child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	assert_true(world__was_asked(world, UNWIND_NEED_PROCESS, (uint32_t)child.pid));
	end(&child);
	EVENTUALLY(!world__process(world, child.pid, &process));
	EVENTUALLY(!world__was_asked(world, UNWIND_NEED_PROCESS, (uint32_t)child.pid));
}

static void a_request_for_a_process_that_is_gone_or_of_the_kernel_is_no_error(void **state)
{
	struct world *world = *state;
	struct unwind_process process;
	pid_t pid = start_sleeper("0");

	assert_int_equal(waitpid(pid, NULL, 0), pid);
	world__ask(world, UNWIND_NEED_PROCESS, (uint32_t)pid);
	world__ask(world, UNWIND_NEED_PROCESS, 2); /* kthreadd */
	world__ask(world, UNWIND_NEED_MODULE, 1U << 20);
	EVENTUALLY(!world__was_asked(world, UNWIND_NEED_PROCESS, (uint32_t)pid));
	assert_false(world__process(world, pid, &process));
	assert_false(world__process(world, 2, &process));
}

static void exec_replaces_what_was_mapped(void **state)
{
	struct world *world = *state;
	uint32_t id;
	uint64_t address;
	pid_t pid;

	mapper__watch(world->mapper, getpid());
	EVENTUALLY(mapper__locate(world->mapper, (uint32_t)getpid(), (uintptr_t)act_idle, &id,
				  &address));
	pid = start_sleeper("100");
	EVENTUALLY(world__maps(world, pid, sleeper));
	assert_false(
		mapper__locate(world->mapper, (uint32_t)pid, (uintptr_t)act_idle, &id, &address));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_library_that_is_loaded_later_is_known_at_its_own_addresses(void **state)
{
	struct world *world = *state;
	struct child child = start(act_dlopen);
	struct unwind_process process;
	uint64_t at, address = 0;
	uint32_t id = 0;

	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	at = make_act(&child);
	assert_int_not_equal(at, 0);
	EVENTUALLY(mapper__locate(world->mapper, (uint32_t)child.pid, at, &id, &address));
	/* The library is loaded from its address 0 on, at a page. */
	assert_int_equal((at - address) % PAGE_BYTES, 0);
	assert_int_not_equal(at, address);
	end(&child);
}

static void a_deleted_file_is_opened_all_the_same(void **state)
{
	struct world *world = *state;
	struct child child = start(act_dlopen);
	struct mapper_module module;
	uint64_t at = make_act(&child), address;
	uint32_t id;

	unlink(COPY);
	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(mapper__locate(world->mapper, (uint32_t)child.pid, at, &id, &address));
	assert_int_equal(mapper__module(world->mapper, id, &module), 0);
	assert_non_null(module.build_id);
	assert_true(fcntl(module.fd, F_GETFD) >= 0);
	end(&child);
	copy_library();
}

static void the_same_build_id_and_size_is_the_same_module(void **state)
{
	struct world *world = *state;
	struct child child = start(act_dlopen), other;
	uint64_t at = make_act(&child), address;
	uint32_t id, other_id;

	unlink(COPY);
	copy_library();
	other = start(act_dlopen);
	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(mapper__locate(world->mapper, (uint32_t)child.pid, at, &id, &address));
	at = make_act(&other);
	mapper__watch(world->mapper, other.pid);
	EVENTUALLY(mapper__locate(world->mapper, (uint32_t)other.pid, at, &other_id, &address));
	assert_int_equal(id, other_id);
	end(&child);
	end(&other);
}

static void a_fork_of_a_known_process_is_known(void **state)
{
	struct world *world = *state;
	struct child child = start(act_fork);
	struct unwind_process process = { 0 }, forked = { 0 };
	pid_t pid;

	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	pid = (pid_t)make_act(&child);
	EVENTUALLY(world__process(world, pid, &forked));
	assert_int_equal(forked.count, process.count);
	assert_memory_equal(forked.mappings, process.mappings, sizeof(process.mappings));
	assert_int_equal(forked.start_ticks, start_ticks_of(pid));
	kill(pid, SIGKILL);
	EVENTUALLY(!world__process(world, pid, &forked));
	end(&child);
}

static void mappings_beyond_the_most_are_counted(void **state)
{
	struct world *world = *state;
	struct child child = start(act_map_much);
	uint64_t before = mapper__quality(world->mapper).crowded_processes;
	struct unwind_process process = { 0 };

	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	assert_int_equal(make_act(&child), 300);
	EVENTUALLY(mapper__quality(world->mapper).crowded_processes == before + 1);
	EVENTUALLY(world__process(world, child.pid, &process) && process.count == UNWIND_MAPPINGS);
	for (uint32_t i = 1; i < process.count; i++)
		assert_true(process.mappings[i - 1].page_and_module <
			    process.mappings[i].page_and_module);
	mapper__watch(world->mapper, child.pid);
	usleep(50000);
	assert_int_equal(mapper__quality(world->mapper).crowded_processes, before + 1);
	end(&child);
}

static void a_process_that_ends_is_taken_out_but_its_stacks_can_still_be_named(void **state)
{
	struct world *world = *state;
	struct child child = start(act_idle);
	struct unwind_process process;
	uint64_t address;
	uint32_t id;

	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	end(&child);
	EVENTUALLY(!world__process(world, child.pid, &process));
	assert_true(mapper__locate(world->mapper, (uint32_t)child.pid, (uintptr_t)act_idle, &id,
				   &address));
	EVENTUALLY(!mapper__locate(world->mapper, (uint32_t)child.pid, (uintptr_t)act_idle, &id,
				   &address));
}

static void a_process_whose_first_thread_has_ended_stays(void **state)
{
	struct world *world = *state;
	struct child child = start(act_leave);
	struct unwind_process process;

	mapper__watch(world->mapper, child.pid);
	EVENTUALLY(world__process(world, child.pid, &process));
	assert_int_equal(write(child.to, "x", 1), 1);
	usleep(500000);
	assert_true(world__process(world, child.pid, &process));
	end(&child);
	EVENTUALLY(!world__process(world, child.pid, &process));
}

static void rows_come_when_a_module_is_asked_for(void **state)
{
	struct world *world = *state;
	struct child child = start(act_idle);
	struct mapper_quality quality;
	uint32_t vdso = 0;

	make_act(&child);
	mapper__watch(world->mapper, child.pid);
	EVENTUALLY((vdso = world__maps(world, child.pid, "[vdso]")));
	assert_false(world__has_rows(world, vdso));
	world__ask(world, UNWIND_NEED_MODULE, vdso);
	EVENTUALLY(world__has_rows(world, vdso));
	EVENTUALLY(mapper__quality(world->mapper).table_bytes >= 8192);
	quality = mapper__quality(world->mapper);
	assert_true(quality.rows > 0);
	assert_true(quality.table_bytes_peak >= 8192);
	assert_int_equal(quality.modules_failed, 0);
	end(&child);
}

/* Loads the rows of the vDSO, then of the library, and says how large they are. */
static void measure(uint64_t *ret_vdso_bytes, uint64_t *ret_library_bytes)
{
	uint64_t at = act_dlopen(), address;
	uint32_t vdso = 0, library = 0;
	struct world world;

	world__open(&world, BUDGET);
	mapper__watch(world.mapper, getpid());
	EVENTUALLY((vdso = world__maps(&world, getpid(), "[vdso]")));
	world__ask(&world, UNWIND_NEED_MODULE, vdso);
	EVENTUALLY((*ret_vdso_bytes = mapper__quality(world.mapper).table_bytes));
	EVENTUALLY(mapper__locate(world.mapper, (uint32_t)getpid(), at, &library, &address));
	world__ask(&world, UNWIND_NEED_MODULE, library);
	EVENTUALLY(mapper__quality(world.mapper).table_bytes > *ret_vdso_bytes);
	*ret_library_bytes = mapper__quality(world.mapper).table_bytes - *ret_vdso_bytes;
	world__close(&world);
}

static void modules_give_way_to_others_and_come_back_when_asked_for_again(void **state)
{
	uint64_t vdso_bytes, library_bytes, address, at = act_dlopen();
	uint32_t vdso = 0, library = 0, id;
	struct world world;

	/* Room for each of the two, but not for both. */
	measure(&vdso_bytes, &library_bytes);
	world__open(&world, library_bytes + vdso_bytes - 1);
	mapper__watch(world.mapper, getpid());
	EVENTUALLY((vdso = world__maps(&world, getpid(), "[vdso]")));
	world__ask(&world, UNWIND_NEED_MODULE, vdso);
	EVENTUALLY(world__has_rows(&world, vdso));
	EVENTUALLY(mapper__locate(world.mapper, (uint32_t)getpid(), at, &library, &address));
	world__ask(&world, UNWIND_NEED_MODULE, library);
	EVENTUALLY(world__has_rows(&world, library));
	assert_int_equal(mapper__quality(world.mapper).evicted, 1);
	assert_false(world__has_rows(&world, vdso));
	assert_false(world__was_asked(&world, UNWIND_NEED_MODULE, vdso));
	world__ask(&world, UNWIND_NEED_MODULE, vdso);
	EVENTUALLY(world__has_rows(&world, vdso));
	assert_false(world__has_rows(&world, library));
	/* The C library's are larger than all that. */
	assert_true(mapper__locate(world.mapper, (uint32_t)getpid(), (uintptr_t)&usleep, &id,
				   &address));
	world__ask(&world, UNWIND_NEED_MODULE, id);
	EVENTUALLY(mapper__quality(world.mapper).over_budget == 1);
	/* It gets small ones instead, which say that there are no rows. */
	EVENTUALLY(world__has_rows(&world, id));
	assert_in_range(mapper__quality(world.mapper).evicted, 2, 3);
	assert_true(mapper__quality(world.mapper).table_bytes_peak < library_bytes + vdso_bytes);
	assert_true(world__was_asked(&world, UNWIND_NEED_MODULE, id));
	world__close(&world);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static bool has_ended(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid == pid;
}

/*
 * From the moment that its code is seen to be mapped to that when the kernel half knows. On a busy
 * machine the program may end before its code was seen: that counts as too late.
 */
static uint64_t time_one(struct world *world, const char *seconds, pid_t *ret)
{
	pid_t pid = start_sleeper(seconds);
	uint64_t begin_ns;

	*ret = pid;
	EVENTUALLY(has_execed(pid) || has_ended(pid));
	if (has_ended(pid))
		return SECOND_NS;
	begin_ns = clock__now_ns();
	while (!world__maps(world, pid, sleeper) && clock__now_ns() - begin_ns < SECOND_NS)
		usleep(20);
	return clock__now_ns() - begin_ns;
}

static void programs_of_50_ms_are_known_within_5_ms(void **state)
{
	struct world *world = *state;
	static uint64_t took_ns[CHILDREN];
	static pid_t pids[CHILDREN];
	/* Where time means nothing, they live longer, and are known at all. */
	int count = is_emulated() ? 50 : CHILDREN, in_time = 0;
	uint64_t limit_ns = is_emulated() ? SECOND_NS : 5000000;

	mapper__watch(world->mapper, getpid());
	EVENTUALLY(world__process(world, getpid(), &(struct unwind_process) { 0 }));
	for (int i = 0; i < count; i++) {
		took_ns[i] = time_one(world, is_emulated() ? "100" : "0.05", &pids[i]);
		in_time += took_ns[i] < limit_ns;
	}
	for (int i = 0; i < count; i++) {
		kill(pids[i], SIGKILL);
		assert_int_equal(waitpid(pids[i], NULL, 0), pids[i]);
	}
	qsort(took_ns, (size_t)count, sizeof(*took_ns), compare);
	print_message("# exec to mapping, us: median %lu, 95 %% %lu, 99 %% %lu, most %lu\n",
		      took_ns[count / 2] / 1000, took_ns[count * 95 / 100] / 1000,
		      took_ns[count * 99 / 100] / 1000, took_ns[count - 1] / 1000);
	assert_int_equal(mapper__quality(world->mapper).lost_events, 0);
	assert_true(in_time >= count * 95 / 100);
}

static int count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void what_is_known_stays_after_the_stop_and_nothing_is_left_open(void **state)
{
	int before = count_fds();
	struct mapper_module module;
	struct world world;
	uint64_t address;
	uint32_t id;

	world__open(&world, BUDGET);
	mapper__watch(world.mapper, getpid());
	EVENTUALLY(mapper__locate(world.mapper, (uint32_t)getpid(), (uintptr_t)act_idle, &id,
				  &address));
	world__ask(&world, UNWIND_NEED_MODULE, id);
	EVENTUALLY(world__has_rows(&world, id));
	mapper__stop(world.mapper);
	mapper__stop(world.mapper);
	assert_true(mapper__locate(world.mapper, (uint32_t)getpid(), (uintptr_t)act_idle, &id,
				   &address));
	assert_int_equal(mapper__module(world.mapper, id, &module), 0);
	world__close(&world);
	assert_int_equal(count_fds(), before);
}

/* The last test: the filter stays. */
static void without_the_kernels_records_it_reads_again_every_second(void **state)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	struct unwind_process process;
	struct world world;
	pid_t pid;

	assert_int_equal(
		seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(perf_event_open), 0), 0);
	assert_int_equal(seccomp_load(filter), 0);
	seccomp_release(filter);
	world__open(&world, BUDGET);
	assert_true(mapper__quality(world.mapper).without_events);
	pid = start_sleeper("100");
	mapper__watch(world.mapper, pid);
	EVENTUALLY(world__maps(&world, pid, sleeper));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	EVENTUALLY(!world__process(&world, pid, &process));
	world__close(&world);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_watched_process_is_known_with_its_files_its_vdso_and_its_start),
		TEST(a_variable_is_located_whether_the_file_has_its_bytes_or_not),
		TEST(a_request_has_the_same_effect),
		TEST(a_request_for_a_process_that_is_gone_or_of_the_kernel_is_no_error),
		TEST(exec_replaces_what_was_mapped),
		TEST(a_library_that_is_loaded_later_is_known_at_its_own_addresses),
		TEST(a_deleted_file_is_opened_all_the_same),
		TEST(the_same_build_id_and_size_is_the_same_module),
		TEST(a_fork_of_a_known_process_is_known),
		TEST(mappings_beyond_the_most_are_counted),
		TEST(a_process_that_ends_is_taken_out_but_its_stacks_can_still_be_named),
		TEST(a_process_whose_first_thread_has_ended_stays),
		TEST(rows_come_when_a_module_is_asked_for),
		TEST(modules_give_way_to_others_and_come_back_when_asked_for_again),
		TEST(programs_of_50_ms_are_known_within_5_ms),
		TEST(what_is_known_stays_after_the_stop_and_nothing_is_left_open),
		TEST(without_the_kernels_records_it_reads_again_every_second),
	};

	if (!realpath("/bin/sleep", sleeper))
		return 1;
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
