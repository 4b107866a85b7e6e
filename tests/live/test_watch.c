/* SPDX-License-Identifier: GPL-2.0-or-later */
/* watch: a known number of programs started must be exactly what is shown, in every form. */
#include "../harness.h"

#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ledger.h"

#define PROGRAMS  23
#define OPENS     500
#define MOST_ARGS 16

struct watched {
	pid_t pid;
	FILE *out; /* its stdout */
};

/* Starts `gapless watch exec` with these arguments more; returns once it is attached. */
static struct watched start_watch_of(const char *signal, const char *const *args)
{
	const char *argv[MOST_ARGS + 4] = { "gapless", "watch", signal };
	int out[2], err[2];
	char line[256] = "";
	struct watched watched;
	FILE *words;

	for (size_t i = 0; args[i] && i < MOST_ARGS; i++)
		argv[i + 3] = args[i];
	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	watched.pid = fork();
	if (!watched.pid) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execv(live__program(), (char *const *)argv);
		_exit(126);
	}
	close(out[1]);
	close(err[1]);
	words = fdopen(err[0], "r");
	assert_non_null(fgets(line, sizeof(line), words));
	if (!strstr(line, "watching '") || !strstr(line, signal))
		fail_msg("unexpected: %s", line);
	watched.out = fdopen(out[0], "r");
	return watched;
}

static struct watched start_watch(const char *const *args)
{
	return start_watch_of("exec", args);
}

/* For -p: this process, and what it starts from now on. */
static const char *us(void)
{
	static char pid[16];

	snprintf(pid, sizeof(pid), "%d", getpid());
	return pid;
}

static void end_watch(struct watched *watched)
{
	int status;

	assert_int_equal(waitpid(watched->pid, &status, 0), watched->pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fclose(watched->out);
}

static pid_t start_program(void)
{
	pid_t child = fork();

	if (!child) {
		execl("/bin/true", "true", "--some", "a b", NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

static void start_programs(pid_t *pids)
{
	for (int i = 0; i < PROGRAMS; i++)
		pids[i] = start_program();
}

/* The next line, which must be JSON; NULL at the end. */
static json_t *next_line(FILE *out)
{
	char *line = NULL;
	size_t size = 0;
	json_t *json = NULL;
	json_error_t error;

	if (getline(&line, &size, out) > 0) {
		json = json_loads(line, 0, &error);
		if (!json)
			fail_msg("not JSON (%s): %s", error.text, line);
	}
	free(line);
	return json;
}

/* The next line of this type; what comes before is left out. */
static json_t *next_of(FILE *out, const char *type)
{
	json_t *line;

	while ((line = next_line(out)) && strcmp(text_at(line, "type"), type))
		json_decref(line);
	if (!line)
		fail_msg("no %s before the end", type);
	return line;
}

static char *read_text(FILE *out)
{
	char *text = NULL;
	size_t size = 0;

	if (getdelim(&text, &size, '\0', out) <= 0)
		fail_msg("no output");
	return text;
}

static void check_event(json_t *event, bool *ret_starts)
{
	*ret_starts = !strcmp(text_at(event, "operation"), "exec");
	assert_int_equal(number_at(event, "parent_pid"), getpid());
	assert_true(number_at(event, "unix_ns") > number_at(event, "time_ns"));
	assert_string_equal(text_at(event, "signal"), "exec");
	assert_string_equal(text_at(event, "comm"), "true");
	assert_int_equal(number_at(json_object_get(event, "thread"), "pid"),
			 number_at(event, "pid"));
	if (*ret_starts) {
		assert_string_equal(text_at(event, "file"), "/bin/true");
		assert_string_equal(text_at(event, "args"), "true --some 'a b'");
		assert_true(json_is_null(json_object_get(event, "status")));
	} else {
		assert_string_equal(text_at(event, "operation"), "exit");
		assert_true(number_at(event, "duration_ns") > 0);
		assert_int_equal(number_at(event, "status"), 0);
		assert_true(json_is_null(json_object_get(event, "killed_by")));
	}
}

static void exec_shows_every_program_once_and_an_interrupt_loses_none(void **state)
{
	struct watched watched = start_watch(ARGS("--json"));
	int starts = 0, ends = 0;
	pid_t pids[PROGRAMS];
	json_t *line;

	start_programs(pids);
	kill(watched.pid, SIGINT);
	while ((line = next_line(watched.out))) {
		for (int i = 0; i < PROGRAMS; i++) {
			bool is_start;

			if (json_integer_value(json_object_get(line, "pid")) != pids[i])
				continue;
			check_event(line, &is_start);
			starts += is_start;
			ends += !is_start;
		}
		json_decref(line);
	}
	assert_int_equal(starts, PROGRAMS);
	assert_int_equal(ends, PROGRAMS);
	end_watch(&watched);
}

/* The counts of all buckets. */
static int64_t bucket_count(json_t *page)
{
	json_t *histogram = json_array_get(json_object_get(page, "histograms"), 0), *bucket;
	int64_t sum = 0;
	size_t i;

	json_array_foreach (json_object_get(histogram, "buckets"), i, bucket) {
		assert_true(number_at(bucket, "begin") < number_at(bucket, "end"));
		sum += number_at(bucket, "count");
	}
	return sum;
}

/* A page's count is that of its histogram and of its only row, which is about us. */
static void check_page(json_t *page, const char *who)
{
	int64_t count = number_at(page, "count");
	json_t *rows = json_object_get(page, "sums"), *row = json_array_get(rows, 0), *lifetime;

	assert_string_equal(text_at(page, "events"), "processes");
	assert_int_equal(bucket_count(page), count);
	assert_int_equal(json_array_size(rows), count ? 1 : 0);
	if (!count)
		return;
	assert_int_equal(number_at(row, "count"), count);
	if (who)
		assert_int_equal(number_at(json_object_get(row, who), "pid"), getpid());
	lifetime = json_object_get(json_object_get(row, "measures"), "lifetime");
	assert_string_equal(text_at(lifetime, "unit"), "ns");
	assert_true(number_at(lifetime, "sum") >= number_at(lifetime, "max"));
	assert_int_equal(number_at(lifetime, "average"), number_at(lifetime, "sum") / count);
}

/* Programs are started while intervals pass; how many fall into which does not matter. */
static void check_intervals(const char *by, const char *who)
{
	struct watched watched = start_watch(ARGS("-p", us(), "--json", "200ms", "--by", by));
	int64_t end_ns = 0, count = 0;
	pid_t pids[PROGRAMS];
	json_t *page;

	for (int i = 0; i < PROGRAMS; i++) {
		pids[i] = start_program();
		usleep(20000);
	}
	assert_true(pids[0] > 0);
	for (int i = 0; i < 100 && count < PROGRAMS; i++) {
		page = next_of(watched.out, "interval");
		if (end_ns)
			assert_int_equal(number_at(page, "begin_ns"), end_ns);
		end_ns = number_at(page, "end_ns");
		check_page(page, who);
		count += number_at(page, "count");
		json_decref(page);
	}
	assert_int_equal(count, PROGRAMS);
	kill(watched.pid, SIGINT);
	page = next_of(watched.out, "summary");
	assert_int_equal(number_at(page, "count"), PROGRAMS);
	check_page(page, who);
	assert_int_equal(json_array_size(json_object_get(page, "quality")), 0);
	json_decref(page);
	assert_null(next_line(watched.out));
	end_watch(&watched);
}

/* The ledger counts both, but not in one place. */
static void histograms_of_syscalls_have_all_calls(void **state)
{
	struct watched watched = start_watch_of(
		"syscalls", ARGS("-p", us(), "--json", "1s", "2", "--by", "process"));
	struct timespec pause = { .tv_nsec = 1000000 };
	json_t *page;

	for (int i = 0; i < 200; i++)
		nanosleep(&pause, NULL);
	page = next_of(watched.out, "summary");
	assert_true(json_integer_value(json_object_get(page, "count")) >= 100);
	assert_int_equal(bucket_count(page), json_integer_value(json_object_get(page, "count")));
	json_decref(page);
	end_watch(&watched);
}

static void intervals_add_up_to_the_summary(void **state)
{
	check_intervals("process", "process");
}

static void sums_are_split_by_what_is_asked_for(void **state)
{
	check_intervals("thread", "thread");
	check_intervals("operation,errno", NULL);
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE | REG_NOSUB), 0);
	if (regexec(&regex, text, 0, NULL, 0))
		fail_msg("'%s' is not in: %s", pattern, text);
	regfree(&regex);
}

static void events_are_lines_and_an_interrupt_sums_up(void **state)
{
	struct watched watched = start_watch(ARGS("-p", us(), "-T"));
	pid_t pids[PROGRAMS];
	char *text;

	start_programs(pids);
	kill(watched.pid, SIGINT);
	text = read_text(watched.out);
	assert_matches(text, "^TIME +TOOK OPERATION +PID COMM +STATUS PARENT_COMM +PARENT_PID");
	assert_matches(text, "^[0-9:]{8}\\.[0-9]{3} +exec +[0-9]+ true +test_watch +[0-9]+ .*"
			     " true --some 'a b'$");
	assert_matches(text, "^[0-9:]{8}\\.[0-9]{3} +[0-9.]+ (µs|ms|s) exit +[0-9]+ ");
	assert_matches(text, "^[0-9:]{8}\\.[0-9]{3}  exec, all [0-9.]+ m?s: 23 processes$");
	assert_matches(text, "^ +lifetime : +count  distribution$");
	assert_matches(text, "^p50 .* (µs|ms|s), p95 .* (µs|ms|s), max .* (µs|ms|s), of 23$");
	assert_matches(text, "^ +[0-9]+ test_watch +23 lifetime +[0-9]");
	free(text);
	end_watch(&watched);
}

static void an_interval_shows_histograms_and_no_events(void **state)
{
	struct watched watched = start_watch(ARGS("-p", us(), "30", "--by", "process"));
	pid_t pids[PROGRAMS];
	char *text;

	start_programs(pids);
	kill(watched.pid, SIGINT);
	text = read_text(watched.out);
	assert_null(strstr(text, "/bin/true"));
	assert_null(strstr(text, "TOOK"));
	assert_matches(text, "^exec, all [0-9.]+ m?s: 23 processes$");
	free(text);
	end_watch(&watched);
}

static void nothing_comes_with_its_reason(void **state)
{
	struct output output =
		live__gapless("watch", "exec", "100ms", "2", "-p", us(), "--measure", "lifetime");

	assert_int_equal(output.status, 0);
	assert_matches(output.out, "^exec, the last [0-9.]+ m?s: no processes of process [0-9]+ "
				   "and its children: 'exec' is attached, but nothing happened$");
	assert_matches(output.out, "^exec, all [0-9.]+ m?s: no processes");
	live__release(&output);
}

static void as_many_intervals_as_asked_for(void **state)
{
	struct output output = live__gapless("watch", "exec", "100ms", "3", "--json", "-p", us());
	size_t lines = 0;

	assert_int_equal(output.status, 0);
	for (const char *at = output.out; (at = strstr(at, "\"type\":\"interval\"")); at++)
		lines++;
	assert_int_equal(lines, 3);
	assert_non_null(strstr(output.out, "\"type\":\"summary\""));
	live__release(&output);
}

static void a_number_of_events_ends_it(void **state)
{
	struct watched watched = start_watch(ARGS("-p", us(), "--json", "-n", "5"));
	pid_t pids[PROGRAMS];
	int events = 0;
	json_t *line;

	start_programs(pids);
	while ((line = next_line(watched.out))) {
		events += !strcmp(text_at(line, "type"), "event");
		json_decref(line);
	}
	assert_int_equal(events, 5);
	end_watch(&watched);
}

/* Of a file of our own, so that nobody else opens it. */
static void every_event_is_shown_however_short(void **state)
{
	struct watched watched = start_watch_of("files", ARGS("-p", us(), "--json", "--every"));
	char path[64];
	int events = 0;
	json_t *line;

	snprintf(path, sizeof(path), "/tmp/gapless-every-%d", getpid());
	for (int i = 0; i < OPENS; i++)
		close(open(path, O_CREAT | O_RDWR, 0600));
	unlink(path);
	kill(watched.pid, SIGINT);
	while ((line = next_line(watched.out))) {
		const char *object = json_string_value(json_object_get(line, "object"));
		const char *operation = json_string_value(json_object_get(line, "operation"));

		events += !strcmp(text_at(line, "type"), "event") && object && operation &&
			  !strcmp(object, path) && !strcmp(operation, "open");
		json_decref(line);
	}
	assert_int_equal(events, OPENS);
	end_watch(&watched);
}

static void silence_is_explained(void **state)
{
	struct output output = live__gapless("watch", "files", "-d", "4s", "--slow", "1h");

	assert_int_equal(output.status, 0);
	assert_non_null(strstr(output.err, "nothing to show so far"));
	assert_non_null(strstr(output.err, "--every"));
	live__release(&output);
}

static void a_duration_ends_it(void **state)
{
	struct output output = live__gapless("watch", "exec", "-d", "200ms", "--json");

	assert_int_equal(output.status, 0);
	live__release(&output);
}

static void check_refused(const char *const *args, const char *words)
{
	struct output output = live__run(NULL, args);

	assert_int_equal(output.status, 2);
	if (!strstr(output.err, words))
		fail_msg("'%s' is not in: %s", words, output.err);
	assert_string_equal(output.out, "");
	live__release(&output);
}

static void what_makes_no_sense_is_refused(void **state)
{
	check_refused(ARGS("watch"), "which signal?");
	check_refused(ARGS("watch", "exex"), "unknown signal 'exex'; did you mean 'exec'?");
	check_refused(ARGS("watch", "exec", "-d", "soon"), "'soon' is not a duration");
	check_refused(ARGS("watch", "exec", "soon"), "'soon' is not an interval");
	check_refused(ARGS("watch", "exec", "0"), "'0' is not an interval");
	check_refused(ARGS("watch", "exec", "1", "0"), "'0' is not a number of intervals");
	check_refused(ARGS("watch", "exec", "1", "2", "3"), "what is '3'?");
	check_refused(ARGS("watch", "exec", "-n", "few"), "'few' is not a number of events");
	check_refused(ARGS("watch", "exec", "-n", "2", "1"), "-n counts events");
	check_refused(ARGS("watch", "exec", "--by", "thread,place,colour"),
		      "unknown split 'colour'");
	check_refused(ARGS("watch", "exec", "--by", ""), "unknown split ''");
	check_refused(ARGS("watch", "exec", "--measure", "size"), "unknown measure 'size'");
	check_refused(ARGS("watch", "exec", "--slow", "very"), "'very' is not a duration");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(exec_shows_every_program_once_and_an_interrupt_loses_none),
		cmocka_unit_test(histograms_of_syscalls_have_all_calls),
		HERE(intervals_add_up_to_the_summary),
		HERE(sums_are_split_by_what_is_asked_for),
		HERE(events_are_lines_and_an_interrupt_sums_up),
		HERE(an_interval_shows_histograms_and_no_events),
		HERE(nothing_comes_with_its_reason),
		HERE(as_many_intervals_as_asked_for),
		HERE(a_number_of_events_ends_it),
		HERE(every_event_is_shown_however_short),
		HERE(silence_is_explained),
		HERE(a_duration_ends_it),
		HERE(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
