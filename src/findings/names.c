/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of threads and objects in findings and tables, and the reason if there are no findings. */
#include <string.h>

#include "base/words.h"
#include "findings/findings.h"

#define NAME_COLUMNS   40
#define OBJECT_COLUMNS 100

void findings__name(const struct model_group *group, const struct model_thread *thread, char *ret,
		    size_t size)
{
	*ret = '\0';
	if (thread && thread->id < 0)
		words__say(ret, size, "%s", words__clean(thread->comm, NAME_COLUMNS).text);
	else if (thread)
		words__say(ret, size, "thread %s (tid %lld)",
			   words__clean(thread->comm, NAME_COLUMNS).text, (long long)thread->tid);
	else
		words__say(ret, size, "threads %s", words__clean(group->name, NAME_COLUMNS).text);
}

void findings__culprit(const struct model_blame *blame, char *ret, size_t size)
{
	const struct model_wait *wait = blame->first;
	char by[512] = "", first[512] = "";

	*ret = '\0';
	if (!model__has_culprit(wait->state))
		return;
	if (!strcmp(wait->evidence, "timeout")) {
		words__say(ret, size, "timed out");
		return;
	}
	if (wait->by)
		findings__name(wait->by->group, blame->by_many ? NULL : wait->by, by, sizeof(by));
	if (wait->first)
		findings__name(wait->first->group, blame->first_many ? NULL : wait->first, first,
			       sizeof(first));
	if (*first && !strcmp(first, by))
		words__say(ret, size, "first and last held by %s", by);
	else if (*first)
		words__say(ret, size, *by ? "first held by %s, last by %s" : "first held by %s",
			   first, by);
	else if (*by)
		words__say(ret, size, "%s %s",
			   strcmp(wait->evidence, "owner") ? "woken by" : "held by", by);
}

/* Often the name already contains the kind: "pipe:[123]", "a child". */
void findings__object(const struct model_wait *wait, char *ret, size_t size)
{
	struct words name = words__clean(wait->object_name, OBJECT_COLUMNS);
	struct words kind = words__clean(wait->object_kind, NAME_COLUMNS);

	*ret = '\0';
	if (!*kind.text || !*name.text)
		words__say(ret, size, "%s%s", kind.text, name.text);
	else if (strstr(name.text, kind.text))
		words__say(ret, size, "%s", name.text);
	else
		words__say(ret, size, "%s %s", kind.text, name.text);
}

void findings__why_empty(const struct model *model, char *text, size_t size)
{
	size_t i, attached = 0;
	json_t *hook;

	*text = '\0';
	if (model->measured_threads)
		return;
	json_array_foreach (model->hooks, i, hook)
		attached += json_is_string(json_object_get(hook, "kind")) &&
			    !json_object_get(hook, "signal");
	if (model->cut)
		words__say(text, size,
			   "No thread of the target lived in this part of the recording.");
	else if (json_array_size(model->hooks) && !attached)
		words__say(text, size, "Nothing was measured: no hook could be attached.");
	else if (!model->wall_ns)
		words__say(
			text, size,
			"The recording holds no time: the recorder ended before its first slice.");
	else
		words__say(text, size,
			   "No thread of the target (%s) was seen in %s: it had ended, or nothing "
			   "matches the filter.",
			   words__clean(model->target ? model->target : "unknown", OBJECT_COLUMNS)
				   .text,
			   words__time(model->wall_ns).text);
}
