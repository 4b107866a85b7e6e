/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * speedscope's own format: https://www.speedscope.app/file-format-schema.json. The first profiles
 * add up all threads, once with all time and once with running time only, heaviest stacks first.
 * They are sums and have no order in time. Then each thread follows in real time, from the start of
 * the recording to its end: a wait lasts as long as it did, a tick covers the time since the last
 * one, and time without a sample is a frame of words.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/tree.h"

DEFINE_CLEANUP(struct tree *, tree__free)

/* Used instead of a node: outside the thread's life; inside it, but without a sample. */
#define NOT_THERE PROFILE_NONE
#define UNKNOWN   (PROFILE_NONE - 1)

/* One profile of the file: the last node of each stack, and its weight. */
struct list {
	uint32_t *nodes;
	int64_t *weights;
	size_t count;
	int64_t total_ns;
};

static void list__release(struct list *list)
{
	free(list->nodes);
	free(list->weights);
}

static int list__init(struct list *list, size_t room)
{
	list->nodes = calloc(room + 1, sizeof(*list->nodes));
	list->weights = calloc(room + 1, sizeof(*list->weights));
	return list->nodes && list->weights ? 0 : -ENOMEM;
}

/* Merges a stack with an equal one before it. */
static void list__add(struct list *list, uint32_t node, int64_t weight_ns)
{
	if (!weight_ns)
		return;
	list->total_ns += weight_ns;
	if (list->count && list->nodes[list->count - 1] == node) {
		list->weights[list->count - 1] += weight_ns;
		return;
	}
	list->nodes[list->count] = node;
	list->weights[list->count++] = weight_ns;
}

/* Prints a stack as numbers of frames, outermost first. */
static void print_stack(const struct tree *tree, uint32_t node, bool with_thread, FILE *out)
{
	uint32_t way[CODE_MOST_DEPTH + 3];
	size_t length = 0;

	if (node == UNKNOWN)
		way[length++] = (uint32_t)tree->label_count; /* follows those of the tree */
	for (uint32_t at = node; node < UNKNOWN && at; at = tree->nodes[at].parent)
		if (with_thread || tree->nodes[at].kind != TREE_THREAD)
			way[length++] = tree->nodes[at].label;
	fputc('[', out);
	while (length) {
		fprintf(out, "%" PRIu32, way[--length]);
		if (length)
			fputc(',', out);
	}
	fputc(']', out);
}

static void print_list(const struct tree *tree, const struct list *list, bool with_thread,
		       FILE *out)
{
	fprintf(out,
		",\"unit\":\"nanoseconds\",\"startValue\":0,\"endValue\":%" PRId64
		",\n\"samples\":[",
		list->total_ns);
	for (size_t i = 0; i < list->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		print_stack(tree, list->nodes[i], with_thread, out);
	}
	fputs("],\n\"weights\":[", out);
	for (size_t i = 0; i < list->count; i++)
		fprintf(out, "%s%" PRId64, i ? "," : "", list->weights[i]);
	fputs("]}", out);
}

static int print_all(const struct tree *tree, bool only_running, FILE *out)
{
	cleanup(list__release) struct list list = {};
	int err = list__init(&list, tree->count);

	if (err)
		return err;
	for (uint32_t node = 0; node != PROFILE_NONE; node = tree__next(tree, node))
		list__add(&list, node,
			  only_running ? tree->nodes[node].self_run_ns : tree->nodes[node].self_ns);
	if (only_running && !list.total_ns)
		return 0;
	fprintf(out,
		"%s{\"type\":\"sampled\",\"name\":\"all threads, %s (sums, not in order of time)\"",
		only_running ? ",\n" : "", only_running ? "running" : "wall time");
	print_list(tree, &list, true, out);
	return 0;
}

/* Adds the samples of a thread in real time. */
static void add_timeline(struct list *list, const struct profile *profile, const uint32_t *nodes,
			 const uint32_t *order, size_t count)
{
	const struct profile_thread *thread = &profile->threads[profile->samples[order[0]].thread];
	int64_t at_ns = thread->first_ns;

	list__add(list, NOT_THERE, at_ns - profile->start_ns);
	for (size_t i = 0; i < count; i++) {
		const struct profile_sample *sample = &profile->samples[order[i]];
		int64_t begin_ns =
			sample->time_ns - (sample->is_tick ? sample->weight_ns : sample->wait_ns);

		if (begin_ns < at_ns)
			begin_ns = at_ns;
		if (sample->time_ns <= begin_ns)
			continue;
		list__add(list, UNKNOWN, begin_ns - at_ns);
		list__add(list, nodes[order[i]], sample->time_ns - begin_ns);
		at_ns = sample->time_ns;
	}
	if (thread->last_ns > at_ns)
		list__add(list, UNKNOWN, thread->last_ns - at_ns);
	list__add(list, NOT_THERE, profile->end_ns - profile->start_ns - list->total_ns);
}

static int print_thread(const struct profile *profile, const struct tree *tree,
			const uint32_t *nodes, const uint32_t *order, size_t count, FILE *out)
{
	const struct profile_thread *thread;
	char name[TEXTS_MOST + 32];
	cleanup(list__release) struct list list = {};
	int err = count ? list__init(&list, 2 * count + 3) : 0;

	if (err || !count)
		return err;
	add_timeline(&list, profile, nodes, order, count);
	thread = &profile->threads[profile->samples[order[0]].thread];
	snprintf(name, sizeof(name), "%s (%d)", thread->comm, thread->tid);
	fputs(",\n{\"type\":\"sampled\",\"name\":", out);
	escape__json(out, name);
	print_list(tree, &list, false, out);
	return 0;
}

/*
 * Sorts samples by thread. Each thread's samples, starts[t] to starts[t + 1], stay in order of
 * time.
 */
static void order_by_thread(const struct profile *profile, size_t *starts, uint32_t *order)
{
	for (size_t i = 0; i < profile->sample_count; i++)
		starts[profile->samples[i].thread + 2]++;
	for (size_t i = 2; i < profile->thread_count + 2; i++)
		starts[i] += starts[i - 1];
	for (size_t i = 0; i < profile->sample_count; i++)
		order[starts[profile->samples[i].thread + 1]++] = (uint32_t)i;
}

static int print_threads(const struct profile *profile, const struct tree *tree,
			 const uint32_t *nodes, FILE *out)
{
	cleanup(free_p) size_t *starts = calloc(profile->thread_count + 2, sizeof(*starts));
	cleanup(free_p) uint32_t *order = calloc(profile->sample_count + 1, sizeof(*order));
	int err = 0;

	if (!starts || !order)
		return -ENOMEM;
	order_by_thread(profile, starts, order);
	for (size_t i = 0; i < profile->thread_count && !err; i++)
		err = print_thread(profile, tree, nodes, order + starts[i],
				   starts[i + 1] - starts[i], out);
	return err;
}

/* Each label of the tree is a frame of the file. */
static int print_frames(const struct profile *profile, const struct tree *tree, FILE *out)
{
	cleanup(free_p) uint32_t *nodes = calloc(tree->label_count, sizeof(*nodes));

	if (!nodes)
		return -ENOMEM;
	for (size_t i = tree->count; i-- > 0;)
		nodes[tree->nodes[i].label] = (uint32_t)i;
	for (size_t i = 0; i < tree->label_count; i++) {
		const struct tree_node *node = &tree->nodes[nodes[i]];
		const struct code_function *function =
			node->function == PROFILE_NONE ? NULL
						       : &profile->code.functions[node->function];

		fputs(i ? ",\n{\"name\":" : "\n{\"name\":", out);
		escape__json(out, node->name);
		if (function) {
			fputs(",\"file\":", out);
			escape__json(out, function->file
						  ? function->file
						  : profile->code.modules[function->module].path);
		}
		if (function && function->file && function->start_line)
			fprintf(out, ",\"line\":%" PRIu32, function->start_line);
		fputc('}', out);
	}
	fprintf(out, ",\n{\"name\":\"[no sample%s]\"}", profile->left_out_ns ? ", or idle" : "");
	return 0;
}

static int print_file(const struct profile *profile, const struct tree *tree, const uint32_t *nodes,
		      FILE *out)
{
	char left_out[LABEL_SIZE], name[TEXTS_MOST + LABEL_SIZE];
	int err;

	snprintf(name, sizeof(name), profile->left_out_ns ? "%s, %s" : "%s", profile->target,
		 label__left_out(profile, left_out));
	fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
	      "\"exporter\":\"gapless\",\n\"name\":",
	      out);
	escape__json(out, name);
	fputs(",\"activeProfileIndex\":0,\n\"shared\":{\"frames\":[", out);
	err = print_frames(profile, tree, out);
	fputs("]},\n\"profiles\":[\n", out);
	if (!err)
		err = print_all(tree, false, out);
	if (!err)
		err = print_all(tree, true, out);
	if (!err)
		err = print_threads(profile, tree, nodes, out);
	fputs("]}\n", out);
	return err ? err : ferror(out) ? -EIO : 0;
}

static int write_speedscope(const struct profile *profile, FILE *out)
{
	cleanup(tree__free_p) struct tree *tree = NULL;
	cleanup(free_p) uint32_t *nodes = calloc(profile->sample_count + 1, sizeof(*nodes));
	int err = nodes ? tree__build(profile, true, &tree) : -ENOMEM;

	/* The tree has all nodes already, so this only finds them. */
	for (size_t i = 0; !err && i < profile->sample_count; i++)
		err = tree__place(tree, &profile->samples[i], &nodes[i]);
	return err ? err : print_file(profile, tree, nodes, out);
}

const struct exporter export_speedscope = {
	.name = "speedscope",
	.about = "for speedscope.app: all threads, and each by itself over time",
	.suffix = ".speedscope.json",
	.no_idle = true,
	.write = write_speedscope,
};
