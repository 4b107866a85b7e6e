/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/heap/heap_probing.h"

#include "base/log.h"

struct heap_probing heap_probing;

static bool is_for_all(void)
{
	return heap_probing.target->all || heap_probing.processes.count > HEAP_LINKS_PROCESSES;
}

/* pid 0: in all. */
static void attach_files(size_t from, pid_t pid)
{
	bool is_known = false;

	/* Before a command runs, it is not known what it will map. */
	for (size_t i = 0; i < heap_probing.files.count; i++)
		is_known |= heap_probing.files.list[i].is_mapped;
	for (size_t i = from; i < heap_probing.files.count; i++)
		if ((heap_probing.files.list[i].is_mapped || !is_known) &&
		    heap_links__attach(&heap_probing.links, heap_probing.object,
				       &heap_probing.files.list[i], pid))
			log_debug("some functions of '%s' have no probe",
				  heap_probing.files.list[i].path);
}

static void attach_process(struct heap_process *process)
{
	attach_files(0, process->pid);
	process->is_probed = true;
}

void heap_probing__attach_all(void)
{
	heap_probing.processes.all_probed = is_for_all();
	if (heap_probing.processes.all_probed)
		attach_files(0, 0);
	for (size_t i = 0; i < heap_probing.processes.count; i++)
		if (heap_probing.processes.all_probed)
			heap_probing.processes.list[i].is_probed = true;
		else
			attach_process(&heap_probing.processes.list[i]);
}

void heap_probing__detach_all(void)
{
	heap_links__detach(&heap_probing.links);
	heap_probing.processes.all_probed = false;
	for (size_t i = 0; i < heap_probing.processes.count; i++)
		heap_probing.processes.list[i].is_probed = false;
}

/* A process may execute another program after it was first seen. */
bool heap_probing__look(struct heap_cpu *cpu)
{
	bool has_new = false;

	(void)heap_processes__list(&heap_probing.processes, cpu);
	for (size_t i = 0; i < heap_probing.processes.count; i++) {
		struct heap_process *process = &heap_probing.processes.list[i];

		if (process->listings <= 3)
			has_new |= heap_files__add_process(&heap_probing.files, process->pid) > 0;
	}
	return has_new;
}

bool heap_probing__attach_new(struct heap_cpu *cpu)
{
	size_t files = heap_probing.files.count;
	bool has_new = heap_probing__look(cpu);

	heap_processes__advance(&heap_probing.processes, cpu);
	if (heap_probing.processes.all_probed)
		attach_files(files, 0);
	for (size_t i = 0; i < heap_probing.processes.count && !heap_probing.processes.all_probed;
	     i++) {
		struct heap_process *process = &heap_probing.processes.list[i];

		if (!process->is_probed)
			attach_process(process);
		else
			attach_files(files, process->pid);
	}
	return has_new;
}

static void add_target(void *context, pid_t pid)
{
	const char *command = context;

	heap_processes__add(&heap_probing.processes, pid);
	if (!command)
		heap_files__add_process(&heap_probing.files, pid);
}

void heap_probing__find(const char *command)
{
	const struct uprobe_scope scope = { heap_probing.target, command };
	struct target all = {};

	if (command)
		heap_files__add_command(&heap_probing.files, &scope);
	if (!heap_probing.target->all) {
		target__processes(heap_probing.target, add_target, (void *)command);
		return;
	}
	target__add_name(&all, "*");
	target__processes(&all, add_target, (void *)command);
	heap_probing.processes.count = 0;
}
