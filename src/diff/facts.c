/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Warns about what makes two recordings incomparable: they were made differently or are incomplete.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/words.h"
#include "diff/diff.h"
#include "vocabulary/counters.h"

#define MOST_TEXT 512
/* The largest tolerated share of time that is unexplained, or not covered by samples. */
#define MOST_UNEXPLAINED 0.001
#define MOST_UNSAMPLED   0.01

static const struct {
	const char *name;
	const char *means; /* why that matters */
} facts[DIFF_FACTS] = {
	[DIFF_TARGET] = { "targets", "they may not be the same work" },
	[DIFF_LEVEL] = { "levels", "what is counted and what it costs differ" },
	[DIFF_KERNEL] = { "kernels", "the change may be the kernel's" },
	[DIFF_CPUS] = { "numbers of CPUs", "ready time and shares differ by that" },
	[DIFF_RATE] = { "rates of samples", "functions are known better on one side" },
	[DIFF_SIGNALS] = { "signals", "what one side did not count looks new or gone" },
	[DIFF_HOOKS] = { "hooks", "they do not cost the same, and may not see the same" },
	[DIFF_WARMUP] = { "warm-ups", "one side may hold the work of starting" },
	[DIFF_VERSION] = { "versions of gapless", "what is counted may differ" },
	[DIFF_COMMIT] = { "builds of gapless", "what is counted may differ" },
	[DIFF_CPU_MODEL] = { "models of CPU", "the change may be the machine's" },
	[DIFF_GOVERNOR] = { "frequency governors", "the change may be the speed of the CPUs" },
	[DIFF_NOTES] = { "notes", "whoever recorded them says that they differ" },
};

static void say_losses(const struct model *model, char *text, size_t size)
{
	const struct model_figure *unsampled =
		model__find(model->qualities, model->quality_count, "samples_lost_ns");

	for (size_t i = 0; i < model->quality_count; i++) {
		const struct model_figure *figure = &model->qualities[i];

		if (figure->value > 0 && counters__is_loss(figure->name))
			words__say(text, size, "%s%s %s", *text ? ", " : "",
				   words__clean(figure->name, 40).text,
				   words__number((int64_t)figure->value).text);
	}
	if (!model->measured_threads)
		words__say(text, size, "%sno thread was seen", *text ? ", " : "");
	if ((double)model->unexplained_ns > (double)model->threads_ns * MOST_UNEXPLAINED)
		words__say(text, size, "%s%s of the time unexplained", *text ? ", " : "",
			   words__about(model->unexplained_ns, model->threads_ns).text);
	if (unsampled && model->threads_ns > 0 &&
	    unsampled->value > (double)model->threads_ns * MOST_UNSAMPLED)
		words__say(text, size, "%s%s of the time without samples", *text ? ", " : "",
			   words__about((int64_t)unsampled->value, model->threads_ns).text);
	if (!model->complete)
		words__say(text, size, "%sit ended early", *text ? ", " : "");
}

/* "tp_btf, tp_btf, none": in the order of the recording, which is that of the program. */
static void say_hooks(const struct model *model, char *text, size_t size)
{
	json_t *hook;
	size_t i;

	json_array_foreach (model->hooks, i, hook) {
		const char *event = json_string_value(json_object_get(hook, "event"));
		const char *kind = json_string_value(json_object_get(hook, "kind"));

		words__say(text, size, "%s%s by %s", i ? ", " : "", words__clean(event, 60).text,
			   words__clean(kind ? kind : "nothing", 20).text);
	}
}

/* The facts that older recordings do not have. */
static char *later_fact(const struct model *model, enum diff_fact fact)
{
	const char *words = fact == DIFF_COMMIT      ? model->commit
			    : fact == DIFF_CPU_MODEL ? model->cpu_model
						     : model->governor;
	char text[MOST_TEXT * 8] = "";

	for (size_t i = 0; i < model->note_count && fact == DIFF_NOTES; i++)
		words__say(text, sizeof(text), "%s%s = %s", i ? ", " : "",
			   words__clean(model->notes[i].name, 40).text,
			   words__clean(model->notes[i].value, 100).text);
	if (fact != DIFF_NOTES && words)
		words__say(text, sizeof(text), "%s",
			   *words ? words__clean(words, 200).text : "none");
	return strdup(*text ? text : DIFF_UNKNOWN);
}

static char *fact(const struct model *model, enum diff_fact fact)
{
	char text[MOST_TEXT * 8] = "";
	const char *words = NULL;

	switch (fact) {
	case DIFF_TARGET:
		words = model->target;
		break;
	case DIFF_LEVEL:
		words = model->level;
		break;
	case DIFF_KERNEL:
		words = model->kernel;
		break;
	case DIFF_VERSION:
		words = model->version;
		break;
	case DIFF_CPUS:
		snprintf(text, sizeof(text), "%" PRId64, model->cpus);
		break;
	case DIFF_RATE:
		if (model->hot.period_ns)
			snprintf(text, sizeof(text), "%.0f a second",
				 1e9 / (double)model->hot.period_ns);
		break;
	case DIFF_WARMUP:
		if (model->warmup_ns)
			snprintf(text, sizeof(text), "%s", words__time(model->warmup_ns).text);
		break;
	case DIFF_SIGNALS:
		for (size_t i = 0; i < model->signals.count; i++)
			words__say(text, sizeof(text), "%s%s", i ? ", " : "",
				   words__clean(model->signals.list[i].name, 20).text);
		break;
	default:
		say_hooks(model, text, sizeof(text));
	}
	if (words)
		words__say(text, sizeof(text), "%s", words__clean(words, 200).text);
	return strdup(*text ? text : "none");
}

int facts__read(struct diff_run *run, const struct model *model)
{
	char text[MOST_TEXT] = "";

	for (int i = 0; i < DIFF_FACTS; i++) {
		run->facts[i] = i >= DIFF_COMMIT ? later_fact(model, i) : fact(model, i);
		if (!run->facts[i])
			return -ENOMEM;
	}
	say_losses(model, text, sizeof(text));
	if (!*text)
		return 0;
	run->losses = strdup(text);
	return run->losses ? 0 : -ENOMEM;
}

/* A changed program may well have another command line, and a process another pid. */
static bool is_like(enum diff_fact fact, const char *a, const char *b)
{
	static const char command[] = "command: ", digits[] = "0123456789";

	if (fact >= DIFF_COMMIT && (!strcmp(a, DIFF_UNKNOWN) || !strcmp(b, DIFF_UNKNOWN)))
		return true;
	if (fact != DIFF_TARGET)
		return !strcmp(a, b);
	if (!strncmp(a, command, strlen(command)))
		return !strncmp(b, command, strlen(command));
	for (; *a || *b; a++, b++) {
		a += strspn(a, digits);
		b += strspn(b, digits);
		if (*a != *b)
			return false;
		if (!*a)
			break;
	}
	return true;
}

static int warn_unlike(struct diff *diff, enum diff_fact fact)
{
	const struct diff_run *first = &diff->runs[0];

	/* Compare with the first recording that has the fact. */
	while (first < &diff->runs[diff->run_count - 1] &&
	       !strcmp(first->facts[fact], DIFF_UNKNOWN))
		first++;
	for (size_t i = 1; i < diff->run_count; i++) {
		const struct diff_run *run = &diff->runs[i];

		if (is_like(fact, first->facts[fact], run->facts[fact]))
			continue;
		if (fact == DIFF_HOOKS)
			return diff__warn(diff, "unlike hooks, '%s' and '%s': %s",
					  words__clean(first->path, 60).text,
					  words__clean(run->path, 60).text, facts[fact].means);
		return diff__warn(diff, "unlike %s, '%s' (%s) and '%s' (%s): %s", facts[fact].name,
				  words__clean(first->path, 60).text, first->facts[fact],
				  words__clean(run->path, 60).text, run->facts[fact],
				  facts[fact].means);
	}
	return 0;
}

/* If the machine changed between the two sides, that looks like a change of the program. */
static int warn_order(struct diff *diff)
{
	int64_t first[DIFF_SIDES] = { INT64_MAX, INT64_MAX }, last[DIFF_SIDES] = {};

	if (!diff->enough)
		return 0;
	for (size_t i = 0; i < diff->run_count; i++) {
		const struct diff_run *run = &diff->runs[i];

		if (run->start_unix_ns < first[run->side])
			first[run->side] = run->start_unix_ns;
		if (run->start_unix_ns > last[run->side])
			last[run->side] = run->start_unix_ns;
	}
	if (last[DIFF_BASE] >= first[DIFF_NEW] && last[DIFF_NEW] >= first[DIFF_BASE])
		return 0;
	return diff__warn(
		diff, "all recordings of one side were made before those of the other: a machine "
		      "that changed in between looks like a program that did [record by turns]");
}

/* A recording that is compared with itself shows no noise. */
static int warn_same(struct diff *diff)
{
	cleanup(free_p) struct stat *infos = calloc(diff->run_count, sizeof(*infos));
	int err = infos ? 0 : -ENOMEM;

	for (size_t i = 0; i < diff->run_count && !err; i++) {
		const char *path = diff->runs[i].path;
		size_t j = 0;

		if (stat(path, &infos[i]))
			continue;
		while (infos[j].st_ino != infos[i].st_ino || infos[j].st_dev != infos[i].st_dev)
			j++;
		if (j < i)
			err = diff__warn(diff,
					 "'%s' and '%s' are the same recording: noise looks "
					 "smaller than it is",
					 words__clean(diff->runs[j].path, 60).text,
					 words__clean(path, 60).text);
	}
	return err;
}

int facts__warn(struct diff *diff)
{
	int err = diff->stretches ? 0 : warn_same(diff);

	if (!err)
		err = warn_order(diff);
	for (int i = 0; i < DIFF_FACTS && !err; i++)
		err = warn_unlike(diff, i);
	for (size_t i = diff->stretches; i < diff->run_count && !err; i++)
		if (diff->runs[i].losses)
			err = diff__warn(diff, "'%s' has losses: %s",
					 words__clean(diff->runs[i].path, 60).text,
					 diff->runs[i].losses);
	return err;
}
