/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whatever parses untrusted bytes has no privileges while it does (law 11). */
#include "../harness.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "ledger.h"

#define MOST_WAIT_NS (10000 * MS)
#define SOMEBODY     12345

static char folder[] = "/tmp/test_guard_XXXXXX";
static char recording[64];

static char *in_folder(const char *name)
{
	static char paths[4][64];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* --- processes -------------------------------------------------------------------------------- */

/* A line of /proc/PID/status without its name; "" if it is not there. */
static const char *status_of(pid_t pid, const char *key)
{
	static char line[256];
	cleanup(fclose_p) FILE *file = NULL;
	size_t length = strlen(key);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, length) || line[length] != ':')
			continue;
		line[strcspn(line, "\n")] = '\0';
		return line + length + 2;
	}
	return "";
}

/* A child of this name (NULL: any) that has a filter already. 0: none. */
static pid_t find_child_of(pid_t parent, const char *thread, const char *name)
{
	cleanup(fclose_p) FILE *file = NULL;
	char path[320];
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", parent, thread);
	file = fopen(path, "re");
	while (file && fscanf(file, "%d", &pid) == 1)
		if ((!name || !strcmp(status_of(pid, "Name"), name)) &&
		    !strcmp(status_of(pid, "Seccomp"), "2"))
			return pid;
	return 0;
}

static pid_t find_child(pid_t parent, const char *name)
{
	cleanup(closedir_p) DIR *threads = NULL;
	struct dirent *thread;
	char path[64];
	pid_t pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", parent);
	threads = opendir(path);
	while (threads && !pid && (thread = readdir(threads)))
		pid = find_child_of(parent, thread->d_name, name);
	return pid;
}

/* Fails the test if there is none in time. */
static pid_t await_child(pid_t parent, const char *name)
{
	int64_t until_ns = now_ns() + MOST_WAIT_NS;
	pid_t pid;

	while (!(pid = find_child(parent, name))) {
		if (now_ns() > until_ns)
			fail_msg("no confined process '%s'", name ? name : "");
		usleep(5000);
	}
	return pid;
}

static void assert_confined(pid_t pid)
{
	static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb" };

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++)
		assert_string_equal(status_of(pid, sets[i]), "0000000000000000");
	assert_string_equal(status_of(pid, "NoNewPrivs"), "1");
	assert_string_equal(status_of(pid, "Seccomp"), "2");
}

/* --- commands that read recordings ------------------------------------------------------------ */

static pid_t start(const char *const *args)
{
	const char *argv[16] = { live__program() };
	pid_t pid;

	for (size_t i = 0; args[i] && i < 14; i++)
		argv[i + 1] = args[i];
	pid = fork();
	if (!pid) {
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

		if (nowhere < 0)
			_exit(126);
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
		setenv("GAPLESS_TEST_PAUSE_MS", "700", 1);
		execv(argv[0], (char *const *)argv);
		_exit(126);
	}
	return pid;
}

static void commands_that_read_recordings_have_no_privileges(void **state)
{
	const char *const *const commands[] = {
		ARGS("report", recording),
		ARGS("export", "-f", "svg", "-o", in_folder("x.svg"), recording),
		ARGS("diff", recording, recording),
		ARGS("query", recording, "SELECT count(*) FROM thread"),
	};

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		pid_t pid = start(commands[i]);
		int status;

		assert_confined(await_child(pid, NULL));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	assert_int_equal(unlink(in_folder("x.svg")), 0);
}

static void forbid(void)
{
	setenv("GAPLESS_TEST_FORBIDDEN", "1", 1);
}

static void a_forbidden_call_ends_them_and_leaves_no_file(void **state)
{
	const char *page = in_folder("y.svg");
	struct output output =
		live__run(forbid, ARGS("export", "-f", "svg", "-o", page, recording));

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "died of Bad system call"));
	assert_int_equal(access(page, F_OK), -1);
	live__release(&output);
}

static void an_earlier_recording_is_read_without_privileges_too(void **state)
{
	struct output output = live__run(forbid, ARGS("record", "--no-report", "--like", recording,
						      "-o", in_folder("z"), "--", "true"));

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "died of Bad system call"));
	live__release(&output);
	output = live__run(forbid, ARGS("record", "-o", in_folder("z"), "--", "true"));
	assert_non_null(strstr(output.err, "died of Bad system call"));
	live__release(&output);
	unlink(in_folder("z"));
}

/* Root without capabilities could neither read these nor write there. */
static void root_reads_and_writes_for_other_users_all_the_same(void **state)
{
	const char *home = in_folder("home");
	char path[96], page[96], command[256];
	struct output output;
	struct stat info;

	snprintf(path, sizeof(path), "%s/x.gapless", home);
	snprintf(page, sizeof(page), "%s/x.svg", home);
	snprintf(command, sizeof(command), "mkdir -m 700 %s && cp %s %s && chown -R %d %s", home,
		 recording, path, SOMEBODY, home);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
	output = live__gapless("report", path);
	assert_int_equal(output.status, 0);
	live__release(&output);
	output = live__gapless("export", "-f", "svg", "-o", page, path);
	assert_int_equal(output.status, 0);
	live__release(&output);
	assert_int_equal(stat(page, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
}

/* --- processes that parse files for a recording ----------------------------------------------- */

static pid_t start_spinner(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", "while :; do :; done", NULL);
		_exit(127);
	}
	return pid;
}

static struct trial start_trial(pid_t target)
{
	struct trial trial;
	char text[16];

	snprintf(text, sizeof(text), "%d", target);
	setenv("GAPLESS_TEST_NAMING_MS", "150", 1);
	/* -F: with stacks also in an emulated machine. */
	trial = trial__start(ARGS("-F", "99", "-p", text));
	unsetenv("GAPLESS_TEST_NAMING_MS");
	return trial;
}

static void end_spinner(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void whatever_parses_files_has_no_privileges(void **state)
{
	pid_t spinner = start_spinner();
	struct trial trial = start_trial(spinner);
	int status;

	assert_confined(await_child(trial.pid, "gapless-heads"));
	assert_confined(await_child(trial.pid, "gapless-rows"));
	/* Until there is a stack to name. */
	usleep(300000);
	kill(trial.pid, SIGINT);
	assert_confined(await_child(trial.pid, "gapless-names"));
	assert_int_equal(waitpid(trial.pid, &status, 0), trial.pid);
	assert_int_equal(status, 0);
	end_spinner(spinner);
	fclose(trial.err);
	assert_true(trial__query(trial.path, "SELECT count(*) FROM function") > 0);
	trial__remove(trial.path);
}

/* Sends the signal to each one that is found, until the recorder has ended. */
static int kill_each(pid_t recorder, const char *name, int signal, int *ret_killed)
{
	int status;

	while (!waitpid(recorder, &status, WNOHANG)) {
		pid_t pid = find_child(recorder, name);

		*ret_killed += pid && !kill(pid, signal);
		usleep(5000);
	}
	return status;
}

static void assert_costs_only_names(int signal)
{
	pid_t spinner = start_spinner();
	struct trial trial = start_trial(spinner);
	int killed = 0;
	json_t *report;

	usleep(300000);
	kill(trial.pid, SIGINT);
	assert_int_equal(kill_each(trial.pid, "gapless-names", signal, &killed), 0);
	end_spinner(spinner);
	fclose(trial.err);
	assert_true(killed > 0);
	report = trial__report(trial.path);
	assert_closes(report);
	assert_true(sum_ns(report, NULL, "run", NULL) > 0);
	assert_true(quality(report, "symbols_refused") + quality(report, "symbols_without_debug") >
		    0);
	json_decref(report);
	trial__remove(trial.path);
}

static void killing_the_namer_costs_names_that_are_counted_and_nothing_else(void **state)
{
	assert_costs_only_names(SIGKILL);
}

static void stopping_the_namer_does_not_stop_the_recorder(void **state)
{
	assert_costs_only_names(SIGSTOP);
}

/* --- downloads -------------------------------------------------------------------------------- */

/* Serves one file, whatever is asked for. */
static void serve_file(int listener, const char *path)
{
	static const char head[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				   "Content-Type: application/octet-stream\r\n\r\n";
	char bytes[65536];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int client = accept(listener, NULL, NULL);
		int file = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t size = read(client, bytes, sizeof(bytes));

		/* As slowly as a test needs to find the process that downloads. */
		usleep(150000);
		(void)!write(client, head, sizeof(head) - 1);
		while (size > 0 && (size = read(file, bytes, sizeof(bytes))) > 0)
			(void)!write(client, bytes, (size_t)size);
		close(file);
		close(client);
	}
}

/* The server's pid; DEBUGINFOD_URLS names it. */
static pid_t start_server(const char *path)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	char url[64];
	pid_t pid;

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 16), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	pid = fork();
	if (!pid)
		serve_file(listener, path);
	close(listener);
	/* By its name, so that the process must read the files for that. */
	snprintf(url, sizeof(url), "http://localhost:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_folder("cache"), 1);
	return pid;
}

static void downloads_are_in_a_process_that_parses_nothing(void **state)
{
	const char *program = in_folder("program"), *debug = in_folder("program.debug");
	struct trial trial;
	pid_t spinner, server;
	char command[512];
	int status;

	snprintf(command, sizeof(command),
		 "cp %s/spinners %s && objcopy --only-keep-debug %s %s && strip %s",
		 getenv("GAPLESS_WORKLOADS"), program, program, debug, program);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c)
	spinner = fork();
	if (!spinner) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl(program, program, "60", "1", NULL);
		_exit(127);
	}
	server = start_server(debug);
	trial = start_trial(spinner);
	usleep(500000);
	kill(trial.pid, SIGINT);
	assert_confined(await_child(trial.pid, "gapless-names"));
	assert_confined(await_child(trial.pid, "gapless-fetch"));
	assert_int_equal(waitpid(trial.pid, &status, 0), trial.pid);
	assert_int_equal(status, 0);
	unsetenv("DEBUGINFOD_URLS");
	end_spinner(spinner);
	end_spinner(server);
	fclose(trial.err);
	assert_true(trial__query(trial.path,
				 "SELECT count(*) FROM function WHERE file LIKE '%spinners.c' OR "
				 "file LIKE '%workload.h'") > 0);
	trial__remove(trial.path);
}

static int set_up(void **state)
{
	struct output output;

	if (!mkdtemp(folder))
		return 1;
	snprintf(recording, sizeof(recording), "%s/run.gapless", folder);
	output = live__gapless("record", "--no-report", "-o", recording, "--", "sh", "-c",
			       "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done");
	live__release(&output);
	return output.status;
}

static int tear_down(void **state)
{
	char command[80];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command); // NOLINT(cert-env33-c)
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_that_read_recordings_have_no_privileges),
		HERE(a_forbidden_call_ends_them_and_leaves_no_file),
		HERE(an_earlier_recording_is_read_without_privileges_too),
		HERE(root_reads_and_writes_for_other_users_all_the_same),
		cmocka_unit_test(whatever_parses_files_has_no_privileges),
		HERE(downloads_are_in_a_process_that_parses_nothing),
		HERE(killing_the_namer_costs_names_that_are_counted_and_nothing_else),
		HERE(stopping_the_namer_does_not_stop_the_recorder),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
