/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/crash.h"

#include <string.h>

#include "base/words.h"

/* The innermost named function of a stack, without libraries; 0: none. */
static uint32_t innermost(struct analysis *analysis, uint32_t node)
{
	return node ? analysis__path(analysis, node)->caller : 0;
}

static bool has_main(const struct analysis *analysis, uint32_t node)
{
	const struct hot *hot = &analysis->model->hot;

	for (; node; node = hot->nodes[node].parent)
		if (!strcmp(hot->functions[hot->nodes[node].function].name, "main"))
			return true;
	return false;
}

bool crash__put(struct finding *finding, struct analysis *analysis)
{
	const struct model *model = analysis->model;

	for (size_t i = 0; i < model->fatal_count; i++) {
		const struct model_fatal *fatal = &model->fatals[i];
		const char *name = sigabbrev_np(fatal->signal);
		uint32_t function = innermost(analysis, fatal->node);

		if (!fatal->thread || !answers__is_target(fatal->thread->group))
			continue;
		say__who(finding, fatal->thread->group, 1, fatal->thread);
		if (name)
			say(finding, " was killed by SIG%s", name);
		else
			say(finding, " was killed by signal %d", fatal->signal);
		if (function) {
			say(finding, ", in ");
			say__function(finding, analysis, function);
		} else if (has_main(analysis, fatal->node)) {
			say(finding, ", in main");
		}
		say(finding, ".");
		finding->group = fatal->thread->group;
		finding->function = function;
		return true;
	}
	return false;
}
