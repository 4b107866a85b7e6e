/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process may do after it gave up its privileges. Each test asks a child. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/helper.h"
#include "cli/reader.h"
#include "guard/guard.h"
#include "guard/sanitized.h"
#include "guard/split.h"

#define OK 77 /* the exit status of a child that found what it expected */

/* --- calls ------------------------------------------------------------------------------------ */

static int call_bpf_load(void)
{
	union bpf_attr attr = {};

	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

static int call_bpf_look_up(void)
{
	union bpf_attr attr = { .map_fd = 1000 };

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) && errno == EBADF ? OK
											    : 1;
}

static int call_ptrace(void)
{
	return (int)ptrace(PTRACE_ATTACH, getppid(), 0, 0);
}

static int call_execve(void)
{
	return execl("/bin/true", "true", NULL);
}

static int call_mount(void)
{
	return mount("none", "/mnt", "tmpfs", 0, NULL);
}

static int call_socket(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0 ? OK : 1;
}

static int call_packet_socket(void)
{
	return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int call_local_socket(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) < 0 && errno == EAFNOSUPPORT ? OK : 1;
}

static int call_listen(void)
{
	return listen(1000, 1) && errno == ENOSYS ? OK : 1;
}

/* What a plug-in of the C library may call, and no role has. */
static int call_unexpected(void)
{
	struct itimerval none = {};

	return setitimer(ITIMER_REAL, &none, NULL) && errno == ENOSYS ? OK : 1;
}

static int call_read_secret(void)
{
	return open("/etc/shadow", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES ? OK : 1;
}

static int call_read_hosts(void)
{
	return open("/etc/hosts", O_RDONLY | O_CLOEXEC) >= 0 ? OK : 1;
}

static int call_kill(void)
{
	return kill(getppid(), 0);
}

static int call_fork(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static int call_setuid(void)
{
	return setuid(0);
}

static int call_executable_memory(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	       MAP_FAILED;
}

static int call_open(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES ? OK : 1;
}

static int call_open_to_write(void)
{
	return open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) < 0 && errno == EACCES ? OK
											     : 1;
}

static int call_unlink(void)
{
	return unlink("/nonexistent") && errno == EACCES ? OK : 1;
}

static int call_harmless(void)
{
	char *memory = malloc(1 << 20);
	struct timespec now;
	bool ok = memory && !clock_gettime(CLOCK_MONOTONIC, &now) && getpid() > 0 &&
		  !isatty(STDIN_FILENO) && write(STDOUT_FILENO, "", 0) == 0;

	free(memory);
	return ok ? OK : 1;
}

static int call_status(void)
{
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
}

/* --- children --------------------------------------------------------------------------------- */

/* The wait status of a child that gives up its privileges and calls. */
static int status_of(enum guard_role role, const struct guard_options *options, int (*call)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		const struct rlimit no_core = {};

		setrlimit(RLIMIT_CORE, &no_core);
		_exit(guard__drop(role, options) ? 99 : call());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void assert_ok(enum guard_role role, const struct guard_options *options, int (*call)(void))
{
	int status = status_of(role, options, call);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OK);
}

static void assert_killed(enum guard_role role, const struct guard_options *options,
			  int (*call)(void))
{
	int status = status_of(role, options, call);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static const struct guard_options with_network = { .network = true };

static void every_role_is_killed_by_what_no_role_needs(void **state)
{
	static int (*const calls[])(void) = { call_bpf_load, call_execve, call_mount,
					      call_setuid,   call_status, call_packet_socket };

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		/* The run-time library of a sanitizer calls prctl(). */
		if (SANITIZED && calls[i] == call_status)
			continue;
		assert_killed(GUARD_READER, NULL, calls[i]);
		assert_killed(GUARD_PARSER, NULL, calls[i]);
		assert_killed(GUARD_WORKER, NULL, calls[i]);
		if (calls[i] != call_execve && calls[i] != call_mount && calls[i] != call_setuid)
			continue;
		assert_killed(GUARD_FETCHER, NULL, calls[i]);
		assert_killed(GUARD_WORKER, &with_network, calls[i]);
	}
}

static void with_a_network_an_unexpected_call_fails(void **state)
{
	assert_killed(GUARD_WORKER, NULL, call_unexpected);
	assert_ok(GUARD_WORKER, &with_network, call_unexpected);
	assert_ok(GUARD_FETCHER, NULL, call_unexpected);
}

static void a_reader_has_only_the_descriptors_it_was_given(void **state)
{
	static int (*const calls[])(void) = { call_ptrace, call_kill, call_fork,
					      call_executable_memory };

	assert_ok(GUARD_READER, NULL, call_harmless);
	assert_killed(GUARD_READER, NULL, call_socket);
	assert_killed(GUARD_READER, NULL, call_bpf_look_up);
	if (SANITIZED)
		return;
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		assert_killed(GUARD_READER, NULL, calls[i]);
		assert_killed(GUARD_PARSER, NULL, calls[i]);
	}
	assert_ok(GUARD_READER, NULL, call_open);
	assert_ok(GUARD_READER, NULL, call_unlink);
	assert_ok(GUARD_READER, NULL, call_open_to_write);
	assert_ok(GUARD_PARSER, NULL, call_open);
}

static void whatever_parses_has_no_network(void **state)
{
	assert_killed(GUARD_PARSER, NULL, call_socket);
	assert_killed(GUARD_PARSER, &with_network, call_socket);
	assert_killed(GUARD_READER, &with_network, call_socket);
}

static bool has_landlock(void)
{
	return syscall(SYS_landlock_create_ruleset, NULL, 0, 1) > 0;
}

static void whatever_downloads_reaches_no_local_service_and_no_secret(void **state)
{
	static const char *const readable[] = { "/nonexistent", "/etc/hosts", NULL };
	const struct guard_options options = { .readable = readable };

	assert_ok(GUARD_FETCHER, &options, call_socket);
	assert_ok(GUARD_FETCHER, &options, call_local_socket);
	assert_ok(GUARD_FETCHER, &options, call_listen);
	if (SANITIZED || !has_landlock())
		return;
	assert_ok(GUARD_FETCHER, &options, call_read_hosts);
	assert_ok(GUARD_FETCHER, &options, call_read_secret);
	assert_ok(GUARD_FETCHER, &options, call_open_to_write);
}

static void a_worker_may_use_maps_and_load_nothing(void **state)
{
	assert_ok(GUARD_WORKER, NULL, call_bpf_look_up);
	assert_killed(GUARD_WORKER, NULL, call_socket);
	assert_ok(GUARD_WORKER, &with_network, call_socket);
}

/* --- a worker with helpers -------------------------------------------------------------------- */

static int answer(void *context, const struct helper_parcel *question, struct helper_parcel *reply)
{
	close_p(&question->fd);
	/* It has fewer privileges than the worker. */
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC) < 0 || SANITIZED ? -EXFULL : 0;
}

static int confine(void *context)
{
	return guard__drop(GUARD_PARSER, NULL);
}

static int call_helper(void)
{
	const struct helper_work work = {
		.name = "test-guard", .memory_bytes = 64 << 20, .serve = answer, .confine = confine
	};
	const struct helper_patience patience = { .stall_ns = 2000000000, .cpu_ns = 2000000000 };
	struct helper_parcel question = { .fd = -1 }, reply;
	struct helper *helper;
	int err = helper__new(&work, &helper);

	if (err)
		return 1;
	err = helper__ask(helper, &question, &patience, &reply);
	helper__free(helper);
	return err == -EXFULL ? OK : 2;
}

static void a_worker_may_have_helpers_with_less_privileges(void **state)
{
	const struct guard_options options = { .children = true };

	assert_ok(GUARD_WORKER, &options, call_helper);
	assert_killed(GUARD_WORKER, &options, call_execve);
	assert_killed(GUARD_WORKER, &options, call_mount);
	if (!SANITIZED)
		assert_killed(GUARD_WORKER, NULL, call_fork);
}

static int call_read_any(void)
{
	return open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0 ? OK : 1;
}

static int call_open_old_to_write(void)
{
	return open("/tmp", O_WRONLY | O_CLOEXEC);
}

static int call_open_to_truncate(void)
{
	return open("/nonexistent", O_RDONLY | O_TRUNC | O_CLOEXEC);
}

static int call_write(void)
{
	int fd = open("/var/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0 && errno != EOPNOTSUPP)
		return 1;
	return write(fd, "x", 1) < 0 && errno == EACCES && ftruncate(fd, 1) && errno == EACCES ? OK
											       : 2;
}

static void an_opener_only_opens(void **state)
{
	assert_ok(GUARD_OPENER, NULL, call_write);
	if (!SANITIZED) {
		assert_killed(GUARD_OPENER, NULL, call_open_old_to_write);
		assert_killed(GUARD_OPENER, NULL, call_open_to_truncate);
	}
	assert_killed(GUARD_OPENER, NULL, call_socket);
	assert_killed(GUARD_OPENER, NULL, call_bpf_look_up);
	assert_killed(GUARD_OPENER, NULL, call_execve);
	assert_killed(GUARD_OPENER, NULL, call_mount);
	if (geteuid())
		skip();
	assert_ok(GUARD_OPENER, NULL, call_read_any);
}

/* --- its status in /proc ---------------------------------------------------------------------- */

static int status_fd;

static int read_status(void)
{
	static const char *const wanted[] = { "CapInh:\t0000000000000000",
					      "CapPrm:\t0000000000000000",
					      "CapEff:\t0000000000000000",
					      "CapAmb:\t0000000000000000",
					      "NoNewPrivs:\t1",
					      "Seccomp:\t2" };
	char text[8192] = "";

	/* It was opened before, for /proc/self. */
	if (pread(status_fd, text, sizeof(text) - 1, 0) <= 0)
		return 1;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		if (!strstr(text, wanted[i]))
			return (int)(2 + i);
	/* Without CAP_SETPCAP the bounding set stays. */
	return geteuid() || strstr(text, "CapBnd:\t0000000000000000") ? OK : 20;
}

static void no_capability_is_left_in_any_set(void **state)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
		_exit(guard__drop(GUARD_READER, NULL) ? 99 : read_status());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OK);
}

/* --- hostile requests ------------------------------------------------------------------------- */

static char folder[] = "/tmp/test_guard_XXXXXX";

static char *in_folder(const char *name)
{
	static char paths[8][64];
	static int next;
	char *path = paths[next++ % 8];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* As in reader.c. */
enum { STAT, OPEN, OPEN_TO_WRITE, UNLINK, OPEN_TEMPORARY, OPEN_OUTPUT, FINISH_OUTPUT, NONE };
enum { MAIN, JOURNAL, LOG, NO_TAIL };
struct request {
	uint32_t operation, index, tail;
	int32_t err;
};

static int ask(uint32_t operation, uint32_t index, uint32_t tail)
{
	const struct request request = { operation, index, tail, 0 };
	struct split_reply reply = { .fd = -1 };
	int err = split__ask(&request, sizeof(request), &reply);

	close_p(&reply.fd);
	return err;
}

static void expect(int *wrong, int line, int got, int wanted)
{
	if (got == wanted)
		return;
	dprintf(STDERR_FILENO, "# line %d: %d instead of %d\n", line, got, wanted);
	(*wrong)++;
}
#define EXPECT(got, wanted) expect(&wrong, __LINE__, got, wanted)

/* Runs in the process without privileges. */
static int ask_for_too_much(void)
{
	struct split_reply reply;
	int wrong = 0;

	EXPECT(ask(STAT, 0, MAIN), 0);
	EXPECT(ask(OPEN, 0, MAIN), 0);
	EXPECT(ask(OPEN, 0, JOURNAL), -ENOENT);
	/* There is no journal to roll back. */
	EXPECT(ask(OPEN_TO_WRITE, 0, MAIN), -EACCES);
	EXPECT(ask(UNLINK, 0, MAIN), -EACCES);
	EXPECT(ask(UNLINK, 0, LOG), -ENOENT);
	EXPECT(ask(OPEN, 1, MAIN), -EACCES);    /* a FIFO */
	EXPECT(ask(OPEN, 2, MAIN), -EACCES);    /* a device */
	EXPECT(ask(OPEN, 3, JOURNAL), -EACCES); /* a link to /etc/shadow */
	EXPECT(ask(UNLINK, 3, JOURNAL), -EACCES);
	EXPECT(ask(OPEN_TO_WRITE, 3, MAIN), -EACCES);
	EXPECT(ask(OPEN, 4, MAIN), -ENOENT); /* was not there */
	EXPECT(ask(OPEN_TO_WRITE, 5, MAIN), 0);
	EXPECT(ask(OPEN_TO_WRITE, 5, JOURNAL), 0);
	EXPECT(ask(UNLINK, 5, JOURNAL), 0);
	EXPECT(ask(OPEN_TO_WRITE, 5, MAIN), -EACCES);
	EXPECT(ask(OPEN, 6, MAIN), -EINVAL);
	EXPECT(ask(OPEN, UINT32_MAX, MAIN), -EINVAL);
	EXPECT(ask(OPEN, 0, NO_TAIL), -EINVAL);
	EXPECT(ask(NONE, 0, MAIN), -EINVAL);
	EXPECT(ask(OPEN_OUTPUT, 0, MAIN), -EACCES);
	EXPECT(ask(OPEN_TEMPORARY, 0, MAIN), 0);
	EXPECT(split__ask("x", 1, &reply), -EINVAL);
	return wrong ? 1 : OK;
}

static void make(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
}

static void the_old_process_opens_only_what_the_user_named(void **state)
{
	const char *paths[] = { in_folder("plain"),    in_folder("fifo"),    "/dev/zero",
				in_folder("attacked"), in_folder("missing"), in_folder("hot") };
	int status;
	pid_t pid;

	make(paths[0]);
	assert_int_equal(mkfifo(paths[1], 0600), 0);
	make(paths[3]);
	assert_int_equal(symlink("/etc/shadow", in_folder("attacked-journal")), 0);
	make(paths[5]);
	make(in_folder("hot-journal"));
	pid = fork();
	if (!pid) {
		reader__begin(paths, sizeof(paths) / sizeof(*paths), NULL);
		_exit(ask_for_too_much());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OK);
	assert_int_equal(access("/etc/passwd", F_OK), 0);
}

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* Runs in the process without privileges: what is in the file, and nothing else is open. */
static int read_first(int other)
{
	const struct request request = { OPEN, 0, MAIN, 0 };
	struct split_reply reply = { .fd = -1 };
	char text[8] = "";

	if (fcntl(other, F_GETFD) >= 0 || errno != EBADF)
		return 1;
	usleep(400000);
	if (split__ask(&request, sizeof(request), &reply) || read(reply.fd, text, 7) != 5)
		return 2;
	return strcmp(text, "first") ? 3 : OK;
}

static void a_path_that_leads_elsewhere_later_changes_nothing(void **state)
{
	const char *paths[] = { in_folder("sub/run") }, *sub = in_folder("sub");
	int status, other = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	assert_int_equal(mkdir(sub, 0700), 0);
	write_text(paths[0], "first");
	pid = fork();
	if (!pid) {
		reader__begin(paths, 1, NULL);
		_exit(read_first(other));
	}
	usleep(200000);
	assert_int_equal(rename(sub, in_folder("moved")), 0);
	assert_int_equal(mkdir(sub, 0700), 0);
	write_text(paths[0], "other");
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), OK);
	close(other);
}

static int set_up(void **state)
{
	return !mkdtemp(folder);
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command); // NOLINT(cert-env33-c)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_role_is_killed_by_what_no_role_needs),
		cmocka_unit_test(a_reader_has_only_the_descriptors_it_was_given),
		cmocka_unit_test(with_a_network_an_unexpected_call_fails),
		cmocka_unit_test(whatever_parses_has_no_network),
		cmocka_unit_test(whatever_downloads_reaches_no_local_service_and_no_secret),
		cmocka_unit_test(a_worker_may_use_maps_and_load_nothing),
		cmocka_unit_test(a_worker_may_have_helpers_with_less_privileges),
		cmocka_unit_test(an_opener_only_opens),
		cmocka_unit_test(no_capability_is_left_in_any_set),
		cmocka_unit_test(the_old_process_opens_only_what_the_user_named),
		cmocka_unit_test(a_path_that_leads_elsewhere_later_changes_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
