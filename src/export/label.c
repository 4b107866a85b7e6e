/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/label.h"

#include <stdio.h>
#include <string.h>

const char *label__state(const struct profile_state *state, char ret[LABEL_SIZE])
{
	snprintf(ret, LABEL_SIZE, "%s.%s", state->state, state->cause);
	return ret;
}

const char *label__kind(const struct profile_state *state, char ret[LABEL_SIZE])
{
	if (!state->kind)
		return label__state(state, ret);
	snprintf(ret, LABEL_SIZE, "%s.%s (%s)", state->state, state->cause,
		 kinds__words(kinds__of(state->state, state->kind))->brief);
	return ret;
}

const char *label__thread(const struct profile_thread *thread, char ret[LABEL_SIZE])
{
	/* An interrupt is not a thread and has only a name. */
	snprintf(ret, LABEL_SIZE, thread->tid > 0 ? "%s (thread %d)" : "%s", thread->comm,
		 thread->tid);
	return ret;
}

const char *label__evidence(const struct profile_sample *sample)
{
	static const char *const words[] = { [PROFILE_WAKER] = "woken by",
					     [PROFILE_OWNER] = "held by",
					     [PROFILE_HANDED] = "held last by",
					     [PROFILE_TIMEOUT] = "timed out" };

	return words[sample->evidence];
}

const char *label__place(const struct profile *profile, uint32_t function, char ret[LABEL_SIZE])
{
	const struct code_function *of =
		function < profile->code.function_count ? &profile->code.functions[function] : NULL;
	const char *slash;

	*ret = '\0';
	if (!of || !of->file || !code__is_managed(&profile->code, function))
		return ret;
	slash = strrchr(of->file, '/');
	snprintf(ret, LABEL_SIZE, of->start_line ? "%s:%u" : "%s", slash ? slash + 1 : of->file,
		 of->start_line);
	return ret;
}

const char *label__time(int64_t ns, char ret[LABEL_SHORT])
{
	static const char *const units[] = { "ns", "µs", "ms", "s" };
	double value = (double)ns;
	size_t unit = 0;

	for (; unit + 1 < sizeof(units) / sizeof(*units) && value >= 999.5; unit++)
		value /= 1000;
	snprintf(ret, LABEL_SHORT, "%.*f %s",
		 !unit || value >= 99.95 ? 0
		 : value >= 9.995        ? 1
					 : 2,
		 value, units[unit]);
	return ret;
}

const char *label__left_out(const struct profile *profile, char ret[LABEL_SIZE])
{
	char time[LABEL_SHORT];

	*ret = '\0';
	if (profile->left_out_ns)
		snprintf(ret, LABEL_SIZE, "without %s %s [--idle shows it]",
			 label__time(profile->left_out_ns, time), kinds__words(KIND_IDLE)->words);
	return ret;
}
