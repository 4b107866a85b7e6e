#include "signals/exec/exec.h"

#include <errno.h>
#include <string.h>

#include "exec.skel.h"
#include "signals/signal.h"

SIGNAL_KERNEL_HALF(exec)

static const struct hook hooks[] = {
	{ "sched_process_exec", { "on_exec_btf", "on_exec_raw", "on_exec_tp" } },
	{},
};

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
	*ret = (struct event) {
		.time_ns = rec->head.time_ns,
		.values = { { .number = rec->pid },
			    { .number = rec->parent_pid },
			    { .text = rec->parent_comm },
			    { .text = rec->file } },
	};
	return 0;
}

const struct signal exec_signal = {
	.name = "exec",
	.about = "programs started: which file, by whom",
	.hooks = hooks,
	.columns = columns,
	.open = exec_open,
	.decode = exec_decode,
};
