/* The options that say whom to look at, for every command that looks. */
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/parse.h"
#include "cli/cli.h"
#include "core/target.h"

enum { OPTION_COMM = 1024, OPTION_CGROUP };

static int add(struct target *target, int key, const char *arg, uint64_t id)
{
	switch (key) {
	case 'p':
		return target__add_pid(target, id);
	case 't':
		return target__add_tid(target, id);
	case OPTION_COMM:
		return target__add_name(target, arg);
	default:
		return target__add_cgroup(target, arg);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	uint64_t id = 0;
	int err;

	if (key == 'a') {
		target__add_all(state->input);
		return 0;
	}
	if (key != 'p' && key != 't' && key != OPTION_COMM && key != OPTION_CGROUP)
		return ARGP_ERR_UNKNOWN;
	if ((key == 'p' || key == 't') && parse__number(arg, 1, INT32_MAX, &id))
		argp_error(state, "'%s' is not a number of a process or thread", arg);
	err = add(state->input, key, arg, id);
	if (err == -ESRCH)
		log_error("there is no %s %s [see 'ps -eL']", key == 'p' ? "process" : "thread",
			  arg);
	else if (err == -ENOENT)
		log_error("there is no cgroup '%s' [see 'systemd-cgls']", arg);
	else if (err == -ENAMETOOLONG)
		log_error("no thread can be named '%s': names have 1 to 15 bytes", arg);
	else if (err)
		log_error("too many targets of one kind");
	if (err)
		exit(EXIT_FAILURE);
	return 0;
}

static const struct argp_option option_list[] = {
	{ "pid", 'p', "PID", 0, "A process, and its children born later", 1 },
	{ "tid", 't', "TID", 0, "One thread", 1 },
	{ "comm", OPTION_COMM, "NAME", 0, "Threads and processes of this name, and their children",
	  1 },
	{ "cgroup", OPTION_CGROUP, "PATH", 0, "Everything in this cgroup and below", 1 },
	{ "all", 'a', NULL, 0, "Every thread of the machine", 1 },
	{},
};

const struct argp cli_target_argp = { .options = option_list, .parser = parse };
