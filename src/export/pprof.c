/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof's format (base/pprof.h).
 *
 * Samples with the same stack and labels are merged, so a long recording stays small. Time off the
 * CPU is shown by the labels state and cause and by the sample types, not by frames, because pprof
 * can split by labels. So can requests: the labels service, request and latency. Addresses are ELF
 * virtual addresses, so each mapping begins at 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/gzip.h"
#include "base/pprof.h"
#include "export/exporter.h"
#include "export/label.h"
#include "model/texts.h"

#define PAGE 4096

struct module_use {
	uint64_t low, high; /* range of addresses */
	int64_t weight_ns;
	bool is_used, has_files, has_lines;
};

struct writer {
	const struct profile *profile;
	struct pprof out;
	struct texts texts;
	struct intern notes; /* locations and functions after those of the profile */
	struct module_use *modules;
	bool *frames, *functions; /* those in use */
	uint32_t *order;          /* sorted indexes of samples */
	bool failed;
};

static void writer__release(struct writer *writer)
{
	pprof__release(&writer->out);
	intern__release(&writer->notes);
	texts__release(&writer->texts);
	free(writer->modules);
	free(writer->frames);
	free(writer->functions);
	free(writer->order);
}

static int compare_texts(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* A number for the labels of a sample's window; 0: it has none. */
static uint64_t window_of(const struct profile *profile, const struct profile_sample *sample)
{
	const struct profile_window *window = &profile->windows[sample->window];

	if (sample->window >= profile->window_count)
		return 0;
	return (uint64_t)window->class * (PROFILE_BANDS + 1) +
	       (sample->is_after ? PROFILE_BANDS : window->band) + 1;
}

/* Samples compare equal if they differ only in times and weights. Equal samples are merged. */
static int compare_samples(const struct profile *profile, const struct profile_sample *a,
			   const struct profile_sample *b)
{
	const uint64_t pairs[][2] = {
		{ a->thread, b->thread },
		{ a->state, b->state },
		{ a->stack, b->stack },
		{ window_of(profile, a), window_of(profile, b) },
	};
	int by_none;

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++)
		if (pairs[i][0] != pairs[i][1])
			return pairs[i][0] < pairs[i][1] ? -1 : 1;
	by_none = compare_texts(a->none, b->none);
	return by_none ? by_none : compare_texts(a->end, b->end);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
	int result = compare_samples(profile, &profile->samples[first], &profile->samples[second]);

	return result ? result : (first > second) - (first < second);
}

/* The location that says why a stack is incomplete; 0: it is complete. */
static uint64_t note_of(struct writer *writer, const struct profile_sample *sample)
{
	char note[TEXTS_MOST];
	const char *kept;
	uint32_t number = 0;

	if (!sample->none && !sample->end)
		return 0;
	snprintf(note, sizeof(note), "[%s: %s]", sample->none ? "no stack" : "cut",
		 sample->none ? sample->none : sample->end);
	kept = texts__repeat(&writer->texts, note);
	if (!kept || intern__find(&writer->notes, kept, &number))
		writer->failed = true;
	return writer->profile->code.frame_count + number + 1;
}

/* Innermost first. Returns how many there are. */
static size_t list_locations(struct writer *writer, const struct profile_sample *sample,
			     uint64_t way[static CODE_MOST_DEPTH + 1])
{
	const struct profile *profile = writer->profile;
	uint64_t note = note_of(writer, sample);
	size_t length = 0;

	for (uint32_t at = sample->stack; at != PROFILE_NONE;
	     at = profile->code.stacks[at].parent) {
		writer->frames[profile->code.stacks[at].frame] = true;
		way[length++] = profile->code.stacks[at].frame + 1;
	}
	if (note)
		way[length++] = note;
	return length;
}

static void add_window(struct writer *writer, const struct profile_sample *sample)
{
	const struct profile_class *class = label__class(writer->profile, sample);

	if (!class)
		return;
	pprof__label(&writer->out, "service", class->service);
	if (*class->name)
		pprof__label(&writer->out, "request", class->name);
	pprof__label(&writer->out, "latency", label__latency(writer->profile, sample));
}

static void add_sample(struct writer *writer, const struct profile_sample *sample,
		       uint64_t weight_ns, uint64_t count)
{
	const struct profile *profile = writer->profile;
	const struct profile_thread *thread = &profile->threads[sample->thread];
	const struct profile_state *state = &profile->states[sample->state];
	const uint64_t values[] = { count, state->is_run ? weight_ns : 0, weight_ns,
				    state->is_run ? 0 : weight_ns };
	uint64_t way[CODE_MOST_DEPTH + 1];
	struct pprof *out = &writer->out;
	size_t length;

	length = list_locations(writer, sample, way);
	pprof__sample(out, way, length, values, sizeof(values) / sizeof(*values));
	pprof__label(out, "thread", thread->comm);
	pprof__label_number(out, "tid", thread->tid);
	if (thread->process != PROFILE_NONE)
		pprof__label_number(out, "pid", profile->processes[thread->process].pid);
	if (thread->process != PROFILE_NONE && profile->processes[thread->process].runtime)
		pprof__label(out, "runtime", profile->processes[thread->process].runtime);
	pprof__label(out, "state", state->state);
	pprof__label(out, "cause", state->cause);
	add_window(writer, sample);
	pprof__end_sample(out);
}

static void add_samples(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct profile_sample *samples = profile->samples;

	for (size_t i = 0; i < profile->sample_count; i++)
		writer->order[i] = (uint32_t)i;
	qsort_r(writer->order, profile->sample_count, sizeof(*writer->order), compare,
		(void *)profile);
	for (size_t i = 0, next; i < profile->sample_count; i = next) {
		const struct profile_sample *first = &samples[writer->order[i]];
		uint64_t weight_ns = 0, count = 0;

		for (next = i; next < profile->sample_count; next++) {
			const struct profile_sample *other = &samples[writer->order[next]];

			if (compare_samples(profile, first, other))
				break;
			weight_ns += (uint64_t)other->weight_ns;
			count++;
		}
		add_sample(writer, first, weight_ns, count);
	}
}

static void use_frame(struct writer *writer, const struct code_frame *frame)
{
	const struct profile *profile = writer->profile;
	struct module_use *use = &writer->modules[frame->module];

	if (!use->is_used || frame->address < use->low)
		use->low = frame->address;
	if (!use->is_used || frame->address > use->high)
		use->high = frame->address;
	use->is_used = true;
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct code_line *line = &profile->code.lines[frame->first_line + i];

		writer->functions[line->function] = true;
		use->has_files |= profile->code.functions[line->function].file != NULL;
		use->has_lines |= line->line != 0;
	}
}

static void add_location(struct writer *writer, uint64_t id, const struct code_frame *frame)
{
	pprof__location(&writer->out, id, frame->module + 1, frame->address);
	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct code_line *line = &writer->profile->code.lines[frame->first_line + i];

		pprof__line(&writer->out, line->function + 1, line->line, line->column);
	}
	pprof__end_location(&writer->out);
}

static void add_function(struct writer *writer, uint64_t id, const struct code_function *function)
{
	const struct pprof_function one = { .id = id,
					    .name = function->name,
					    .system_name = function->system_name,
					    .file = function->file,
					    .start_line = function->start_line };

	pprof__function(&writer->out, &one);
}

static void add_note_frames(struct writer *writer)
{
	const struct profile *profile = writer->profile;

	for (size_t i = 0; i < writer->notes.count; i++) {
		const struct code_function function = {
			.name = writer->notes.texts[i],
			.system_name = writer->notes.texts[i],
		};
		uint64_t id = profile->code.function_count + i + 1;

		pprof__location(&writer->out, profile->code.frame_count + i + 1, 0, 0);
		pprof__line(&writer->out, id, 0, 0);
		pprof__end_location(&writer->out);
		add_function(writer, id, &function);
	}
}

static void add_code(struct writer *writer)
{
	const struct profile *profile = writer->profile;

	for (size_t i = 0; i < profile->code.frame_count; i++) {
		if (!writer->frames[i])
			continue;
		use_frame(writer, &profile->code.frames[i]);
		add_location(writer, i + 1, &profile->code.frames[i]);
	}
	for (size_t i = 0; i < profile->code.function_count; i++)
		if (writer->functions[i])
			add_function(writer, i + 1, &profile->code.functions[i]);
	add_note_frames(writer);
}

static void add_mapping(struct writer *writer, size_t at)
{
	const struct code_module *module = &writer->profile->code.modules[at];
	const struct module_use *use = &writer->modules[at];
	bool is_file = !strcmp(module->kind, "file") || !strcmp(module->kind, "vdso");
	uint64_t limit = (use->high | (PAGE - 1)) + 1;

	pprof__mapping(&writer->out,
		       &(struct pprof_mapping) {
			       .id = at + 1,
			       .start = is_file ? 0 : use->low & -(uint64_t)PAGE,
			       .limit = limit ? limit : UINT64_MAX,
			       .file = module->path,
			       .build_id = module->build_id,
			       /* All names that exist: readers need not symbolize again. */
			       .has_functions = true,
			       .has_files = use->has_files,
			       .has_lines = use->has_lines,
		       });
}

/* Whether a module is more likely the program: files that are not libraries first, then by time. */
static bool is_better(const struct writer *writer, size_t at, size_t best)
{
	const struct code_module *modules = writer->profile->code.modules;
	bool is_program = !strcmp(modules[at].kind, "file") && !strstr(modules[at].path, ".so");
	bool was_program =
		!strcmp(modules[best].kind, "file") && !strstr(modules[best].path, ".so");

	if (is_program != was_program)
		return is_program;
	return writer->modules[at].weight_ns > writer->modules[best].weight_ns;
}

/* The program comes first, because readers take the profile's name and build ID from there. */
static int add_mappings(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	cleanup(free_p) int64_t *weights = calloc(profile->code.stack_count + 1, sizeof(*weights));
	size_t best = PROFILE_NONE;

	if (!weights)
		return -ENOMEM;
	for (size_t i = 0; i < profile->sample_count; i++)
		if (profile->samples[i].stack != PROFILE_NONE)
			weights[profile->samples[i].stack] += profile->samples[i].weight_ns;
	for (size_t i = profile->code.stack_count; i-- > 0;) {
		const struct code_stack *stack = &profile->code.stacks[i];
		bool is_inner =
			stack->parent != PROFILE_NONE &&
			profile->code.frames[profile->code.stacks[stack->parent].frame].module ==
				profile->code.frames[stack->frame].module;

		/*
		 * Calls within a module do not count again. A stack may leave and enter a module
		 * many times, so divide by the depth limit to prevent overflow.
		 */
		if (!is_inner)
			writer->modules[profile->code.frames[stack->frame].module].weight_ns +=
				weights[i] / CODE_MOST_DEPTH;
		if (stack->parent != PROFILE_NONE)
			weights[stack->parent] += weights[i];
	}
	for (size_t i = 0; i < profile->code.module_count; i++)
		if (writer->modules[i].is_used &&
		    (best == PROFILE_NONE || is_better(writer, i, best)))
			best = i;
	if (best != PROFILE_NONE)
		add_mapping(writer, best);
	for (size_t i = 0; i < profile->code.module_count; i++)
		if (writer->modules[i].is_used && i != best)
			add_mapping(writer, i);
	return 0;
}

static int add_head(struct writer *writer)
{
	const struct profile *profile = writer->profile;
	char comment[TEXTS_MOST];
	const char *kept;

	snprintf(comment, sizeof(comment), "gapless %.200s of %.1000s on Linux %.200s",
		 profile->version, profile->target, profile->kernel);
	kept = texts__keep(&writer->texts, comment);
	if (!kept)
		return -ENOMEM;
	pprof__head(&writer->out,
		    &(struct pprof_head) {
			    .time_ns = (uint64_t)profile->start_unix_ns,
			    .duration_ns = (uint64_t)(profile->end_ns - profile->start_ns),
			    .period_ns = (uint64_t)profile->period_ns,
			    .comment = kept,
			    .period_type = "cpu",
			    .default_type = "wall",
		    });
	return 0;
}

static int write_pprof(const struct profile *profile, FILE *out)
{
	cleanup(writer__release) struct writer writer = {
		.texts.clean = true,
		.profile = profile,
		.modules = calloc(profile->code.module_count + 1, sizeof(*writer.modules)),
		.frames = calloc(profile->code.frame_count + 1, sizeof(*writer.frames)),
		.functions = calloc(profile->code.function_count + 1, sizeof(*writer.functions)),
		.order = calloc(profile->sample_count + 1, sizeof(*writer.order)),
	};
	int err;

	if (!writer.modules || !writer.frames || !writer.functions || !writer.order)
		return -ENOMEM;
	pprof__begin(&writer.out);
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "samples", "count");
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "cpu", "nanoseconds");
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "wall", "nanoseconds");
	pprof__type(&writer.out, PPROF_SAMPLE_TYPE, "off_cpu", "nanoseconds");
	add_samples(&writer);
	add_code(&writer);
	err = add_mappings(&writer);
	if (!err)
		err = add_head(&writer);
	if (!err)
		err = pprof__finish(&writer.out);
	if (err || writer.failed)
		return err ? err : -ENOMEM;
	return gzip__write(writer.out.out.bytes, writer.out.out.size, out);
}

const struct exporter export_pprof = {
	.name = "pprof",
	.about = "for pprof, Pyroscope, Parca and others",
	.suffix = ".pb.gz",
	.binary = true,
	.write = write_pprof,
};
