/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/exec/exec.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "core/signal.h"

/* Operations of events. Sums have none: they are of lifetimes, however these began. */
enum operation { OPERATION_NONE, OPERATION_EXEC, OPERATION_EXIT };

enum {
	COLUMN_PID,
	COLUMN_COMM,
	COLUMN_STATUS,
	COLUMN_PARENT_COMM,
	COLUMN_PARENT_PID,
	COLUMN_KILLED_BY,
	COLUMN_FORKED,
	COLUMN_FILE,
	COLUMN_ARGS,
};

static const struct hook hooks[] = {
	{ "sched_process_exec", { "on_exec" } },
	{ "sched_process_exit", { "on_exit" } },
	{},
};

static const struct measure measures[] = { { "lifetime", "ns" }, {} };

static const struct column columns[] = {
	[COLUMN_PID] = { "pid", COLUMN_NUMBER, 8 },
	[COLUMN_COMM] = { "comm", COLUMN_TEXT, 15 },
	[COLUMN_STATUS] = { "status", COLUMN_NUMBER, 6 },
	[COLUMN_PARENT_COMM] = { "parent_comm", COLUMN_TEXT, 15 },
	[COLUMN_PARENT_PID] = { "parent_pid", COLUMN_NUMBER, 10 },
	[COLUMN_KILLED_BY] = { "killed_by", COLUMN_TEXT, 9 },
	[COLUMN_FORKED] = { "forked", COLUMN_NUMBER, 6 },
	[COLUMN_FILE] = { "file", COLUMN_TEXT, -1 },
	[COLUMN_ARGS] = { "args", COLUMN_TEXT, 0 },
	{},
};

static bool has_end(const char *text, size_t size)
{
	return memchr(text, '\0', size);
}

/* A text under construction. What does not fit is left out and marked. */
struct text {
	char *at, *end; /* `end` leaves room for the mark and the NUL */
	bool full;
};

static void put(struct text *text, const char *what)
{
	size_t length = strlen(what);

	if (text->full || length > (size_t)(text->end - text->at)) {
		text->full = true;
		return;
	}
	text->at = stpcpy(text->at, what);
}

/* Quotes an argument for a shell. */
static void put_argument(struct text *text, const char *argument, size_t length)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "%+,-./:=@_^";
	bool quote = !length;

	for (size_t i = 0; i < length; i++)
		quote |= !strchr(plain, argument[i]) && !(argument[i] & 0x80);
	if (quote)
		put(text, "'");
	for (size_t i = 0; i < length; i++)
		put(text, argument[i] == '\'' ? "'\\''" : (char[]) { argument[i], '\0' });
	if (quote)
		put(text, "'");
}

static void put_arguments(const struct exec_started *rec, char *ret, size_t size)
{
	static const char mark[] = "…";
	struct text text = { ret, ret + size - sizeof(mark), false };
	size_t at = 0;

	*ret = '\0';
	while (at < rec->args_kept) {
		size_t length = strnlen(rec->args + at, rec->args_kept - at);

		if (at)
			put(&text, " ");
		put_argument(&text, rec->args + at, length);
		at += length + 1;
	}
	if (text.full || rec->args_bytes > rec->args_kept)
		memcpy(text.at, mark, sizeof(mark));
}

static int decode_started(const struct exec_started *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) ||
	    !has_end(rec->file, sizeof(rec->file)) || rec->args_kept > sizeof(rec->args) ||
	    rec->args_kept > rec->args_bytes)
		return -EBADMSG;
	ret->operation = OPERATION_EXEC;
	ret->values[COLUMN_STATUS].none = true;
	ret->values[COLUMN_KILLED_BY].none = true;
	ret->values[COLUMN_FORKED].none = true;
	ret->values[COLUMN_FILE].text = rec->file;
	ret->values[COLUMN_ARGS].text = ret->scratch;
	ret->values[COLUMN_ARGS].none = rec->args_bytes && !rec->args_kept;
	put_arguments(rec, ret->scratch, sizeof(ret->scratch));
	return 0;
}

static void put_code(uint32_t code, struct event *ret)
{
	int number = code & 0x7f;
	const char *name = sigabbrev_np(number);
	struct value *status = &ret->values[COLUMN_STATUS],
		     *killed_by = &ret->values[COLUMN_KILLED_BY];

	status->number = code >> 8 & 0xff;
	status->none = number;
	killed_by->none = !number;
	killed_by->text = ret->scratch;
	if (name)
		snprintf(ret->scratch, sizeof(ret->scratch), "SIG%s", name);
	else
		snprintf(ret->scratch, sizeof(ret->scratch), "SIG%d", number);
}

static int decode_ended(const struct exec_ended *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec))
		return -EBADMSG;
	ret->operation = OPERATION_EXIT;
	ret->duration_ns = rec->lifetime_ns;
	put_code(rec->code, ret);
	ret->values[COLUMN_FORKED].number = rec->forked;
	ret->values[COLUMN_FILE].none = true;
	ret->values[COLUMN_ARGS].none = true;
	return 0;
}

static int exec_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;
	const struct exec_process *process = (const void *)(head + 1);
	int err;

	if (size < sizeof(*head) + sizeof(*process) || head->version != 2 ||
	    !has_end(process->comm, sizeof(process->comm)) ||
	    !has_end(process->parent_comm, sizeof(process->parent_comm)))
		return -EBADMSG;
	err = head->kind == EXEC_STARTED ? decode_started(bytes, size, ret)
	      : head->kind == EXEC_ENDED ? decode_ended(bytes, size, ret)
					 : -EBADMSG;
	if (err)
		return err;
	ret->thread = process->thread;
	ret->values[COLUMN_PID].number = process->pid;
	ret->values[COLUMN_PARENT_PID].number = process->parent_pid;
	ret->values[COLUMN_PARENT_COMM].text = process->parent_comm;
	ret->values[COLUMN_COMM].text = process->comm;
	return 0;
}

static const char *operation(uint32_t operation)
{
	static const char *const names[] = { "", "exec", "exit" };

	return operation < sizeof(names) / sizeof(*names) ? names[operation] : NULL;
}

const struct signal exec_signal = {
	.name = "exec",
	.number = SIGNAL_exec,
	.about = "processes: programs started, by whom, how long they lived, how they ended",
	.events = "processes",
	.role = ROLE_PROGRAMS,
	.is_default = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = exec_decode,
	.operation = operation,
};
