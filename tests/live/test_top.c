/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top in a pty of the test's own, which sees every byte. Whatever ends it, the terminal is as it
 * was. test_top_tmux.c has what it looks like.
 */
#include "../harness.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "ledger.h"

#define ENTER_SCREEN "\033[?1049h"
#define LEAVE_SCREEN "\033[?1049l"
#define SHOW_CURSOR  "\033[?25h"
/* An emulated machine needs long to load the programs. */
#define PATIENCE_NS (is_emulated() ? 120000 * MS : 20000 * MS)

struct terminal {
	pid_t pid;
	int master, slave;
	struct termios before;
	char text[1 << 18]; /* what was written to it */
	size_t length;
};

static struct terminal terminal;

static void become_top(const struct terminal *to, const char *term, const char *const *args)
{
	const char *argv[16] = { live__program(), "top" };

	for (size_t i = 0; args[i]; i++)
		argv[i + 2] = args[i];
	setsid();
	ioctl(to->slave, TIOCSCTTY, 0);
	for (int i = 0; i < 3; i++)
		dup2(to->slave, i);
	setenv("TERM", term, 1);
	execv(argv[0], (char *const *)argv);
	_exit(126);
}

static void terminal__start(const char *term, const char *const *args)
{
	struct winsize size = { .ws_row = 24, .ws_col = 80 };

	terminal.length = 0;
	assert_int_equal(openpty(&terminal.master, &terminal.slave, NULL, NULL, &size), 0);
	assert_int_equal(tcgetattr(terminal.slave, &terminal.before), 0);
	fcntl(terminal.master, F_SETFD, FD_CLOEXEC);
	terminal.pid = fork();
	assert_true(terminal.pid >= 0);
	if (!terminal.pid)
		become_top(&terminal, term, args);
}

/* Takes what comes within so long; false if nothing did. */
static bool terminal__read(int timeout_ms)
{
	struct pollfd fd = { .fd = terminal.master, .events = POLLIN };
	size_t room = sizeof(terminal.text) - 1 - terminal.length;
	ssize_t got;

	if (poll(&fd, 1, timeout_ms) <= 0)
		return false;
	got = read(terminal.master, terminal.text + terminal.length, room);
	if (got <= 0)
		return false;
	terminal.length += (size_t)got;
	terminal.text[terminal.length] = '\0';
	return true;
}

static void terminal__await(const char *text)
{
	int64_t end_ns = now_ns() + PATIENCE_NS;

	while (!memmem(terminal.text, terminal.length, text, strlen(text))) {
		if (now_ns() > end_ns)
			fail_msg("no '%s' in: %.2000s", text, terminal.text);
		terminal__read(100);
	}
}

/* Only what changes is written: to find all of it, the picture is asked for again and again. */
static void terminal__await_whole(const char *text)
{
	int64_t end_ns = now_ns() + PATIENCE_NS;

	terminal.length = 0;
	while (!memmem(terminal.text, terminal.length, text, strlen(text))) {
		if (now_ns() > end_ns)
			fail_msg("no '%s' in: %.4000s", text, terminal.text);
		if (terminal.length > sizeof(terminal.text) / 2)
			terminal.length = 0;
		assert_int_equal(write(terminal.master, "\f", 1), 1);
		for (int i = 0; i < 10; i++)
			terminal__read(50);
	}
}

/* Its exit status, or 128 + a signal. Reads meanwhile: an end that waits for its reader hangs. */
static int terminal__end(void)
{
	int64_t end_ns = now_ns() + PATIENCE_NS;
	int status;

	while (waitpid(terminal.pid, &status, WNOHANG) != terminal.pid) {
		if (now_ns() > end_ns) {
			kill(terminal.pid, SIGKILL);
			waitpid(terminal.pid, &status, 0);
			fail_msg("it does not end");
		}
		terminal__read(50);
	}
	while (terminal__read(100))
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static const char *last_of(const char *text)
{
	const char *last = NULL, *at = terminal.text;

	while ((at = strstr(at, text)))
		last = at++;
	return last;
}

static void terminal__assert_restored(void)
{
	struct termios after;

	/* After a kill somebody else does it; this is the last thing. */
	terminal__await(LEAVE_SCREEN);
	assert_int_equal(tcgetattr(terminal.slave, &after), 0);
	assert_int_equal(after.c_iflag, terminal.before.c_iflag);
	assert_int_equal(after.c_oflag, terminal.before.c_oflag);
	assert_int_equal(after.c_cflag, terminal.before.c_cflag);
	assert_int_equal(after.c_lflag, terminal.before.c_lflag);
	assert_memory_equal(after.c_cc, terminal.before.c_cc, sizeof(after.c_cc));
	assert_true(last_of(LEAVE_SCREEN) > last_of(ENTER_SCREEN));
	/* xterm's cnorm is more than this, and ends with it. */
	assert_non_null(last_of(SHOW_CURSOR));
	assert_true(last_of(SHOW_CURSOR) > last_of("\033[?25l"));
	close(terminal.master);
	close(terminal.slave);
}

/* Whether a sequence ESC [ … m has a number from 30 to 49: a colour. */
static bool has_colour(void)
{
	for (const char *at = terminal.text; (at = strstr(at, "\033["));) {
		bool found = false;

		for (at += 2; *at == ';' || (*at >= '0' && *at <= '9');) {
			char *end;
			long number = *at == ';' ? 0 : strtol(at, &end, 10);

			at = *at == ';' ? at + 1 : end;
			found |= number >= 30 && number < 50 && number != 39 && number != 49;
		}
		if (found && *at == 'm')
			return true;
	}
	return false;
}

/* Something that runs has a coloured bar. */
static pid_t start_busy(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	assert_true(pid > 0);
	return pid;
}

static void q_ends_it_and_gives_the_terminal_back(void **state)
{
	pid_t busy = start_busy();

	terminal__start("xterm", ARGS("-i", "500ms"));
	terminal__await_whole("of a CPU");
	assert_int_equal(write(terminal.master, "q", 1), 1);
	assert_int_equal(terminal__end(), 0);
	kill(busy, SIGKILL);
	assert_int_equal(waitpid(busy, NULL, 0), busy);
	assert_true(has_colour());
	terminal__assert_restored();
}

static void every_signal_gives_the_terminal_back(void **state)
{
	static const struct {
		int number, status;
	} signals[] = {
		{ SIGTERM, 0 },
		{ SIGINT, 0 },
		{ SIGHUP, 0 },
		{ SIGQUIT, 0 },
		{ SIGSEGV, 128 + SIGSEGV },
		{ SIGABRT, 128 + SIGABRT },
		{ SIGKILL, 128 + SIGKILL },
	};

	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		char pid[16];

		snprintf(pid, sizeof(pid), "%d", getpid());
		terminal__start("xterm", ARGS("-p", pid));
		terminal__await("first numbers");
		kill(terminal.pid, signals[i].number);
		assert_int_equal(terminal__end(), signals[i].status);
		terminal__assert_restored();
	}
}

static void a_terminal_without_colour_will_do(void **state)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	setenv("NO_COLOR", "1", 1);
	terminal__start("xterm", ARGS("-p", pid, "-i", "500ms"));
	unsetenv("NO_COLOR");
	terminal__await("test_top");
	assert_int_equal(write(terminal.master, "q", 1), 1);
	assert_int_equal(terminal__end(), 0);
	assert_false(has_colour());
	terminal__assert_restored();
}

/* Where there is no tmux, at least this: a second recorder beside the first. */
static void enter_looks_closer(void **state)
{
	struct workload workload = workload__start(WORKLOAD("service"));
	char pid[16];

	workload__await_ready(&workload);
	snprintf(pid, sizeof(pid), "%d", workload.pid);
	terminal__start("xterm", ARGS("-p", pid, "-i", "500ms"));
	terminal__await("service");
	assert_int_equal(write(terminal.master, "\r", 1), 1);
	terminal__await_whole("where its time went");
	terminal__await_whole("getppid");
	terminal__await_whole("held by svc-holds");
	terminal__await_whole("spin_here");
	assert_int_equal(write(terminal.master, "q", 1), 1);
	assert_int_equal(terminal__end(), 0);
	terminal__assert_restored();
	workload__kill(&workload);
}

static void a_terminal_that_cannot_place_text_is_refused(void **state)
{
	terminal__start("dumb", ARGS("-a"));
	terminal__await("cannot place text");
	assert_int_equal(terminal__end(), 1);
	close(terminal.master);
	close(terminal.slave);
}

static void without_a_terminal_it_says_so(void **state)
{
	struct output output = live__gapless("top");

	assert_int_equal(output.status, 1);
	assert_non_null(strstr(output.err, "top needs a terminal"));
	live__release(&output);
	output = live__gapless("top", "-i", "1us");
	assert_int_equal(output.status, 2);
	assert_non_null(strstr(output.err, "is not an interval"));
	live__release(&output);
}

int main(void)
{
	/* Each start takes seconds in an emulated machine, and terminals do not depend on kernels.
	 */
	const struct CMUnitTest kernel_tests[] = {
		cmocka_unit_test(q_ends_it_and_gives_the_terminal_back),
		cmocka_unit_test(enter_looks_closer),
	};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(q_ends_it_and_gives_the_terminal_back),
		HERE(every_signal_gives_the_terminal_back),
		HERE(a_terminal_without_colour_will_do),
		cmocka_unit_test(enter_looks_closer),
		HERE(a_terminal_that_cannot_place_text_is_refused),
		HERE(without_a_terminal_it_says_so),
	};

	return is_emulated() ? cmocka_run_group_tests(kernel_tests, NULL, NULL)
			     : cmocka_run_group_tests(tests, NULL, NULL);
}
