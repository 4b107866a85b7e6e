/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top as somebody sees it who types: driven in tmux, which shows what the bytes look like. */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"

#define PATIENCE_NS (20000 * MS)

static char folder[64], pane[1 << 16];
static int server; /* each test has one of its own */

/* Runs a command of our own tmux server; what it prints is in `pane`. */
__attribute__((format(printf, 1, 2))) static void tmux(const char *format, ...)
{
	char words[1024], command[1200];
	va_list args;
	size_t got;
	FILE *out;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	snprintf(command, sizeof(command), "tmux -L gapless-%d-%d -f /dev/null %s", getpid(),
		 server, words);
	out = popen(command, "r");
	assert_non_null(out);
	got = fread(pane, 1, sizeof(pane) - 1, out);
	pane[got] = '\0';
	assert_int_equal(pclose(out), 0);
}

static void await_pane(const char *text, bool there)
{
	int64_t end_ns = now_ns() + PATIENCE_NS;

	for (;;) {
		tmux("capture-pane -p -t top");
		if (!strstr(pane, text) == !there)
			return;
		if (now_ns() > end_ns)
			fail_msg("%s '%s' on the screen:\n%s", there ? "no" : "still", text, pane);
		usleep(100000);
	}
}

/* A shell that tells how the terminal was before and after, and how top ended. */
static void start_in_tmux(pid_t pid, const char *interval)
{
	char *program;

	snprintf(folder, sizeof(folder), "/tmp/gapless-top-XXXXXX");
	assert_non_null(mkdtemp(folder));
	program = realpath(live__program(), NULL);
	assert_non_null(program);
	tmux("new-session -d -s top -x 80 -y 24 \"cd %s && stty -a >before; %s top -p %d -i %s; "
	     "echo ended \\$?; stty -a >after; sleep 100\"",
	     folder, program, pid, interval);
	free(program);
	tmux("set -g window-size manual");
}

static void assert_restored_in_tmux(void)
{
	char command[256];

	await_pane("ended 0", true);
	/* What was there before top is there again, and nothing of top is. */
	assert_null(strstr(pane, "gapless top  "));
	tmux("display -p -t top '#{alternate_on} #{cursor_flag}'");
	assert_string_equal(pane, "0 1\n");
	snprintf(command, sizeof(command), "cd %s && test -s after && cmp before after", folder);
	for (int i = 0; i < 50 && system(command); i++)
		usleep(100000);
	assert_int_equal(system(command), 0);
}

static void end_tmux(void)
{
	char command[128];

	tmux("kill-server");
	snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0);
}

static void need_tmux(void)
{
	if (!system("command -v tmux >/dev/null"))
		return;
	if (!is_emulated())
		fail_msg("there is no tmux [see packaging/build-deps.txt]");
	print_message("# skip: there is no tmux in the VM\n");
	skip();
}

static pid_t pid_of_top(void)
{
	char path[64];
	int pid = 0;
	FILE *file;

	tmux("display -p -t top '#{pane_pid}'");
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", atoi(pane), atoi(pane));
	file = fopen(path, "r");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%d", &pid), 1);
	fclose(file);
	return pid;
}

/* By name, another thread is the first one. Nobody has chosen a row so far. */
static void the_cursor_stays_in_its_place_until_it_is_moved(void)
{
	tmux("send-keys -t top S");
	await_pane(">BUSY", false);
	tmux("send-keys -t top Enter");
	await_pane("?[7mbad  1 thread", true);
	tmux("send-keys -t top Escape");
	await_pane("svc-waits", true);
	/* Now one is chosen. */
	tmux("send-keys -t top s");
	await_pane(">BUSY", true);
	tmux("send-keys -t top Enter");
	await_pane("?[7mbad  1 thread", true);
	tmux("send-keys -t top Escape");
	await_pane("svc-waits", true);
	tmux("send-keys -t top Home");
}

static void list_is_sorted_filtered_and_paused(void)
{
	await_pane("service", true);
	await_pane(">BUSY", true);
	tmux("send-keys -t top s");
	await_pane(">RUN", true);
	tmux("send-keys -t top S");
	await_pane(">BUSY", true);
	tmux("send-keys -t top t");
	await_pane("svc-runs", true);
	await_pane("svc-waits", true);
	/* The escape in its name is shown, not obeyed. */
	await_pane("?[7mbad", true);
	the_cursor_stays_in_its_place_until_it_is_moved();
	tmux("send-keys -t top / svc-ru Enter");
	await_pane("svc-waits", false);
	assert_non_null(strstr(pane, "svc-runs"));
	tmux("send-keys -t top / nobody Enter");
	await_pane("no name or number fits the filter", true);
	tmux("send-keys -t top Escape");
	await_pane("svc-waits", true);
	tmux("send-keys -t top p");
	await_pane("PAUSED", true);
	/* States of now are no states of then. */
	tmux("send-keys -t top t");
	await_pane("other rows need new numbers", true);
	assert_non_null(strstr(pane, "svc-waits"));
	tmux("send-keys -t top p");
	await_pane("PAUSED", false);
	tmux("send-keys -t top +");
	await_pane("every 1.0 s", true);
	tmux("send-keys -t top - t");
	await_pane("every 500 ms", true);
}

static void drill_names_causes_calls_culprits_and_functions(pid_t pid)
{
	char title[64];

	snprintf(title, sizeof(title), "process %d service", pid);
	tmux("send-keys -t top Enter");
	await_pane(title, true);
	await_pane("run.user", true);
	/* Nothing, or how much. */
	await_pane(" lost", true);
	await_pane("getppid", true);
	await_pane("lock, held by svc-holds", true);
	await_pane("spin_here", true);
}

/* In the drill of a thread, its waits only, with the holder of its lock all the same. */
static void drill_of_a_thread_shows_that_one(void)
{
	tmux("send-keys -t top Escape");
	await_pane(">BUSY", true);
	tmux("send-keys -t top t / svc-waits Enter");
	await_pane("svc-holds", false);
	tmux("send-keys -t top Enter");
	await_pane("svc-waits  1 thread", true);
	await_pane("lock, held by svc-holds", true);
	await_pane("futex", true);
	assert_null(strstr(pane, "spin_here"));
	assert_null(strstr(pane, "getppid"));
	tmux("send-keys -t top Escape");
	await_pane(">BUSY", true);
	tmux("send-keys -t top Escape");
	await_pane("svc-runs", true);
	tmux("send-keys -t top t");
	await_pane("svc-runs", false);
}

static void assert_fits(int rows)
{
	/* A pane's capture has all rows; the last one has the keys. */
	int64_t end_ns = now_ns() + PATIENCE_NS;
	int lines;

	do {
		const char *at = pane;

		tmux("capture-pane -p -t top");
		for (lines = 0; (at = strchr(at, '\n')); at++)
			lines++;
		usleep(100000);
	} while ((lines != rows || !strstr(pane, "esc back")) && now_ns() < end_ns);
	assert_int_equal(lines, rows);
	assert_non_null(strstr(pane, "esc back"));
}

static void sizes_are_followed(void)
{
	static const int sizes[][2] = {
		{ 120, 40 }, { 40, 10 }, { 20, 4 }, { 300, 60 }, { 80, 24 }
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		tmux("resize-window -t top -x %d -y %d", sizes[i][0], sizes[i][1]);
		assert_fits(sizes[i][1]);
	}
}

static void what_is_saved_is_a_recording(void)
{
	char path[128];
	struct output output;

	tmux("send-keys -t top w");
	await_pane("are in 'top.gapless'", true);
	snprintf(path, sizeof(path), "%s/top.gapless", folder);
	output = live__gapless("report", "--full", path);
	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.out, "spin_here"));
	assert_non_null(strstr(output.out, "remainder    0"));
	live__release(&output);
	assert_int_equal(trial__query(path, "SELECT value FROM meta WHERE key = 'complete'"), 1);
	assert_true(trial__query(path, "SELECT count(*) FROM wait") > 0);
}

static void tmux_sorts_drills_resizes_saves_and_quits(void **state)
{
	struct workload workload;

	need_tmux();
	workload = workload__start(WORKLOAD("service"));
	workload__await_ready(&workload);
	start_in_tmux(workload.pid, "500ms");
	list_is_sorted_filtered_and_paused();
	drill_names_causes_calls_culprits_and_functions(workload.pid);
	sizes_are_followed();
	what_is_saved_is_a_recording();
	tmux("send-keys -t top h");
	await_pane("any key: back", true);
	tmux("send-keys -t top x");
	await_pane("esc back", true);
	drill_of_a_thread_shows_that_one();
	tmux("send-keys -t top q");
	assert_restored_in_tmux();
	end_tmux();
	workload__kill(&workload);
}

static void services_come_and_go_with_a_key(void **state)
{
	struct workload workload;

	need_tmux();
	workload = workload__start(WORKLOAD("service"));
	workload__await_ready(&workload);
	start_in_tmux(workload.pid, "500ms");
	await_pane(">BUSY", true);
	tmux("send-keys -t top r");
	await_pane("requests and calls of process", true);
	await_pane("its hooks", true);
	await_pane("no request ended", true);
	tmux("send-keys -t top Escape");
	await_pane(">BUSY", true);
	/* The second time, and its end with top. */
	tmux("send-keys -t top r");
	await_pane("0 requests in", true);
	tmux("send-keys -t top q");
	assert_restored_in_tmux();
	end_tmux();
	workload__kill(&workload);
}

static void tmux_has_its_screen_back_after_a_kill_within_a_drill(void **state)
{
	struct workload workload;

	need_tmux();
	workload = workload__start(WORKLOAD("service"));
	workload__await_ready(&workload);
	start_in_tmux(workload.pid, "500ms");
	await_pane("service", true);
	tmux("send-keys -t top Enter");
	await_pane("esc back", true);
	kill(pid_of_top(), SIGTERM);
	assert_restored_in_tmux();
	end_tmux();
	workload__kill(&workload);
}

static void ctrl_z_lends_the_terminal_back(void **state)
{
	char *program = realpath(live__program(), NULL);

	need_tmux();
	assert_non_null(program);
	tmux("new-session -d -s top -x 80 -y 24 \"set -m; %s top -p %d -i 500ms; echo stopped; read x; "
	     "fg; echo over; sleep 100\"",
	     program, getpid());
	free(program);
	await_pane("test_top", true);
	tmux("send-keys -t top C-z");
	await_pane("stopped", true);
	tmux("display -p -t top '#{alternate_on} #{cursor_flag}'");
	assert_string_equal(pane, "0 1\n");
	tmux("send-keys -t top Enter");
	await_pane("every 500 ms", true);
	tmux("send-keys -t top q");
	await_pane("over", true);
	tmux("display -p -t top '#{alternate_on} #{cursor_flag}'");
	assert_string_equal(pane, "0 1\n");
	tmux("kill-server");
}

/* The picture is of a time when there was no service. */
static void other_rows_are_of_now_and_not_of_the_picture(void **state)
{
	int64_t end_ns = now_ns() + PATIENCE_NS;
	struct workload workload;

	need_tmux();
	start_in_tmux(getpid(), "1m");
	await_pane("test_top_tmux", true);
	workload = workload__start(WORKLOAD("service"));
	workload__await_ready(&workload);
	/* Not all at once: a snapshot takes a second. */
	do {
		tmux("send-keys -t top t");
		usleep(500000);
		tmux("capture-pane -p -t top");
	} while (!strstr(pane, "svc-runs") && now_ns() < end_ns);
	assert_non_null(strstr(pane, "svc-runs"));
	assert_non_null(strstr(pane, "every 60.0 s"));
	tmux("send-keys -t top q");
	assert_restored_in_tmux();
	end_tmux();
	workload__kill(&workload);
}

/* A closer look at somebody who goes away is no error. */
static void a_process_that_ends_is_said_to_have_ended(void **state)
{
	struct workload workload;

	need_tmux();
	workload = workload__start(WORKLOAD("service"));
	workload__await_ready(&workload);
	start_in_tmux(workload.pid, "500ms");
	await_pane("service", true);
	tmux("send-keys -t top Enter");
	await_pane("run.user", true);
	workload__kill(&workload);
	await_pane("ENDED", true);
	tmux("send-keys -t top Escape");
	await_pane("no thread of process", true);
	tmux("send-keys -t top q");
	assert_restored_in_tmux();
	end_tmux();
}

/* Whatever a test that failed left behind. The server may take a while to end. */
static int tear_down(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "tmux -L gapless-%d-%d kill-server 2>/dev/null",
		 getpid(), server++);
	return system(command) < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(tmux_sorts_drills_resizes_saves_and_quits, tear_down),
		cmocka_unit_test_teardown(services_come_and_go_with_a_key, tear_down),
		cmocka_unit_test_teardown(tmux_has_its_screen_back_after_a_kill_within_a_drill,
					  tear_down),
		cmocka_unit_test_teardown(ctrl_z_lends_the_terminal_back, tear_down),
		cmocka_unit_test_teardown(other_rows_are_of_now_and_not_of_the_picture, tear_down),
		cmocka_unit_test_teardown(a_process_that_ends_is_said_to_have_ended, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
