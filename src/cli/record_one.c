/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One recording, from creating its file to its last row. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/owner.h"
#include "cli/child.h"
#include "cli/countdown.h"
#include "cli/record.h"
#include "signals/heap/heap_windows.h"

#define OWN_NICENESS (-10)
/* How often the warm-up checks its command, whatever the timing of signals. */
#define LOOK_NS UINT64_C(50000000)

DEFINE_CLEANUP(struct recording *, recording__free)
DEFINE_CLEANUP(struct run *, run__free)

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
	interrupted = number;
}

/* Does nothing; the signal interrupts a wait. */
static void on_child(int number)
{
}

/* A signal that was ignored stays ignored: under nohup, SIGHUP must not end the program. */
static void catch_signal(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler }, before;

	if (!sigaction(number, NULL, &before) && before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

void record__catch_signals(void)
{
	catch_signal(SIGINT, on_interrupt);
	catch_signal(SIGTERM, on_interrupt);
	catch_signal(SIGHUP, on_interrupt);
	catch_signal(SIGCHLD, on_child);
}

bool record__is_interrupted(void)
{
	return interrupted;
}

const char *record__end_word(enum record_end end)
{
	static const char *const words[] = {
		[RECORD_COMMAND] = "command",
		[RECORD_DURATION] = "duration",
		[RECORD_INTERRUPT] = "interrupt",
		[RECORD_TARGET] = "target",
	};

	return words[end];
}

static int create(const char *path, bool force, struct recording **ret)
{
	int err = recording__create(path, force, ret);

	if (err == -EEXIST)
		log_error("'%s' exists [--force to overwrite it, or -o another]", path);
	else if (err)
		log_error("cannot write '%s': %s", path,
			  err == -EACCES && owner__is_trap(path) ? OWNER_TRAP_WORDS
								 : strerror(-err));
	return err;
}

static int start_command(struct record_options *options, struct child *child)
{
	struct target *target = &options->run.target;
	int err = child__start(options->command, child);

	if (err) {
		log_error("cannot start '%s': %s", options->command[0], strerror(-err));
		return err;
	}
	/* With --repeat, the target is still that of the previous recording. */
	*target = (struct target) {};
	target__add_pid(target, (uint64_t)child->pid);
	snprintf(target->words, sizeof(target->words), "command: %s", options->command[0]);
	return 0;
}

/* How to repeat the run. A minor detail: a write error shows up with the next row. */
static void write_options(struct recording *recording, const struct record_options *options,
			  uint64_t number)
{
	char line[1024] = "", text[8192], **argv = options->command_line;

	for (size_t used = 0; *argv && used < sizeof(line); argv++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? " " : "",
					 *argv);
	recording__set_text(recording, "command_line", line);
	record__say_options(options, text, sizeof(text));
	recording__set_text(recording, "options", text);
	for (size_t i = 0; i < options->note_count; i++) {
		snprintf(text, sizeof(text), "note.%s", options->notes[i].name);
		recording__set_text(recording, text, options->notes[i].value);
	}
	recording__set_number(recording, "repeat", (int64_t)number);
	recording__set_number(recording, "repeats",
			      options->repeats ? (int64_t)options->repeats : 1);
	recording__set_number(recording, "warmup_ns", (int64_t)options->warmup_ns);
}

static void say_failure(const struct recording *recording, const char *path, int err)
{
	if (err == -ENOSPC)
		log_error("'%s': no space left; it holds what was measured until then "
			  "[see 'gapless report %s']",
			  path, path);
	else
		log_error("'%s' ended early: %s%s%s; it holds what was measured until then", path,
			  strerror(-err), err == -EIO ? ": " : "",
			  err == -EIO ? recording__error(recording) : "");
}

static void say_begin(const struct record_options *options, const char *path, uint64_t number)
{
	char which[64] = "";

	if (options->repeats)
		snprintf(which, sizeof(which), " (%" PRIu64 " of %" PRIu64 ")", number,
			 options->repeats);
	log_info("recording %s to '%s'%s%s", options->run.target.words, path, which,
		 options->duration_ns || options->command ? "" : "; Ctrl-C to stop");
}

/* -ECHILD: the command ended during the warm-up. */
static int warm_up(const struct record_options *options, struct child *child)
{
	uint64_t now_ns = clock__now_ns(), until_ns = now_ns + options->warmup_ns;

	log_info("warming up for %g s", (double)options->warmup_ns / 1e9);
	for (; now_ns < until_ns && !interrupted; now_ns = clock__now_ns()) {
		uint64_t left_ns = until_ns - now_ns < LOOK_NS ? until_ns - now_ns : LOOK_NS;

		(void)poll(NULL, 0, (int)(left_ns / 1000000) + 1);
		child__look(child);
		if (child->ended)
			return -ECHILD;
	}
	return interrupted ? -ECANCELED : 0;
}

/* A command is warmed up each time it is started, other targets once. */
static bool has_warmup(const struct record_options *options, uint64_t number)
{
	return options->warmup_ns && (options->command || number == 1);
}

/* On return, everything is accounted; a command without warm-up still waits at its gate. */
static int begin(const struct record_options *options, uint64_t number, struct run *run,
		 struct child *child)
{
	int err = 0;

	if (has_warmup(options, number)) {
		child__open_gate(child, !interrupted);
		err = warm_up(options, child);
	}
	if (!err)
		err = run__begin(run, &options->run);
	if (!err && has_warmup(options, number)) {
		child__look(child);
		err = child->ended ? -ECHILD : 0;
	}
	/* A command that could not be executed at all is reported by record__one(). */
	if (err == -ECHILD && !child->run_error)
		log_error("the command ended within the warm-up, with status %d: nothing was "
			  "recorded [a shorter --warmup]",
			  child->status);
	else if (err == -ECANCELED)
		log_error("interrupted within the warm-up: nothing was recorded");
	return err;
}

static int go_on(struct run *run, const struct record_options *options, struct child *child,
		 enum record_end *ret)
{
	uint64_t begun_ns = clock__now_ns();
	uint64_t until_ns = options->duration_ns ? begun_ns + options->duration_ns : 0;
	bool may_run_dry = target__is_by_number(&options->run.target);
	bool had_threads = !child->pid, is_dry = false, is_over = false;

	while (!interrupted && !child->ended && !is_dry && !is_over) {
		int err = run__step(run, until_ns);

		if (err)
			return err;
		if (!child->pid)
			countdown__show(begun_ns, until_ns);
		child__look(child);
		/* A command has no threads until it has started. */
		had_threads |= run__threads(run) > 0;
		is_dry = may_run_dry && had_threads && !run__threads(run);
		is_over = until_ns && clock__now_ns() >= until_ns;
	}
	/* If Ctrl-C also ended the command, the end is an interrupt, not the command's own. */
	if (interrupted)
		*ret = RECORD_INTERRUPT;
	else if (child->ended || (is_dry && child->pid))
		*ret = RECORD_COMMAND;
	else
		*ret = is_dry ? RECORD_TARGET : RECORD_DURATION;
	return 0;
}

/* Writes how the command ended. If it crashed, the target's description says so. */
static int write_end(struct recording *recording, const struct target *target,
		     const struct child *child)
{
	char words[sizeof(target->words) + 32];
	int err;

	if (!child->ended)
		return 0;
	err = recording__set_number(recording, "command_status", child->status);
	if (err || !child->signal)
		return err;
	snprintf(words, sizeof(words), "%s, killed by %s", target->words,
		 child__signal_name(child->signal));
	log_info("the command was killed by %s", child__signal_name(child->signal));
	err = recording__set_text(recording, "command_signal", child__signal_name(child->signal));
	return err ? err : recording__set_text(recording, "target", words);
}

static int finish(struct run *run, struct recording *recording, const char *path,
		  const struct target *target, const struct child *child, enum record_end end)
{
	int err = run__stop(run);
	struct stat info;

	if (!err)
		err = recording__set_text(recording, "ended", record__end_word(end));
	if (!err)
		err = write_end(recording, target, child);
	if (!err && !stat(path, &info))
		err = recording__put_cost(recording, "recording_bytes", (double)info.st_size,
					  "bytes");
	return err ? err : recording__finish(recording);
}

/* *ret_begun: the recording has content. */
static int fill(struct record_options *options, const char *path, uint64_t number,
		struct recording *recording, struct features *features, struct child *child,
		struct record_result *ret, bool *ret_begun)
{
	cleanup(run__free_p) struct run *run = NULL;
	int err;

	options->run.is_interrupted = record__is_interrupted;
	options->run.early = options->command && options->warmup_ns;
	/* The wait at the gate is not the command's time. */
	options->run.gated_pid = options->warmup_ns ? 0 : (uint32_t)child->pid;
	err = requests__find(&options->run, options->command ? options->command[0] : NULL);
	if (err)
		return err;
	heap_windows__aim(&options->run.target, options->command ? options->command[0] : NULL,
			  options->run.budget_ppm);
	err = run__open(&options->run, recording, features, &run);
	if (!err)
		err = begin(options, number, run, child);
	*ret_begun = !err;
	if (err == -ENOSPC || err == -EIO)
		log_error("'%s' cannot be written: %s%s%s; nothing was recorded", path,
			  strerror(-err), err == -EIO ? ": " : "",
			  err == -EIO ? recording__error(recording) : "");
	if (err)
		return err;
	say_begin(options, path, number);
	child__open_gate(child, !interrupted);
	err = go_on(run, options, child, &ret->end);
	countdown__clear();
	if (!err)
		err = finish(run, recording, path, &options->run.target, child, ret->end);
	if (err)
		say_failure(recording, path, err);
	return err;
}

/* Nothing was recorded; the exit status is that of a shell. */
static int say_cannot_run(const struct record_options *options, int error,
			  struct record_result *ret)
{
	log_error("cannot run '%s': %s", options->command[0], strerror(error));
	ret->status = child__status_of(error);
	return -ECHILD;
}

int record__one(struct record_options *options, const char *path, uint64_t number,
		struct features *features, struct record_result *ret)
{
	cleanup(recording__free_p) struct recording *recording = NULL;
	struct child child = { .gate = -1 };
	bool begun = false;
	int niceness, err;

	if (options->command && child__check(options->command[0]))
		return say_cannot_run(options, -child__check(options->command[0]), ret);
	err = create(path, options->force, &recording);
	if (err)
		return err;
	write_options(recording, options, number);
	err = options->command ? start_command(options, &child) : 0;
	if (!err) {
		/*
		 * On an overloaded machine the reader must still get CPU time. Without the
		 * permission to do so, continue. The niceness is restored for the next command.
		 */
		niceness = getpriority(PRIO_PROCESS, 0);
		setpriority(PRIO_PROCESS, 0, OWN_NICENESS);
		err = fill(options, path, number, recording, features, &child, ret, &begun);
		setpriority(PRIO_PROCESS, 0, niceness);
	}
	child__look(&child);
	child__open_gate(&child, false);
	if (!begun || child.run_error) {
		recording__free(TAKE(recording));
		unlink(path);
	}
	if (child.run_error)
		return say_cannot_run(options, child.run_error, ret);
	/* If more recordings follow, the command must not disturb them. */
	child__look(&child);
	if (options->repeats && !interrupted && !child.ended)
		child__terminate(&child);
	else
		ret->status = child.ended ? child.status : 0;
	return err;
}

int record__exit_status(int err, const struct record_result *result)
{
	if (err && err != -ECHILD)
		return 1;
	return result->status ? result->status : err ? 1 : 0;
}
