/* watch: a known number of programs started must be exactly what is shown. */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

#define PROGRAMS 23

/* Starts `gapless watch exec --json`; *ret_out is its stdout. Returns once it is attached. */
static pid_t start_watch(FILE **ret_out)
{
	int out[2], err[2];
	char line[256] = "";
	pid_t child;
	FILE *words;

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(err), 0);
	child = fork();
	if (!child) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		execl(live__program(), "gapless", "watch", "exec", "--json", NULL);
		_exit(126);
	}
	close(out[1]);
	close(err[1]);
	words = fdopen(err[0], "r");
	assert_non_null(fgets(line, sizeof(line), words));
	if (!strstr(line, "watching 'exec'"))
		fail_msg("unexpected: %s", line);
	*ret_out = fdopen(out[0], "r");
	return child;
}

static pid_t start_program(void)
{
	pid_t child = fork();

	if (!child) {
		execl("/bin/true", "true", NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

static int count_mine(FILE *out, const pid_t *pids)
{
	char line[1024];
	int mine = 0;

	while (fgets(line, sizeof(line), out)) {
		json_t *event = json_loads(line, 0, NULL);

		assert_non_null(event);
		for (int i = 0; i < PROGRAMS; i++) {
			if (json_integer_value(json_object_get(event, "pid")) != pids[i])
				continue;
			mine++;
			assert_int_equal(json_integer_value(json_object_get(event, "parent_pid")),
					 getpid());
			assert_string_equal(json_string_value(json_object_get(event, "file")),
					    "/bin/true");
		}
		json_decref(event);
	}
	return mine;
}

static void exec_shows_every_program_once_and_an_interrupt_loses_none(void **state)
{
	pid_t pids[PROGRAMS], watch;
	FILE *out;
	int status;

	watch = start_watch(&out);
	for (int i = 0; i < PROGRAMS; i++)
		pids[i] = start_program();
	kill(watch, SIGINT);
	assert_int_equal(count_mine(out, pids), PROGRAMS);
	assert_int_equal(waitpid(watch, &status, 0), watch);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	fclose(out);
}

static void a_duration_ends_it(void **state)
{
	struct output output = live__gapless("watch", "exec", "-d", "200ms", "--json");

	assert_int_equal(output.status, 0);
	live__release(&output);
}

static void bad_durations_are_refused(void **state)
{
	struct output output = live__gapless("watch", "exec", "-d", "soon");

	assert_int_equal(output.status, 2);
	assert_non_null(strstr(output.err, "'soon' is not a duration"));
	live__release(&output);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exec_shows_every_program_once_and_an_interrupt_loses_none),
		cmocka_unit_test(a_duration_ends_it),
		cmocka_unit_test(bad_durations_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
