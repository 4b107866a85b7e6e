/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of processes are offered to those who look for language runtimes. */
#include "stacks/tracker_internal.h"

static bool may_have_runtime(struct tracker *tracker, struct module *module)
{
	if (module->candidate == CANDIDATE_UNKNOWN)
		module->candidate =
			module->fd >= 0 && tracker->options.languages.is_candidate(module->path)
				? CANDIDATE_YES
				: CANDIDATE_NO;
	return module->candidate == CANDIDATE_YES;
}

static void offer(struct tracker *tracker, struct process *process, const struct range *range)
{
	const struct candidate_taker *languages = &tracker->options.languages;
	struct module *module = modules__get(tracker->options.modules, range->module);

	if (!module || process->offered_count == MOST_OFFERED || !may_have_runtime(tracker, module))
		return;
	for (size_t i = 0; i < process->offered_count; i++)
		if (process->offered[i] == module->id)
			return;
	process->offered[process->offered_count++] = module->id;
	languages->take(languages->context, &(struct candidate_mapping) {
						    .pid = process->pid,
						    .start_ticks = process->start_ticks,
						    .fd = module->fd,
						    .path = module->path,
						    .begin = range->begin,
						    .bias = range->begin - range->address,
					    });
}

void tracker__offer_all(struct tracker *tracker, struct process *process)
{
	for (size_t i = 0; tracker->options.languages.take && i < process->ranges.count; i++)
		offer(tracker, process, &process->ranges.list[i]);
}

void tracker__drop_runtime(struct tracker *tracker, struct process *process, bool executes)
{
	const struct candidate_taker *languages = &tracker->options.languages;

	if (process->offered_count)
		languages->gone(languages->context, process->pid, process->start_ticks, executes);
	process->offered_count = 0;
	process->runtime = (struct runtime) {};
}
