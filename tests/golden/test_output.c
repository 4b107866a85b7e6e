/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where `export`, `report --html` and `diff --html` put what they make, as a user sees it. Each
 * test has a folder of its own, which is empty but for the recording when it is over.
 */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"
#include "folder.h"
#include "page/html.h"

/* With these in front of its name, each makes an output of run.gapless. */
static const char *const makers[] = {
	"export -f svg run.gapless -o",
	"report run.gapless --html",
	"diff run.gapless run.gapless --html",
};
#define MAKERS 3

static bool has_page(size_t maker)
{
	return !maker || html__is_built();
}

/*
 * Reading a file from its second page on fails, as if its server had forgotten it. (EIO would not
 * do: SQLite takes that for a damaged file.)
 */
static void break_reading(void)
{
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_pread64, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 4096, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ESTALE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(filter) / sizeof(*filter),
					    (struct sock_filter *)filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		_exit(99);
}

/* What makers[maker] says of an output. Standard output goes nowhere. */
static void refuses(size_t maker, const char *output, const char *expected)
{
	char line[256];

	snprintf(line, sizeof(line), "\"$G\" %s %s 2>&1 >/dev/null", makers[maker], output);
	folder__says(line, 1, expected);
}

static void nothing_takes_the_place_of_a_recording(void **state)
{
	static const char *const names[] = { "run.gapless", "./run.gapless", "soft",
					     "hard",        "other",         "torn" };

	folder__says(
		"cp run.gapless copy && cp run.gapless other && head -c 72 run.gapless >torn &&"
		" ln run.gapless hard && ln -s run.gapless soft",
		0, "");
	for (size_t i = 0; i < MAKERS; i++) {
		for (size_t j = 0; j < sizeof(names) / sizeof(*names) && has_page(i); j++) {
			char expected[128];

			snprintf(expected, sizeof(expected),
				 "gapless: error: '%s' is a recording itself [%s another name]\n",
				 names[j], i ? "--html" : "-o");
			refuses(i, names[j], expected);
		}
	}
	folder__says(
		"cmp copy run.gapless && cmp copy other && test -L soft && rm copy other torn hard "
		"soft",
		0, "");
}

static void a_recording_is_not_added_to(void **state)
{
	folder__says("cp run.gapless copy; \"$G\" export -f folded run.gapless >>run.gapless", 1,
		     "gapless: error: standard output is a recording itself [-o another name]\n");
	if (html__is_built())
		folder__says(
			"\"$G\" report --html - run.gapless >>run.gapless", 1,
			"gapless: error: standard output is a recording itself [--html another "
			"name]\n");
	folder__says("cmp copy run.gapless && rm copy", 0, "");
}

static void what_cannot_be_written_is_named(void **state)
{
	folder__says("mkdir closed && chmod 555 closed", 0, "");
	for (size_t i = 0; i < MAKERS; i++) {
		if (!has_page(i))
			continue;
		refuses(i, "/dev/full",
			"gapless: error: cannot write '/dev/full': No space left on device\n");
		refuses(i, "missing/x",
			"gapless: error: cannot write 'missing/x': No such file or directory\n");
		refuses(i, "run.gapless/x",
			"gapless: error: cannot write 'run.gapless/x': Not a directory\n");
		refuses(i, ".", "gapless: error: cannot write '.': Is a directory\n");
		refuses(i, "closed/x",
			"gapless: error: cannot write 'closed/x': Permission denied\n");
	}
	folder__says("rmdir closed", 0, "");
}

static void standard_output_that_fails_is_named_once(void **state)
{
	static const char expected[] =
		"gapless: error: cannot write standard output: No space left on device\n";

	folder__says("\"$G\" export -f svg -o - run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" export -f pprof -o - run.gapless >/dev/full", 1, expected);
	if (html__is_built())
		folder__says("\"$G\" report --html - run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" report run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" report --json run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" diff run.gapless run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" diff --json run.gapless run.gapless >/dev/full", 1, expected);
	folder__says("\"$G\" query run.gapless 'SELECT 1' >/dev/full", 1, expected);
}

static void standard_output_that_is_closed_is_named_once(void **state)
{
	static const char *const lines[] = {
		"\"$G\" report run.gapless >&-",
		"\"$G\" export -f folded run.gapless >&-",
		"\"$G\" diff run.gapless run.gapless >&-",
	};

	for (size_t i = 0; i < 3; i++)
		folder__says(lines[i], 1,
			     "gapless: error: cannot write standard output: Bad file descriptor\n");
}

static void a_page_of_a_comparison_is_alone_on_standard_output(void **state)
{
	if (html__is_built())
		folder__says("\"$G\" diff run.gapless run.gapless --html - | head -n 1", 0,
			     "<!doctype html>\n");
}

static void use_a_terminal(void)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);

	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal) ||
	    dup2(open(ptsname(terminal), O_RDWR | O_NOCTTY), STDOUT_FILENO) != STDOUT_FILENO)
		_exit(99);
}

static void bytes_do_not_go_to_a_terminal(void **state)
{
	const char *text = NULL;

	assert_int_equal(
		folder__status("\"$G\" export -f pprof -o - run.gapless", use_a_terminal, &text),
		1);
	assert_string_equal(text, "gapless: error: pprof is not for a terminal [-o FILE]\n");
}

/* A file that grows beyond the limit stands for a full disk. */
static void a_file_is_whole_or_as_it_was(void **state)
{
	static const char *const names[] = { "x.svg", "x.html", "x.html" };

	for (size_t i = 0; i < MAKERS; i++) {
		char line[256], expected[128];

		if (!has_page(i))
			continue;
		snprintf(line, sizeof(line),
			 "echo before >%s; trap '' XFSZ; ulimit -f 8; \"$G\" %s %s 2>&1 >/dev/null",
			 names[i], makers[i], names[i]);
		snprintf(expected, sizeof(expected),
			 "gapless: error: cannot write '%s': File too large\n", names[i]);
		folder__says(line, 1, expected);
		snprintf(line, sizeof(line), "cat %s; rm %s", names[i], names[i]);
		folder__says(line, 0, "before\n");
		snprintf(line, sizeof(line),
			 "\"$G\" %s %s >/dev/null 2>&1 && stat -c %%a %s && rm %s", makers[i],
			 names[i], names[i], names[i]);
		folder__says(line, 0, "600\n");
	}
}

static void without_a_recording_nothing_is_printed_or_made(void **state)
{
	static const char *const lines[] = {
		"\"$G\" export -f svg -o - missing",
		"\"$G\" export -f svg -o x missing",
		"\"$G\" report --html - missing",
		"\"$G\" report --html x missing",
		"\"$G\" diff --html - run.gapless missing",
		"\"$G\" diff --html x missing run.gapless",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		if (html__is_built() || !strstr(lines[i], "report"))
			folder__says(
				lines[i], 1,
				"gapless: error: 'missing': there is no such recording [make one "
				"with 'sudo gapless record']\n");
}

static void a_recording_that_cannot_be_read_is_named(void **state)
{
	static const char *const outputs[] = { "x", "-" };
	const char *text = NULL;
	char line[256];

	for (size_t i = 0; i < MAKERS; i++)
		for (size_t j = 0; j < 2 && has_page(i); j++) {
			snprintf(line, sizeof(line), "\"$G\" %s %s", makers[i], outputs[j]);
			assert_int_equal(folder__status(line, break_reading, &text), 1);
			assert_string_equal(text,
					    "gapless: error: 'run.gapless': Input/output error\n");
		}
}

/* A name of standard output is not the file's to take: root could take /dev/stdout from all. */
static void standard_output_by_another_name_stays_what_it_is(void **state)
{
	folder__says(
		"ln -s /proc/self/fd/1 out; \"$G\" export -f folded -o out run.gapless >x &&"
		" \"$G\" export -f folded run.gapless 2>&1 >y && cmp x y && test -L out && rm out x y",
		0,
		"gapless: folded in 'out'\n"
		"gapless: without 19.8 s waiting for an event or a time [--idle shows it]\n"
		"gapless: without 19.8 s waiting for an event or a time [--idle shows it]\n");
}

static int write_and_be_stopped(FILE *out, void *context)
{
	fputs("after\n", out);
	fflush(out);
	return raise(*(int *)context);
}

static void a_signal_leaves_nothing_behind(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };

	folder__says("echo before >x", 0, "");
	for (size_t i = 0; i < 3; i++) {
		int number = numbers[i], status = 0;
		pid_t child = fork();

		if (!child) {
			signal(number, SIG_DFL);
			output__write(&(struct output) { .path = "x" }, write_and_be_stopped,
				      &number);
			_exit(0);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), number);
	}
	folder__says("cat x; rm x", 0, "before\n");
}

static void a_signal_that_was_ignored_stays_so(void **state)
{
	int number = SIGHUP, status = -1;
	pid_t child = fork();

	if (!child) {
		signal(number, SIG_IGN);
		_exit(output__write(&(struct output) { .path = "x" }, write_and_be_stopped,
				    &number) != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	folder__says("cat x; rm x", 0, "after\n");
}

static void json_says_its_format_first(void **state)
{
	static const char *const commands[] = { "report run.gapless",
						"diff run.gapless run.gapless", "list", "doctor" };

	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		char line[128];

		snprintf(
			line, sizeof(line),
			"\"$G\" %s --json 2>err | tr -d ' \\n' | grep -o '^{\"format\":1,'; rm err",
			commands[i]);
		folder__says(line, 0, "{\"format\":1,\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(nothing_takes_the_place_of_a_recording),
		IN_A_FOLDER(a_recording_is_not_added_to),
		IN_A_FOLDER(what_cannot_be_written_is_named),
		IN_A_FOLDER(standard_output_that_fails_is_named_once),
		IN_A_FOLDER(standard_output_that_is_closed_is_named_once),
		IN_A_FOLDER(a_page_of_a_comparison_is_alone_on_standard_output),
		IN_A_FOLDER(bytes_do_not_go_to_a_terminal),
		IN_A_FOLDER(a_file_is_whole_or_as_it_was),
		IN_A_FOLDER(without_a_recording_nothing_is_printed_or_made),
		IN_A_FOLDER(a_recording_that_cannot_be_read_is_named),
		IN_A_FOLDER(standard_output_by_another_name_stays_what_it_is),
		IN_A_FOLDER(a_signal_leaves_nothing_behind),
		IN_A_FOLDER(a_signal_that_was_ignored_stays_so),
		IN_A_FOLDER(json_says_its_format_first),
	};

	/* Of those that it starts, root too may not do what permissions forbid. */
	prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
	prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
