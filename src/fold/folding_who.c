/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who a thread is: its process, its group and its workload. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fold/folding_internal.h"

static int find_process(struct folding *folding, const struct ledger_record *record,
			struct folded_process **ret)
{
	uint64_t key = map__mix(map__mix(0, record->pid), record->process_start_ns);
	struct folded_process *process = map__get(&folding->processes, key);

	if (!process) {
		process = calloc(1, sizeof(*process));
		if (!process || map__put(&folding->processes, key, process)) {
			free(process);
			return -ENOMEM;
		}
		process->key = key;
		process->process = (struct folding_process) { .start_ns = record->process_start_ns,
							      .pid = record->pid,
							      .name = process->name };
		process->process.is_kernel = record->flags & THREAD_KERNEL;
	}
	*ret = process;
	return 0;
}

void folding_who__leave(struct folding *folding, struct folded_process *process)
{
	if (process && !--process->threads)
		free(map__take(&folding->processes, process->key));
}

static const char *group_of(struct folding *folding, const char *comm)
{
	char whole[WIRE_COMM_BYTES + 1], name[2 * WIRE_COMM_BYTES];

	snprintf(whole, sizeof(whole), "%.*s", WIRE_COMM_BYTES, comm);
	folding->options.name_group(whole, name, sizeof(name));
	return lexicon__word(folding->words, name);
}

/* The names and the cgroup may have changed; if so, finds the workload again. */
static int identify(struct folding *folding, struct folded_thread *thread,
		    const struct ledger_record *record)
{
	struct folded_process *process = thread->process;
	bool is_main = record->pid == record->tid;
	bool renamed = strncmp(thread->comm, record->comm, WIRE_COMM_BYTES) != 0;
	bool process_renamed = !process->name[0] ||
			       (is_main && strncmp(process->name, record->comm, WIRE_COMM_BYTES));

	/* Once in a while all are asked for, so that no workload in use seems forgotten. */
	if (thread->workload && !renamed && !process_renamed && !folding->is_whole &&
	    thread->cgroup_id == record->cgroup_id)
		return 0;
	memcpy(thread->comm, record->comm, WIRE_COMM_BYTES);
	if (process_renamed)
		memcpy(process->name, record->comm, WIRE_COMM_BYTES - 1);
	thread->cgroup_id = record->cgroup_id;
	process->process.cgroup_id = record->cgroup_id;
	thread->group = group_of(folding, record->comm);
	thread->workload =
		folding->options.workload_of(folding->options.context, &process->process);
	return thread->group ? 0 : -ENOMEM;
}

int folding__thread(struct folding *folding, uint64_t id, struct folded_thread **ret)
{
	struct folded_thread *thread = map__get(&folding->threads, id);

	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread || map__put(&folding->threads, id, thread)) {
			free(thread);
			return -ENOMEM;
		}
		thread->id = id;
		thread->seen = folding->wholes;
	}
	*ret = thread;
	return 0;
}

int folding_who__find(struct folding *folding, const struct ledger_record *record,
		      struct folded_thread **ret)
{
	struct folded_thread *thread;
	int err = folding__thread(folding, record->id, &thread);

	if (err)
		return err;
	/* A thread whose waits came first has no process yet. */
	if (!thread->process) {
		err = find_process(folding, record, &thread->process);
		if (err)
			return err;
		thread->process->threads++;
		thread->last_ns = record->account.first_ns;
	}
	*ret = thread;
	return identify(folding, thread, record);
}
