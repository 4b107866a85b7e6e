/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Syscalls by thread and errno, and the slow ones with their arguments. The kernel half is the
 * ledger, which times every call at level full; hooks of our own would do that work twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/strbuf.h"
#include "bpf/slow_call.h"
#include "core/paths.h"
#include "core/signal.h"
#include "vocabulary/calls.h"

/* The event's scratch holds the target's name first, then the arguments. */
#define NAME_ROOM     384
#define AT_FDCWD_HERE (-100)

static const struct hook hooks[] = {
	{ "sys_enter", { "on_sys_enter" }, HOOK_AT_CALLS },
	{ "sys_exit", { "on_sys_exit" }, HOOK_AT_CALLS },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, { "running", "ns" }, {} };

enum { COLUMN_RUNNING, COLUMN_ARGS };

static const struct column columns[] = {
	[COLUMN_RUNNING] = { "running", COLUMN_NS, 10 },
	[COLUMN_ARGS] = { "args", COLUMN_TEXT, 0 },
	{},
};

static void add_socket(struct strbuf *text, const struct slow_call_record *rec)
{
	const struct address_ends ends = { rec->family, rec->local, rec->peer, rec->local_port,
					   rec->peer_port };
	char name[2 * ADDRESS_BYTES + 8];

	if (ADDRESS_IS_KNOWN(rec->family)) {
		address__connection(&ends, name, sizeof(name));
		strbuf__add(text, "%s", name);
	} else if (rec->family == AF_UNIX && rec->peer_pid) {
		strbuf__add(text, "unix socket to pid %u", rec->peer_pid);
	} else {
		strbuf__add(text, "socket:[%llu]", rec->object[0]);
	}
}

/* The object behind the descriptor, named as in the ledger and in /proc. */
static const char *name_target(const struct slow_call_record *rec, char *ret, size_t size)
{
	struct strbuf text = { ret, size };
	const char *kind = NULL;

	*ret = '\0';
	switch (rec->target) {
	case CALL_TARGET_FILE:
		kind = "file";
		paths__join(&rec->name, ret, size);
		break;
	case CALL_TARGET_PIPE:
		kind = "pipe";
		if (rec->name.bytes > 1)
			paths__join(&rec->name, ret, size);
		else
			strbuf__add(&text, "pipe:[%llu]", rec->object[0]);
		break;
	case CALL_TARGET_SOCKET:
		kind = "socket";
		add_socket(&text, rec);
		break;
	case CALL_TARGET_OTHER:
		kind = "file";
		strbuf__add(&text, "anon_inode:%s", rec->name.bytes ? rec->name.names : "");
		break;
	default:
		break;
	}
	return kind;
}

static void add_descriptor(struct strbuf *text, const struct slow_call_record *rec, int which,
			   bool first, const char *target)
{
	strbuf__add(text, "%d", (int)rec->args[which]);
	if (first && *target)
		strbuf__add(text, " → %s", target);
}

static void add_program_path(struct strbuf *text, const struct slow_call_record *rec, int which)
{
	if (which >= CALL_PATHS || !(rec->paths_read & 1 << which))
		strbuf__add(text, "?");
	else
		strbuf__add(text, "\"%s%s\"", rec->path[which],
			    strlen(rec->path[which]) == CALL_PATH_BYTES - 1 ? "…" : "");
}

static void add_number(struct strbuf *text, char letter, uint64_t value)
{
	if (letter == 'n')
		strbuf__add(text, "%" PRIu64, value);
	else if (letter == 's')
		strbuf__add(text, "%d", (int)value);
	else if (letter == 'x')
		strbuf__add(text, "%#" PRIx64, value);
	else if (letter == 'o')
		strbuf__add(text, "%#o", (unsigned)value);
	else
		strbuf__add(text, "…");
}

/* openat("/etc/passwd", 0x80000, 0), read(3 → pipe:[77], …, 4096). */
static void add_arguments(struct strbuf *text, const struct slow_call_record *rec,
			  const char *target)
{
	const char *letters = calls__arguments(rec->number), *between = "";
	int descriptors = 0, paths = 0;

	if (!rec->has_args || !*letters) {
		strbuf__add(text, "…");
		return;
	}
	for (int i = 0; letters[i] && i < CALL_ARGS; i++) {
		bool is_folder = letters[i] == 'd', is_here = (int)rec->args[i] == AT_FDCWD_HERE;

		if (is_folder && is_here) {
			descriptors++; /* AT_FDCWD: the path is enough */
			continue;
		}
		strbuf__add(text, "%s", between);
		between = ", ";
		if (is_folder || letters[i] == 'f')
			add_descriptor(text, rec, i, !descriptors++, target);
		else if (letters[i] == 'p')
			add_program_path(text, rec, paths++);
		else
			add_number(text, letters[i], rec->args[i]);
	}
}

static void add_result(struct strbuf *text, int64_t result)
{
	/* An address, as mmap() returns it: no call transfers that many bytes. */
	if (result >= INT64_C(1) << 40)
		strbuf__add(text, " = %#" PRIx64, (uint64_t)result);
	else
		strbuf__add(text, " = %" PRId64, result);
}

static bool is_terminated(const struct slow_call_record *rec)
{
	for (int i = 0; i < CALL_PATHS; i++)
		if (!memchr(rec->path[i], '\0', CALL_PATH_BYTES))
			return false;
	return paths__is_well_formed(&rec->name);
}

static int syscalls_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct slow_call_record *rec = bytes;
	char *target = ret->scratch, *args = ret->scratch + NAME_ROOM;
	struct strbuf text = { args, sizeof(ret->scratch) - NAME_ROOM };
	const char *kind;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1)
		return -EBADMSG;
	if (rec->number >= CALL_NUMBERS || !is_terminated(rec))
		return -EBADMSG;
	kind = name_target(rec, target, NAME_ROOM);
	ret->duration_ns = rec->duration_ns;
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	ret->operation = (uint16_t)rec->number;
	ret->error = rec->error;
	if (kind) {
		memcpy(ret->object, rec->object, sizeof(ret->object));
		ret->object_kind = kind;
		ret->object_name = target;
	}
	strbuf__add(&text, "%s(", calls__name(rec->number));
	add_arguments(&text, rec, target);
	strbuf__add(&text, ")");
	if (!rec->error)
		add_result(&text, rec->result);
	ret->values[COLUMN_RUNNING].number = rec->running_ns;
	ret->values[COLUMN_ARGS].text = args;
	return 0;
}

const struct signal syscalls_signal = {
	.name = "syscalls",
	.number = SIGNAL_syscalls,
	.about = "system calls by thread and error; slow ones with their arguments",
	.events = "calls",
	.role = ROLE_CALLS,
	.is_default = true,
	.at_syscalls = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.decode = syscalls_decode,
	.operation = calls__name,
};
