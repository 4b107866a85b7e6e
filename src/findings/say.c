/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "findings/say.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"

void say__group(struct finding *finding, const struct model_group *group)
{
	say(finding, "%s", words__clean(group->name, SAY_NAME_COLUMNS).text);
	if (strcmp(group->process_comm, group->name))
		say(finding, " of %s", words__clean(group->process_comm, SAY_NAME_COLUMNS).text);
}

void say__who(struct finding *finding, const struct model_group *group, size_t threads,
	      const struct model_thread *thread)
{
	if (threads > 1)
		say(finding, "%zu threads ", threads);
	say__group(finding, group);
	if (threads <= 1 && thread)
		say(finding, " (tid %lld)", (long long)thread->tid);
}

/*
 * The length without the arguments that C++ and Java names end with. Parentheses elsewhere belong
 * to the name: main.(*Server).handle, Foo<void (*)(int)>::bar, Foo::operator().
 */
static size_t length_without_arguments(const char *name)
{
	const char *last = strrchr(name, ')');
	size_t length = strlen(name), begin = last ? (size_t)(last - name) + 1 : 0;
	int depth = 0;

	if (!last || (last[1] && strncmp(last + 1, " const", 6) && strncmp(last + 1, " &", 2) &&
		      strncmp(last + 1, " [", 2)))
		return length;
	do {
		begin--;
		depth += (name[begin] == ')') - (name[begin] == '(');
	} while (begin && depth);
	if (!begin || depth || !strncmp(name + begin, "(anonymous", 10) ||
	    (begin >= 8 && !strncmp(name + begin - 8, "operator", 8)))
		return length;
	return begin;
}

void say__function(struct finding *finding, const struct analysis *analysis, uint32_t function)
{
	const struct hot_function *of = &analysis->model->hot.functions[function];
	const char *name = of->name;
	char text[512];

	snprintf(text, sizeof(text), "%.*s", (int)length_without_arguments(name), name);
	say(finding, "%s", words__clean(text, SAY_NAME_COLUMNS).text);
	if (!of->is_managed || !of->file)
		return;
	say(finding, " (%s", words__clean(hot__where(of), SAY_NAME_COLUMNS).text);
	if (of->line > 0)
		say(finding, ":%lld", (long long)of->line);
	say(finding, ")");
}

void say__memory_limit(struct finding *finding, const struct analysis *analysis,
		       const struct model_group *group)
{
	const struct model_limit *limit =
		model__limit(analysis->model, group->first->process, "memory");

	if (limit)
		say(finding, " %s (%s)", words__clean(limit->cgroup, SAY_OBJECT_COLUMNS).text,
		    words__clean(limit->value, SAY_NAME_COLUMNS).text);
}

void say__waiters(struct finding *finding, const struct answer *answer)
{
	if (!answer->waiter_count || !answer->waiters_ns)
		return;
	say(finding, "; ");
	for (size_t i = 0; i < answer->waiter_count; i++) {
		if (i)
			say(finding, i + 1 == answer->waiter_count ? " and " : ", ");
		say__group(finding, answer->waiters[i]);
	}
	say(finding, " waited %s%s for that", answer->waiter_count > 1 ? "up to " : "",
	    words__time(answer->waiters_ns).text);
}

void say__peer(struct finding *finding, const char *peer)
{
	size_t before = strlen(MODEL_UNIX_PEER);
	bool is_unix = !strncmp(peer, MODEL_UNIX_PEER, before);

	say(finding, "%s%s", words__clean(peer + (is_unix ? before : 0), SAY_OBJECT_COLUMNS).text,
	    is_unix ? ", on a UNIX socket" : "");
}

void say__blame(struct finding *finding, const struct model_group *group)
{
	struct words name = words__clean(group->process_comm, FINDING_NAME_SIZE / 4);
	char *culprit;

	for (size_t i = 0; i < finding->culprit_count; i++)
		if (!strcmp(finding->culprits[i], name.text))
			return;
	if (finding->culprit_count >= FINDING_CULPRITS)
		return;
	culprit = finding->culprits[finding->culprit_count++];
	*culprit = '\0';
	words__say(culprit, FINDING_NAME_SIZE, "%s", name.text);
}

static bool has_signal(const struct signals *signals, const char *name)
{
	for (size_t i = 0; i < signals->count; i++)
		if (!strcmp(signals->list[i].name, name))
			return true;
	return false;
}

void say__next(struct finding *finding, const struct model *model, const char *signal,
	       const char *options)
{
	if (*finding->next || !finding->group || has_signal(&model->signals, signal))
		return;
	if (model->target && !strncmp(model->target, "command:", 8))
		snprintf(finding->next, sizeof(finding->next), "gapless record %s -- COMMAND",
			 options);
	else
		snprintf(finding->next, sizeof(finding->next), "gapless record %s -p %" PRId64,
			 options, finding->group->first->pid);
}
