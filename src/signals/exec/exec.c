#include "signals/exec/exec.h"

#include <errno.h>
#include <string.h>

#include "signals/signal.h"

/* After the types that it uses. */
#include "exec.skel.h"

SIGNAL_KERNEL_HALF(exec)

static const struct hook hooks[] = {
	{ "sched_process_exec", { "on_exec_btf", "on_exec_raw", "on_exec_tp" } },
	{},
};

static const struct measure measures[] = { { "lifetime", "ns" }, {} };

static const struct column columns[] = {
	{ "pid", COLUMN_NUMBER, 8 },
	{ "parent_pid", COLUMN_NUMBER, 10 },
	{ "parent_comm", COLUMN_TEXT, 16 },
	{ "file", COLUMN_TEXT, 0 },
	{},
};

static int exec_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct exec_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1)
		return -EBADMSG;
	if (!memchr(rec->file, '\0', sizeof(rec->file)) ||
	    !memchr(rec->parent_comm, '\0', sizeof(rec->parent_comm)))
		return -EBADMSG;
	ret->thread = rec->thread;
	ret->values[0].number = rec->pid;
	ret->values[1].number = rec->parent_pid;
	ret->values[2].text = rec->parent_comm;
	ret->values[3].text = rec->file;
	return 0;
}

const struct signal exec_signal = {
	.name = "exec",
	.about = "programs started: which file, by whom",
	.events = "programs",
	.is_default = true,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.open = exec_open,
	.decode = exec_decode,
};
