/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that select targets, for every command that records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "core/target.h"

#define MOST_DIGITS 20

enum { OPTION_COMM = 1024, OPTION_EXE, OPTION_UID, OPTION_CGROUP, OPTION_UNIT, OPTION_CONTAINER };

/* Adds one number of -p or -t. An invalid one ends the program. */
static void add_number(struct target *target, int key, const char *text, struct argp_state *state)
{
	uint64_t id = 0;
	int err;

	if (parse__number(text, 1, INT32_MAX, &id))
		cli__refuse(state, "'%s' is not a number of a process or thread", text);
	err = key == 'p' ? target__add_pid(target, id) : target__add_tid(target, id);
	if (!err)
		return;
	if (err == -ESRCH)
		log_error("there is no %s %s [see 'ps -eL']", key == 'p' ? "process" : "thread",
			  text);
	else
		log_error("too many targets of one kind");
	exit(EXIT_FAILURE);
}

static void add_numbers(struct target *target, int key, const char *list, struct argp_state *state)
{
	const char *word;
	size_t length;

	while ((word = parse__next_word(&list, &length))) {
		char text[MOST_DIGITS + 1];

		snprintf(text, sizeof(text), "%.*s", (int)length, word);
		add_number(target, key, text, state);
	}
}

static int add_other(struct target *target, int key, const char *arg)
{
	switch (key) {
	case OPTION_COMM:
		return target__add_name(target, arg);
	case OPTION_CGROUP:
		return target__add_cgroup(target, arg);
	case OPTION_EXE:
		return target__add_exe(target, arg);
	case OPTION_UID:
		return target__add_user(target, arg);
	case OPTION_UNIT:
		return target__add_unit(target, arg);
	default:
		return target__add_container(target, arg);
	}
}

static void say_missing(int key, const char *arg)
{
	if (key == OPTION_UNIT)
		log_error("no systemd unit '%s' has processes in a cgroup v2 "
			  "[see 'systemctl status']",
			  arg);
	else if (key == OPTION_CONTAINER)
		log_error("no cgroup v2 is that of a container '%s' [an ID or its beginning; see "
			  "/proc/PID/cgroup of one of its processes]",
			  arg);
	else if (key == OPTION_UID)
		log_error("there is no user '%s' [a name or a number]", arg);
	else if (key == OPTION_EXE)
		log_error("there is no file '%s'", arg);
	else
		log_error("there is no cgroup '%s' [see 'systemd-cgls']", arg);
}

static void say_why_not(int key, const char *arg, int err)
{
	switch (err) {
	case -ENOENT:
		say_missing(key, arg);
		break;
	case -EMEDIUMTYPE:
		log_error("'%s' is a cgroup of version 1; gapless knows processes by those of "
			  "version 2 [the path behind '0::' in /proc/PID/cgroup]",
			  arg);
		break;
	case -ENOTDIR:
		log_error("'%s' is not a cgroup [the path behind '0::' in /proc/PID/cgroup]", arg);
		break;
	case -ENOTUNIQ:
		log_error("several containers start with '%s' [more of the ID]", arg);
		break;
	case -EISDIR:
		log_error("'%s' is a folder, not a program [the file that processes run]", arg);
		break;
	case -ENOEXEC:
		log_error("'%s' is a script: its processes run what its first line names "
			  "[--comm NAME]",
			  arg);
		break;
	case -E2BIG:
		log_error("too many targets of one kind");
		break;
	case -ENAMETOOLONG:
	case -EINVAL:
		log_error("no thread can be named '%s': names have 1 to 15 bytes", arg);
		break;
	default:
		log_error("'%s': %s", arg, strerror(-err));
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	int err;

	switch (key) {
	case 'a':
		target__add_all(state->input);
		return 0;
	case 'p':
	case 't':
		add_numbers(state->input, key, arg, state);
		return 0;
	case OPTION_COMM:
	case OPTION_EXE:
	case OPTION_UID:
	case OPTION_CGROUP:
	case OPTION_UNIT:
	case OPTION_CONTAINER:
		err = add_other(state->input, key, arg);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	if (!err)
		return 0;
	say_why_not(key, arg, err);
	exit(EXIT_FAILURE);
}

static const struct argp_option option_list[] = {
	{ "pid", 'p', "PID,...", 0, "Processes, and their children", 1 },
	{ "tid", 't', "TID,...", 0, "Only these threads", 1 },
	{ "comm", OPTION_COMM, "NAME", 0,
	  "Threads and processes of this name (*, ? and [a-z] as in a shell), and their "
	  "children",
	  1 },
	{ "exe", OPTION_EXE, "FILE", 0, "Processes that run this program, and their children", 1 },
	{ "uid", OPTION_UID, "USER", 0, "Threads of this user, by name or number", 1 },
	{ "cgroup", OPTION_CGROUP, "PATH", 0, "Everything in this cgroup and below", 1 },
	{ "unit", OPTION_UNIT, "NAME", 0, "Everything in this systemd unit", 1 },
	{ "container", OPTION_CONTAINER, "ID", 0,
	  "Everything in this container; the beginning of its ID is enough", 1 },
	{ "all", 'a', NULL, 0, "Every thread of the machine", 1 },
	{},
};

const struct argp cli_target_argp = { .options = option_list, .parser = parse };
