/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What root must not do for others: hand on rights, write where they want, wait for them. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cap-ng.h>

#include "base/cleanup.h"
#include "ledger.h"

#define SOMEBODY 12345
#define MOST_NS  (5000 * MS) /* from an interrupt to the end */

static char folder[] = "/tmp/test_privilege_XXXXXX";

static char *in_folder(const char *name)
{
	static char paths[4][64];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* --- rights ----------------------------------------------------------------------------------- */

static void raise_ambient(void)
{
	capng_get_caps_process();
	capng_update(CAPNG_ADD, CAPNG_INHERITABLE, CAP_NET_ADMIN);
	if (capng_apply(CAPNG_SELECT_CAPS) ||
	    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_NET_ADMIN, 0, 0))
		_exit(99);
}

static void the_command_inherits_no_capabilities(void **state)
{
	const char *path = in_folder("caps.gapless");
	struct output output =
		live__run(raise_ambient, ARGS("record", "--level", "sched", "--no-report", "-o",
					      path, "--", "grep", "Cap[AI]", "/proc/self/status"));

	assert_int_equal(output.status, 0);
	assert_string_equal(output.out, "CapInh:\t0000000000000000\nCapAmb:\t0000000000000000\n");
	live__release(&output);
	unlink(path);
}

/* --- files ------------------------------------------------------------------------------------ */

static void under_sudo(void)
{
	setenv("SUDO_UID", "12345", 1);
	setenv("SUDO_GID", "12346", 1);
}

static void assert_owned(const char *path)
{
	struct stat info;

	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_uid, 12345);
	assert_int_equal(info.st_gid, 12346);
	assert_int_equal(info.st_mode & 0777, 0600);
}

static void run_ok(live_prepare_fn prepare, const char *const *args)
{
	struct output output = live__run(prepare, args);

	if (output.status)
		print_error("%s\n", output.err);
	assert_int_equal(output.status, 0);
	live__release(&output);
}

static void files_under_sudo_are_the_callers(void **state)
{
	const char *path = in_folder("sudo.gapless"), *page = in_folder("sudo.svg");

	run_ok(under_sudo,
	       ARGS("record", "--no-report", "-d", "300ms", "-o", path, "--", "sleep", "1"));
	assert_owned(path);
	run_ok(under_sudo, ARGS("export", "-f", "folded", "-o", page, path));
	assert_owned(page);
	/* They are in a folder for all, and can be written again. */
	run_ok(under_sudo, ARGS("export", "-f", "folded", "-o", page, path));
	assert_owned(page);
	unlink(page);
	run_ok(under_sudo, ARGS("record", "--no-report", "--force", "-d", "300ms", "-o", path, "--",
				"sleep", "1"));
	assert_owned(path);

	/* In a folder for all, nothing is written to what somebody else has put there. */
	for (int i = 0; i < 2; i++) {
		const char *there = in_folder("trap");
		struct output output;

		if (i)
			assert_int_equal(mkfifo(there, 0666), 0);
		else
			close(open(there, O_CREAT | O_WRONLY | O_CLOEXEC, 0666));
		assert_int_equal(chown(there, SOMEBODY, SOMEBODY), 0);
		output = live__gapless("export", "-f", "folded", "-o", there, path);
		assert_int_equal(output.status, 1);
		assert_non_null(strstr(output.err, "belongs to somebody else"));
		live__release(&output);
		output = live__gapless("record", "--no-report", "--force", "-o", there, "--",
				       "true");
		assert_int_equal(output.status, 1);
		live__release(&output);
		assert_int_equal(unlink(there), 0);
	}
	unlink(path);
}

static void limit_files(void)
{
	const struct rlimit limit = { 300 << 10, 300 << 10 };

	setrlimit(RLIMIT_FSIZE, &limit);
}

static void at_the_limit_of_a_files_size_it_is_readable(void **state)
{
	const char *path = in_folder("limit.gapless");
	struct output output =
		live__run(limit_files, ARGS("record", "--no-report", "-d", "10s", "-o", path, "--",
					    "sh", "-c", "while :; do ls / >/dev/null; done"));
	json_t *report;

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "no space left; it holds what was measured"));
	live__release(&output);
	output = live__gapless("report", "--json", path);
	assert_int_equal(output.status, 0);
	report = live__json(&output);
	assert_true(json_integer_value(json_object_get(report, "threads_ns")) > 0);
	json_decref(report);
	live__release(&output);
	unlink(path);
}

/* --- a file system that stops to answer ------------------------------------------------------- */

struct fuse_server {
	int fd;
	char *bytes; /* of its one file, "p" */
	size_t size;
	_Atomic bool stalled;
	_Atomic int unanswered;
	pthread_t thread;
};

static void reply(const struct fuse_server *server, uint64_t unique, int err, const void *bytes,
		  size_t size)
{
	char out[sizeof(struct fuse_out_header) + (128 << 10)];
	const struct fuse_out_header head = { .len = (uint32_t)(sizeof(head) + size),
					      .error = -err,
					      .unique = unique };

	memcpy(out, &head, sizeof(head));
	if (size)
		memcpy(out + sizeof(head), bytes, size);
	(void)!write(server->fd, out, sizeof(head) + size);
}

static struct fuse_attr attributes(const struct fuse_server *server, uint64_t node)
{
	return node == 1 ? (struct fuse_attr) { .ino = 1, .mode = S_IFDIR | 0755, .nlink = 2 }
			 : (struct fuse_attr) { .ino = node,
						.size = server->size,
						.mode = S_IFREG | 0755,
						.nlink = 1 };
}

static void answer(struct fuse_server *server, const struct fuse_in_header *in)
{
	const struct fuse_init_out init = { .major = 7, .minor = 31, .max_write = 4096 };
	const struct fuse_entry_out entry = {
		.nodeid = 2, .entry_valid = 1000, .attr_valid = 1000, .attr = attributes(server, 2)
	};
	const struct fuse_attr_out attr = { .attr_valid = 1000,
					    .attr = attributes(server, in->nodeid) };
	const struct fuse_open_out opened = {};
	const struct fuse_read_in *read_in = (const void *)(in + 1);

	if (in->opcode == FUSE_INIT)
		reply(server, in->unique, 0, &init, sizeof(init));
	else if (in->opcode == FUSE_LOOKUP)
		reply(server, in->unique, 0, &entry, sizeof(entry));
	else if (in->opcode == FUSE_GETATTR)
		reply(server, in->unique, 0, &attr, sizeof(attr));
	else if (in->opcode == FUSE_OPEN || in->opcode == FUSE_OPENDIR)
		reply(server, in->unique, 0, &opened, sizeof(opened));
	else if (in->opcode == FUSE_READ)
		reply(server, in->unique, 0, server->bytes + read_in->offset,
		      read_in->offset >= server->size ? 0
		      : server->size - read_in->offset < (size_t)read_in->size
			      ? server->size - read_in->offset
			      : read_in->size);
	else if (in->opcode == FUSE_FLUSH || in->opcode == FUSE_RELEASE)
		reply(server, in->unique, 0, NULL, 0);
	else if (in->opcode != FUSE_FORGET && in->opcode != FUSE_INTERRUPT)
		reply(server, in->unique, ENOSYS, NULL, 0);
}

static void *run_server(void *context)
{
	struct fuse_server *server = context;
	static char request[(1 << 20) + 4096];

	for (;;) {
		ssize_t got = read(server->fd, request, sizeof(request));
		const struct fuse_in_header *in = (const void *)request;

		if (got < 0 && (errno == EINTR || errno == ENOENT || errno == EAGAIN))
			continue;
		if (got < (ssize_t)sizeof(*in))
			return NULL;
		if (server->stalled && (in->opcode == FUSE_READ || in->opcode == FUSE_OPEN))
			server->unanswered++;
		else
			answer(server, in);
	}
}

static void start_server(struct fuse_server *server, const char *place)
{
	FILE *shell = fopen("/bin/sh", "re");
	char options[128];

	server->bytes = malloc(4 << 20);
	if (!shell || !server->bytes) {
		fail();
		return;
	}
	server->size = fread(server->bytes, 1, 4 << 20, shell);
	fclose(shell);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0", server->fd);
	assert_int_equal(mkdir(place, 0755), 0);
	assert_int_equal(mount("test", place, "fuse", MS_NOSUID, options), 0);
	assert_int_equal(pthread_create(&server->thread, NULL, run_server, server), 0);
}

static void stop_server(struct fuse_server *server, const char *place)
{
	umount2(place, MNT_FORCE);
	umount2(place, MNT_DETACH);
	pthread_join(server->thread, NULL);
	close(server->fd);
	rmdir(place);
	free(server->bytes);
}

static pid_t start_program(const char *path)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(path, "spinner", "-c", "while :; do :; done", NULL);
		_exit(127);
	}
	return pid;
}

/* Records a process and interrupts that. The time that it took to end. */
static int64_t time_interrupt(pid_t pid, struct trial *ret)
{
	int64_t began;
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	*ret = trial__start(ARGS("-p", text));
	usleep(500000);
	began = now_ns();
	assert_int_equal(trial__stop(ret, SIGINT), 0);
	return now_ns() - began;
}

static void a_stalled_file_system_does_not_keep_it_from_ending(void **state)
{
	struct fuse_server server = { .fd = open("/dev/fuse", O_RDWR | O_CLOEXEC) };
	const char *place = in_folder("stalling");
	struct trial trial;
	char path[80];
	pid_t pid;

	if (server.fd < 0) {
		print_message("# skip: no /dev/fuse\n");
		skip();
	}
	start_server(&server, place);
	snprintf(path, sizeof(path), "%s/p", place);
	pid = start_program(path);
	usleep(300000);
	server.stalled = true;
	assert_true(time_interrupt(pid, &trial) < MOST_NS);
	assert_true(server.unanswered > 0);
	kill(pid, SIGKILL);
	stop_server(&server, place);
	waitpid(pid, NULL, 0);
	trial__remove(trial.path);
}

/* --- a server that never comes to an end ------------------------------------------------------ */

static void drip(int listener)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
	int client;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	client = accept(listener, NULL, NULL);

	(void)!write(client, head, sizeof(head) - 1);
	while (write(client, "drip", 4) == 4)
		usleep(10000);
	_exit(0);
}

static void a_download_without_end_does_not_either(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pid_t server, pid = start_program("/bin/sh");
	struct trial trial;
	char url[64];

	if (listener < 0) {
		fail();
		return;
	}
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	server = fork();
	if (!server)
		drip(listener);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1);
	assert_true(time_interrupt(pid, &trial) < MOST_NS);
	unsetenv("DEBUGINFOD_URLS");
	kill(server, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(server, NULL, 0);
	waitpid(pid, NULL, 0);
	close(listener);
	trial__remove(trial.path);
}

static int set_up(void **state)
{
	return !mkdtemp(folder) || chmod(folder, 01777);
}

static int tear_down(void **state)
{
	char command[80];

	/* A test that failed may have left it. */
	umount2(in_folder("stalling"), MNT_DETACH);
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command); // NOLINT(cert-env33-c)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(the_command_inherits_no_capabilities),
		HERE(files_under_sudo_are_the_callers),
		HERE(at_the_limit_of_a_files_size_it_is_readable),
		HERE(a_stalled_file_system_does_not_keep_it_from_ending),
		HERE(a_download_without_end_does_not_either),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
