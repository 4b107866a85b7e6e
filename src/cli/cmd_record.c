/* gapless record: account for a target's time until it ends, -d is over, or Ctrl-C. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "core/target.h"
#include "ledger/run.h"
#include "recording/recording.h"
#include "report/report.h"

#define DEFAULT_FILE   "run.gapless"
#define MOST_FILES     1000
#define OWN_NICENESS   (-10)
#define EXIT_NOT_FOUND 127

#define DEFAULT_RATE        99
#define MOST_RATE           10000
#define DEFAULT_TABLE_BYTES (UINT64_C(64) << 20)

enum {
	OPTION_LEVEL = 256,
	OPTION_FORCE,
	OPTION_NO_REPORT,
	OPTION_STACKS,
	OPTION_NO_STACKS,
	OPTION_TABLES,
	OPTION_SIGNALS,
	OPTION_SLOW,
};

struct options {
	struct cli_common common;
	struct run_options run;
	uint64_t duration_ns; /* 0: until it ends or Ctrl-C */
	const char *output;
	bool force;
	bool no_report;
	uint64_t rate; /* of samples, a second */
	enum { STACKS_BY_LEVEL, STACKS_YES, STACKS_NO } stacks;
	const char *signal_list;
	const struct signal *signals[SIGNALS_MOST];
	char **command; /* NULL: none */
};

/* The command to be measured, held back until everything is attached. */
struct child {
	pid_t pid; /* 0: none */
	int gate;  /* closing it lets the command start */
	int status;
	bool ended;
};

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(struct run *, run__free)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = number;
}

/* Only there to end a wait early. */
static void on_child(int number)
{
}

/* A signal that was ignored stays so: under nohup, the end of the terminal is no end. */
static void catch_signal(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler }, before;

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

static void catch_signals(void)
{
	catch_signal(SIGINT, on_interrupt);
	catch_signal(SIGTERM, on_interrupt);
	catch_signal(SIGHUP, on_interrupt);
	catch_signal(SIGCHLD, on_child);
}

/* The first free name of run.gapless, run-2.gapless, …: two recordings in a row just work. */
static const char *free_name(char *name, size_t size)
{
	struct stat info;

	snprintf(name, size, "%s", DEFAULT_FILE);
	for (int i = 2; i < MOST_FILES && !stat(name, &info); i++)
		snprintf(name, size, "run-%d.gapless", i);
	return name;
}

static int create(const struct options *options, struct recording **ret)
{
	int err = recording__create(options->output, options->force, ret);

	if (err == -EEXIST)
		log_error("'%s' exists [--force to overwrite it, or -o another]", options->output);
	else if (err)
		log_error("cannot write '%s': %s", options->output, strerror(-err));
	return err;
}

static void become_command(char **command, int gate)
{
	char byte;

	/* A byte is the word to go; the end of file means that the parent gave up or died. */
	if (read(gate, &byte, 1) != 1)
		_exit(EXIT_NOT_FOUND);
	close(gate);
	execvp(command[0], command);
	log_error("cannot run '%s': %s", command[0], strerror(errno));
	_exit(EXIT_NOT_FOUND);
}

static int start_child(struct options *options, struct child *child)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	child->pid = fork();
	if (child->pid < 0)
		return -errno;
	if (!child->pid) {
		close(ends[1]);
		become_command(options->command, ends[0]);
	}
	close(ends[0]);
	child->gate = ends[1];
	options->run.target.words[0] = '\0';
	target__add_pid(&options->run.target, (uint64_t)child->pid);
	snprintf(options->run.target.words, sizeof(options->run.target.words), "command: %s",
		 options->command[0]);
	return 0;
}

/*
 * Lets the command start, unless we were told to stop before that. A command that died meanwhile
 * is no reason to die too: hence a socket, which can be written to without a signal.
 */
static void open_gate(struct child *child)
{
	if (child->gate < 0)
		return;
	if (!interrupted)
		send(child->gate, "g", 1, MSG_NOSIGNAL);
	close(child->gate);
	child->gate = -1;
}

static void look_after(struct child *child)
{
	int status;

	if (!child->pid || child->ended || waitpid(child->pid, &status, WNOHANG) != child->pid)
		return;
	child->ended = true;
	child->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int record(struct run *run, const struct options *options, struct child *child)
{
	bool may_run_dry = options->run.target.pids.count || options->run.target.tids.count;
	uint64_t until_ns = options->duration_ns ? clock__now_ns() + options->duration_ns : 0;

	if (options->run.target.all || options->run.target.cgroups.count ||
	    options->run.target.name_count)
		may_run_dry = false;
	while (!interrupted) {
		int err = run__step(run, until_ns);

		if (err)
			return err;
		look_after(child);
		if (child->ended || (may_run_dry && !run__threads(run)))
			break;
		if (until_ns && clock__now_ns() >= until_ns)
			break;
	}
	return 0;
}

static int finish(struct run *run, struct recording *recording, const struct options *options)
{
	int err = run__stop(run);
	struct stat info;

	if (!err && !stat(options->output, &info))
		err = recording__put_cost(recording, "recording_bytes", (double)info.st_size,
					  "bytes");
	return err ? err : recording__finish(recording);
}

/* How to run it again; a detail, so a failure shows up with the next row. */
static void write_command_line(struct recording *recording, char **argv)
{
	char line[1024] = "";

	for (size_t used = 0; *argv && used < sizeof(line); argv++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? " " : "",
					 *argv);
	recording__set_text(recording, "command_line", line);
}

static void say_failure(const struct recording *recording, const struct options *options, int err)
{
	if (err == -ENOSPC)
		log_error("'%s': no space left; it holds what was measured until then "
			  "[see 'gapless report %s']",
			  options->output, options->output);
	else
		log_error("'%s' ended early: %s%s%s; it holds what was measured until then",
			  options->output, strerror(-err), err == -EIO ? ": " : "",
			  err == -EIO ? recording__error(recording) : "");
}

static int run_recording(struct options *options, char **argv, struct child *child)
{
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(recording__free_p) struct recording *recording = NULL;
	cleanup(run__free_p) struct run *run = NULL;
	int err;

	if (!features || create(options, &recording))
		return 1;
	catch_signals();
	write_command_line(recording, argv);
	err = options->command ? start_child(options, child) : 0;
	if (err) {
		log_error("cannot start '%s': %s", options->command[0], strerror(-err));
		return 1;
	}
	/* On a starved machine the reader must still get its turn. Without the right: no matter. */
	setpriority(PRIO_PROCESS, 0, OWN_NICENESS);
	err = run__start(&options->run, recording, features, &run);
	if (err) {
		if (err == -ENOSPC || err == -EIO)
			say_failure(recording, options, err);
		recording__free_p(&recording);
		recording = NULL;
		unlink(options->output);
		return 1;
	}
	log_info("recording %s to '%s'%s", options->run.target.words, options->output,
		 options->duration_ns || options->command ? "" : "; Ctrl-C to stop");
	open_gate(child);
	err = record(run, options, child);
	if (!err)
		err = finish(run, recording, options);
	if (err)
		say_failure(recording, options, err);
	return err ? 1 : 0;
}

/* A command that outlives the recording goes on by itself; its status is then not ours to tell. */
static int exit_status(struct child *child, int failed)
{
	look_after(child);
	return failed ? failed : child->ended ? child->status : 0;
}

static void parse_level(const char *arg, struct options *options, struct argp_state *state)
{
	if (strcmp(arg, "full") && strcmp(arg, "sched"))
		argp_error(state, "'%s' is not a level [full, sched]", arg);
	options->run.full = !strcmp(arg, "full");
}

static int parse_stacks(int key, const char *arg, struct options *options, struct argp_state *state)
{
	uint64_t megabytes;

	if (key == OPTION_STACKS) {
		options->stacks = STACKS_YES;
	} else if (key == OPTION_NO_STACKS) {
		options->stacks = STACKS_NO;
	} else if (key == 'F') {
		if (parse__number(arg, 1, MOST_RATE, &options->rate))
			argp_error(state, "'%s' is not a rate [1 to %d samples a second]", arg,
				   MOST_RATE);
	} else if (parse__number(arg, 1, 65536, &megabytes)) {
		argp_error(state, "'%s' is not a number of megabytes", arg);
	} else {
		options->run.table_bytes = megabytes << 20;
	}
	return 0;
}

/* Signals that are views of the ledger's level full: asked for by name they must be possible. */
static void choose_signals(struct options *options, struct argp_state *state)
{
	const struct signal **chosen = options->signals;
	const char *list = options->signal_list ? options->signal_list : "default", *bad;
	size_t kept = 0;

	if (signal__choose(list, chosen, &bad))
		argp_error(state, "'%.*s' is not a signal [see 'gapless list']",
			   (int)strcspn(bad, ","), bad);
	for (size_t i = 0; chosen[i]; i++) {
		if (options->run.full || !chosen[i]->in_ledger)
			chosen[kept++] = chosen[i];
		else if (options->signal_list)
			log_warning("signal '%s' needs --level full; continuing without it",
				    chosen[i]->name);
	}
	chosen[kept] = NULL;
	options->run.signals = chosen;
}

/* Level sched has no syscall hooks, so stacks are extra there. */
static uint64_t tick_ns(const struct options *options)
{
	if (options->stacks == STACKS_NO || (!options->run.full && options->stacks != STACKS_YES))
		return 0;
	return UINT64_C(1000000000) / options->rate;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		state->child_inputs[1] = &options->run.target;
		return 0;
	case 'd':
		if (parse__duration(arg, &options->duration_ns))
			argp_error(state, "'%s' is not a duration [like 500ms, 10s, 2m]", arg);
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case OPTION_LEVEL:
		parse_level(arg, options, state);
		return 0;
	case 'F':
	case OPTION_STACKS:
	case OPTION_NO_STACKS:
	case OPTION_TABLES:
		return parse_stacks(key, arg, options, state);
	case OPTION_SIGNALS:
		options->signal_list = arg;
		return 0;
	case OPTION_SLOW:
		if (parse__duration(arg, &options->run.slow_ns))
			argp_error(state, "'%s' is not a duration [like 500us, 10ms]", arg);
		return 0;
	case OPTION_FORCE:
		options->force = true;
		return 0;
	case OPTION_NO_REPORT:
		options->no_report = true;
		return 0;
	case ARGP_KEY_ARGS:
		options->command = state->argv + state->next;
		return 0;
	case ARGP_KEY_END:
		if (!options->command && target__is_empty(&options->run.target))
			argp_error(state, "record what? [-p PID, -a, or -- COMMAND]");
		if (options->command && !target__is_empty(&options->run.target))
			argp_error(state, "either a command or a target, not both");
		choose_signals(options, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "duration", 'd', "TIME", 0, "Stop after TIME (500ms, 10s, 2m)", 2 },
	{ "level", OPTION_LEVEL, "LEVEL", 0,
	  "full (default): with syscalls; sched: scheduler hooks only, cheaper", 2 },
	{ "rate", 'F', "RATE", 0, "Take RATE stacks a second of each CPU (default: 99)", 2 },
	{ "stacks", OPTION_STACKS, NULL, 0, "Take stacks also at level sched", 2 },
	{ "no-stacks", OPTION_NO_STACKS, NULL, 0, "Take no stacks", 2 },
	{ "table-size", OPTION_TABLES, "MB", 0,
	  "Memory for walking stacks without frame pointers (default: 64)", 2 },
	{ "signals", OPTION_SIGNALS, "LIST", 0,
	  "Signals besides the ledger: names, all, default, none [see 'gapless list']", 2 },
	{ "slow", OPTION_SLOW, "TIME", 0,
	  "Keep single events that take TIME or longer (default: 10ms)", 2 },
	{ "output", 'o', "FILE", 0, "The recording (default: run.gapless, run-2.gapless, …)", 2 },
	{ "force", OPTION_FORCE, NULL, 0, "Overwrite FILE", 2 },
	{ "no-report", OPTION_NO_REPORT, NULL, 0, "Do not print the report at the end", 2 },
	{},
};

static uint32_t test_switch(const char *name)
{
	const char *value = getenv(name);
	uint64_t number;

	return value && !parse__number(value, 1, UINT32_MAX, &number) ? (uint32_t)number : 0;
}

static int run(int argc, char **argv)
{
	static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 },
						      { &cli_target_argp, 0, NULL, 1 },
						      {} };
	static const struct argp argp = {
		.options = option_list,
		.parser = parse,
		.children = children,
		.args_doc = "[-- COMMAND ARGUMENT...]",
		.doc = "Accounts for all time of the target's threads, and says where it went.\v"
		       "Targets can be combined. With a COMMAND, its exit status is returned.",
	};
	struct options options = { .run = { .full = true,
					    .interval_ns = RUN_INTERVAL_NS,
					    .table_bytes = DEFAULT_TABLE_BYTES,
					    .slow_ns = RUN_SLOW_NS },
				   .rate = DEFAULT_RATE };
	struct report_options report = {};
	struct child child = { .gate = -1 };
	char name[64];
	int failed, err;

	cli__parse(&argp, argc, argv, &options);
	options.run.tick_ns = tick_ns(&options);
	options.run.drop_every = test_switch("GAPLESS_TEST_DROP_WAKEUPS");
	if (!options.output)
		options.output = free_name(name, sizeof(name));
	failed = run_recording(&options, argv, &child);
	if (!failed && !options.no_report) {
		report.json = options.common.json;
		err = report__print(options.output, &report, stdout);
		if (err)
			log_error("'%s': %s", options.output, report__why(err));
		failed = err ? 1 : 0;
	}
	return exit_status(&child, failed);
}

const struct command record_command = {
	.name = "record",
	.about = "account for all time of a process, a command or the machine",
	.run = run,
};
