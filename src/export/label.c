/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/label.h"

#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "vocabulary/window_words.h"

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

const struct profile_class *label__class(const struct profile *profile,
					 const struct profile_sample *sample)
{
	if (sample->window >= profile->window_count)
		return NULL;
	return &profile->classes[profile->windows[sample->window].class];
}

const char *label__band(const struct profile_window *window)
{
	static const char *const words[PROFILE_BANDS] = {
		[PROFILE_FAST] = "fast", [PROFILE_MIDDLE] = "middle", [PROFILE_SLOW] = "slow"
	};

	return words[window->band];
}

const char *label__latency(const struct profile *profile, const struct profile_sample *sample)
{
	return sample->is_after ? "after" : label__band(&profile->windows[sample->window]);
}

const char *label__window(const struct profile *profile, const struct profile_window *window)
{
	const struct profile_class *class = &profile->classes[window->class];

	if (window->text)
		return window->text;
	if (*class->name)
		return class->name;
	if (!strcmp(class->kind, window_words__kind(WORDS_KIND_CALL)->key) && *class->address)
		return class->address;
	return "request";
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

const char *label__kind_of(const struct profile *profile, const struct profile_window *window)
{
	int kind = window_words__find_kind(profile->classes[window->class].kind);

	return kind < 0 ? "request" : window_words__kind((enum window_words_kind)kind)->one;
}

/* The longest part that is shorter than `before`, or as long and behind it; NULL: there is none. */
static const struct profile_part *next_part(const struct profile *profile,
					    const struct profile_window *window,
					    const struct profile_part *before)
{
	const struct profile_part *best = NULL, *part = &profile->parts[window->first_part];

	for (const struct profile_part *end = part + window->part_count; part < end; part++) {
		bool is_next = !before || part->ns < before->ns ||
			       (part->ns == before->ns && part > before);

		if (is_next && (!best || part->ns > best->ns))
			best = part;
	}
	return best;
}

const char *label__parts(const struct profile *profile, const struct profile_window *window,
			 char ret[LABEL_SIZE])
{
	const struct profile_part *part = NULL;
	char time[LABEL_SHORT];

	*ret = '\0';
	while (window->part_count && (part = next_part(profile, window, part)))
		words__say(ret, LABEL_SIZE, "%s%s %s%s", *ret ? ", " : "", part->words,
			   part->is_overlap ? "-" : "", label__time(part->ns, time));
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
