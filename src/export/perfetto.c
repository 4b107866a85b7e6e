/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A trace for Perfetto: a sequence of protocol buffer packets. Each thread has a counter for each
 * of its states, from the accounts: the share of each slice (export/spans.h), so no order is shown
 * that is not known. Sampled waits are slices on a track, with their details and the waiting stack.
 * Only ticks become CPU samples: Perfetto counts samples and has no weights, but a wait weighs its
 * duration.
 *
 * Names, frames and stacks are sent once ("interned") and referred to by number, starting with 1.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/calltree.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/perfetto.h"
#include "export/perfetto_trace.h"
#include "export/spans.h"

#define PACKET_MOST_INTERNED (64 << 10) /* approximate limit in bytes */

/* Ends the packet and adds `flags`. */
static void send_packet(struct perfetto *perfetto, unsigned int flags)
{
	proto__number(&perfetto->packet, PACKET_SEQUENCE, 1);
	proto__number(&perfetto->packet, PACKET_FLAGS,
		      flags | (perfetto->begun ? 0 : FLAGS_CLEARED));
	perfetto->begun = true;
	proto__message(&perfetto->trace, TRACE_PACKET, &perfetto->packet);
	fwrite(perfetto->trace.bytes, 1, perfetto->trace.size, perfetto->file);
	proto__clear(&perfetto->trace);
}

static void write_clock(struct perfetto *perfetto, unsigned int clock, int64_t time_ns)
{
	proto__number(&perfetto->part, CLOCK_ID, clock);
	proto__number(&perfetto->part, CLOCK_TIME, (uint64_t)time_ns);
	proto__message(&perfetto->body, SNAPSHOT_CLOCK, &perfetto->part);
}

/* Writes which clock the times use, and its offset to real time. */
static void write_head(struct perfetto *perfetto)
{
	write_clock(perfetto, MONOTONIC, perfetto->profile->start_ns);
	write_clock(perfetto, REALTIME, perfetto->profile->start_unix_ns);
	proto__number(&perfetto->body, SNAPSHOT_PRIMARY, MONOTONIC);
	proto__message(&perfetto->packet, PACKET_CLOCK_SNAPSHOT, &perfetto->body);
	proto__number(&perfetto->part, TIMEBASE_PERIOD, (uint64_t)perfetto->profile->period_ns);
	proto__number(&perfetto->part, TIMEBASE_COUNTER, COUNTER_CPU_CLOCK);
	proto__message(&perfetto->leaf, PERF_TIMEBASE, &perfetto->part);
	proto__message(&perfetto->body, DEFAULTS_PERF, &perfetto->leaf);
	proto__message(&perfetto->packet, PACKET_DEFAULTS, &perfetto->body);
	send_packet(perfetto, 0);
}

void perfetto__send_track(struct perfetto *perfetto)
{
	proto__message(&perfetto->packet, PACKET_TRACK_DESCRIPTOR, &perfetto->body);
	send_packet(perfetto, 0);
}

static void write_child(struct perfetto *perfetto, enum track track, uint32_t thread,
			const char *name)
{
	proto__number(&perfetto->body, TRACK_UUID, perfetto__uuid(track, thread));
	proto__text(&perfetto->body, TRACK_NAME, name);
	proto__number(&perfetto->body, TRACK_PARENT, perfetto__uuid(TRACK_OF_THREAD, thread));
	perfetto__send_track(perfetto);
}

static void write_process(struct perfetto *perfetto, uint32_t index)
{
	const struct profile_process *process = &perfetto->profile->processes[index];

	if (perfetto->named[index])
		return;
	perfetto->named[index] = true;
	proto__number(&perfetto->body, TRACK_UUID, perfetto__uuid(TRACK_OF_PROCESS, index));
	proto__number(&perfetto->part, PROCESS_PID, (uint64_t)process->pid);
	proto__text(&perfetto->part, PROCESS_NAME, process->comm);
	proto__message(&perfetto->body, TRACK_PROCESS, &perfetto->part);
	perfetto__send_track(perfetto);
}

static void write_tracks(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;

	for (uint32_t i = 0; i < profile->thread_count; i++) {
		const struct profile_thread *thread = &profile->threads[i];

		if (!perfetto->used[i])
			continue;
		if (thread->process != PROFILE_NONE)
			write_process(perfetto, thread->process);
		proto__number(&perfetto->body, TRACK_UUID, perfetto__uuid(TRACK_OF_THREAD, i));
		proto__number(&perfetto->part, THREAD_PID, (uint64_t)profile__pid(profile, i));
		proto__number(&perfetto->part, THREAD_TID, (uint64_t)thread->tid);
		proto__text(&perfetto->part, THREAD_NAME, thread->comm);
		proto__message(&perfetto->body, TRACK_THREAD, &perfetto->part);
		perfetto__send_track(perfetto);
		write_child(perfetto, TRACK_OF_WAITS, i, "drawn waits");
	}
}

void perfetto__send_event(struct perfetto *perfetto, int64_t time_ns, unsigned int flags)
{
	proto__number_always(&perfetto->packet, PACKET_TIMESTAMP, (uint64_t)time_ns);
	proto__message(&perfetto->packet, PACKET_TRACK_EVENT, &perfetto->body);
	send_packet(perfetto, flags);
}

static void begin_slice(struct perfetto *perfetto, enum track track, const struct span *span,
			const char *category)
{
	char name[LABEL_SIZE];

	label__state(&perfetto->profile->states[span->state], name);
	proto__number(&perfetto->body, EVENT_TYPE, TYPE_BEGIN);
	proto__number(&perfetto->body, EVENT_TRACK, perfetto__uuid(track, span->thread));
	proto__text(&perfetto->body, EVENT_CATEGORY, category);
	proto__text(&perfetto->body, EVENT_NAME, name);
}

static void end_slice(struct perfetto *perfetto, enum track track, const struct span *span)
{
	proto__number(&perfetto->body, EVENT_TYPE, TYPE_END);
	proto__number(&perfetto->body, EVENT_TRACK, perfetto__uuid(track, span->thread));
	perfetto__send_event(perfetto, span->begin_ns + span->ns, 0);
}

static void intern_text(struct perfetto *perfetto, unsigned int field, uint64_t id,
			const char *text)
{
	proto__number(&perfetto->part, STRING_ID, id);
	proto__text(&perfetto->part, STRING_BYTES, text);
	proto__message(&perfetto->body, field, &perfetto->part);
}

static void send_interned(struct perfetto *perfetto, size_t more_than)
{
	if (perfetto->body.size <= more_than)
		return;
	proto__message(&perfetto->packet, PACKET_INTERNED_DATA, &perfetto->body);
	send_packet(perfetto, FLAGS_NEEDS_STATE);
}

/*
 * Build IDs are hexadecimal text in a profile and bytes in Perfetto. Returns false if it is not
 * one.
 */
static bool intern_build_id(struct perfetto *perfetto, uint64_t id, const char *text)
{
	unsigned char bytes[64];
	size_t length = text ? strlen(text) : 0;

	if (!length || length % 2 || length / 2 > sizeof(bytes))
		return false;
	for (size_t i = 0; i < length; i += 2) {
		char digits[3] = { text[i], text[i + 1] };

		if (!isxdigit((unsigned char)digits[0]) || !isxdigit((unsigned char)digits[1]))
			return false;
		bytes[i / 2] = (unsigned char)strtoul(digits, NULL, 16);
	}
	proto__number(&perfetto->part, STRING_ID, id);
	proto__bytes(&perfetto->part, STRING_BYTES, bytes, length / 2);
	proto__message(&perfetto->body, INTERNED_BUILD_IDS, &perfetto->part);
	return true;
}

/* Adds one more module than there are, because frames of words need one too. */
static void intern_modules(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;

	for (size_t i = 0; i <= profile->code.module_count; i++) {
		bool ours = i == profile->code.module_count;
		const char *build_id = ours ? NULL : profile->code.modules[i].build_id;
		bool has_id;

		intern_text(perfetto, INTERNED_PATHS, i + 1,
			    ours ? "[gapless]" : profile->code.modules[i].path);
		has_id = intern_build_id(perfetto, i + 1, build_id);
		proto__number(&perfetto->part, MAPPING_ID, i + 1);
		if (has_id)
			proto__number(&perfetto->part, MAPPING_BUILD_ID, i + 1);
		proto__number(&perfetto->part, MAPPING_PATH, i + 1);
		proto__message(&perfetto->body, INTERNED_MAPPINGS, &perfetto->part);
		send_interned(perfetto, PACKET_MOST_INTERNED);
	}
}

static void intern_functions(struct perfetto *perfetto)
{
	size_t real = perfetto->profile->code.function_count,
	       words = perfetto->calls->words.names.count;

	for (size_t i = 0; i < real + words; i++) {
		intern_text(perfetto, INTERNED_FUNCTION_NAMES, i + 1,
			    i < real ? perfetto->profile->code.functions[i].name
				     : perfetto->calls->words.names.texts[i - real]);
		send_interned(perfetto, PACKET_MOST_INTERNED);
	}
}

static unsigned int kind_of(const struct profile *profile, const struct code_frame *frame)
{
	const char *kind = profile->code.modules[frame->module].kind;

	if (frame->is_kernel)
		return KIND_KERNEL;
	return runtime__find(kind) || !strcmp(kind, "jit") ? KIND_JIT : KIND_NATIVE;
}

/* Writes the module and address of a code frame. */
static int write_place(struct perfetto *perfetto, const struct calltree_frame *row)
{
	const struct profile *profile = perfetto->profile;
	const struct code_frame *frame = &profile->code.frames[row->frame];
	const char *file = profile->code.functions[row->function].file;
	size_t before = perfetto->files.names.count;
	uint32_t source;
	int err;

	proto__number(&perfetto->part, FRAME_MAPPING, (uint64_t)frame->module + 1);
	proto__number_always(&perfetto->part, FRAME_PC, frame->address);
	proto__number(&perfetto->part, FRAME_KIND, kind_of(profile, frame));
	if (!file)
		return 0;
	err = strings__add(&perfetto->files, file, &source);
	if (err)
		return err;
	proto__number(&perfetto->part, FRAME_SOURCE, (uint64_t)source + 1);
	proto__number(&perfetto->part, FRAME_LINE, profile->code.lines[row->line].line);
	if (source < before)
		return 0;
	proto__number(&perfetto->leaf, STRING_ID, (uint64_t)source + 1);
	proto__text(&perfetto->leaf, STRING_BYTES, file);
	proto__message(&perfetto->body, INTERNED_SOURCES, &perfetto->leaf);
	return 0;
}

static int intern_frames(struct perfetto *perfetto)
{
	int err = 0;

	for (size_t i = 0; !err && i < perfetto->calls->frame_count; i++) {
		const struct calltree_frame *row = &perfetto->calls->frames[i];

		proto__number(&perfetto->part, FRAME_ID, i + 1);
		proto__number(&perfetto->part, FRAME_NAME, (uint64_t)row->function + 1);
		if (row->frame != PROFILE_NONE) {
			err = write_place(perfetto, row);
		} else {
			proto__number(&perfetto->part, FRAME_MAPPING,
				      perfetto->profile->code.module_count + 1);
			proto__number_always(&perfetto->part, FRAME_PC, i);
		}
		proto__message(&perfetto->body, INTERNED_FRAMES, &perfetto->part);
		send_interned(perfetto, PACKET_MOST_INTERNED);
	}
	return err;
}

/* Perfetto's stacks are lists, the outermost frame first. */
static void intern_stack(struct perfetto *perfetto, uint32_t node)
{
	const struct calltree_node *nodes = perfetto->calls->nodes;
	/* Room for frames of words at both ends. */
	uint32_t frames[CODE_MOST_DEPTH + 2];
	size_t at = CODE_MOST_DEPTH + 2;

	if (perfetto->sent[node])
		return;
	perfetto->sent[node] = true;
	proto__number(&perfetto->part, STACK_ID, (uint64_t)node + 1);
	for (; node != PROFILE_NONE && at; node = nodes[node].parent)
		frames[--at] = nodes[node].frame;
	for (; at < CODE_MOST_DEPTH + 2; at++)
		proto__number(&perfetto->part, STACK_FRAMES, (uint64_t)frames[at] + 1);
	proto__message(&perfetto->body, INTERNED_STACKS, &perfetto->part);
	send_interned(perfetto, PACKET_MOST_INTERNED);
}

static int write_interned(struct perfetto *perfetto)
{
	int err;

	intern_modules(perfetto);
	intern_functions(perfetto);
	err = intern_frames(perfetto);
	for (size_t i = 0; i < perfetto->profile->sample_count; i++)
		intern_stack(perfetto, perfetto->calls->samples[i]);
	send_interned(perfetto, 0);
	return err;
}

static void write_wait(struct perfetto *perfetto, size_t index)
{
	const struct profile_sample *sample = &perfetto->profile->samples[index];
	const struct profile_state *state = &perfetto->profile->states[sample->state];
	const struct calltree *calls = perfetto->calls;
	struct span span = spans__wait(sample, perfetto->free_ns);
	uint32_t waker = calls->wakers[index];
	char name[LABEL_SIZE];

	begin_slice(perfetto, TRACK_OF_WAITS, &span, "wait");
	proto__number(&perfetto->body, EVENT_STACK, (uint64_t)calls->samples[index] + 1);
	perfetto__annotate(perfetto, "cause", state->cause);
	perfetto__annotate(perfetto, "kind", state->kind);
	perfetto__annotate(perfetto, "object", sample->object);
	if (sample->first != PROFILE_NONE)
		perfetto__annotate(perfetto, LABEL_FIRST,
				   label__thread(&perfetto->profile->threads[sample->first], name));
	if (sample->by != PROFILE_NONE)
		perfetto__annotate(perfetto, label__evidence(sample),
				   label__thread(&perfetto->profile->threads[sample->by], name));
	if (sample->evidence == PROFILE_TIMEOUT)
		perfetto__annotate(perfetto, LABEL_ENDED, label__evidence(sample));
	if (waker != PROFILE_NONE)
		perfetto__annotate(perfetto, "waker in",
				   calls->frames[calls->nodes[waker].frame].name);
	perfetto__annotate_ms(perfetto, "length_ms", sample->wait_ns);
	perfetto__annotate_ms(perfetto, "weight_ms", sample->weight_ns);
	proto__text(&perfetto->part, ANNOTATION_NAME, "waits");
	proto__number_always(&perfetto->part, ANNOTATION_NUMBER, sample->count);
	proto__message(&perfetto->body, EVENT_ANNOTATION, &perfetto->part);
	perfetto__send_event(perfetto, span.begin_ns, FLAGS_NEEDS_STATE);
	end_slice(perfetto, TRACK_OF_WAITS, &span);
}

static void write_tick(struct perfetto *perfetto, size_t index, int64_t total_ns)
{
	const struct profile *profile = perfetto->profile;
	const struct profile_sample *sample = &profile->samples[index];
	bool kernel = !strcmp(profile->states[sample->state].cause, "kernel");

	proto__number_always(&perfetto->packet, PACKET_TIMESTAMP, (uint64_t)sample->time_ns);
	proto__number(&perfetto->body, SAMPLE_PID, (uint64_t)profile__pid(profile, sample->thread));
	proto__number(&perfetto->body, SAMPLE_TID, (uint64_t)profile->threads[sample->thread].tid);
	proto__number(&perfetto->body, SAMPLE_STACK, (uint64_t)perfetto->calls->samples[index] + 1);
	proto__number(&perfetto->body, SAMPLE_MODE, kernel ? MODE_KERNEL : MODE_USER);
	proto__number(&perfetto->body, SAMPLE_COUNT, (uint64_t)total_ns);
	proto__message(&perfetto->packet, PACKET_PERF_SAMPLE, &perfetto->body);
	send_packet(perfetto, FLAGS_NEEDS_STATE);
}

static void write_samples(struct perfetto *perfetto)
{
	int64_t total_ns = 0;

	for (size_t i = 0; i < perfetto->profile->sample_count; i++) {
		const struct profile_sample *sample = &perfetto->profile->samples[i];

		if (!sample->is_tick) {
			write_wait(perfetto, i);
			continue;
		}
		total_ns += sample->weight_ns;
		write_tick(perfetto, i, total_ns);
	}
}

static void release(struct perfetto *perfetto)
{
	calltree__free(perfetto->calls);
	free(perfetto->used);
	free(perfetto->named);
	free(perfetto->sent);
	free(perfetto->shares);
	free(perfetto->free_ns);
	strings__release(&perfetto->files);
	proto__release(&perfetto->trace);
	proto__release(&perfetto->packet);
	proto__release(&perfetto->body);
	proto__release(&perfetto->part);
	proto__release(&perfetto->leaf);
}

static int prepare(struct perfetto *perfetto)
{
	const struct profile *profile = perfetto->profile;
	int err = calltree__new(profile, &perfetto->calls);

	if (!err)
		err = spans__used(profile, &perfetto->used);
	if (err)
		return err;
	perfetto->named = calloc(profile->process_count + 1, sizeof(*perfetto->named));
	perfetto->sent = calloc(perfetto->calls->node_count + 1, sizeof(*perfetto->sent));
	perfetto->free_ns = spans__free_ns(profile);
	perfetto->shares = calloc(profile->state_count + 1, sizeof(*perfetto->shares));
	return perfetto->shares && perfetto->named && perfetto->sent && perfetto->free_ns ? 0
											  : -ENOMEM;
}

static int write_perfetto(const struct profile *profile, FILE *file)
{
	cleanup(release) struct perfetto perfetto = { .profile = profile, .file = file };
	int err = prepare(&perfetto);

	if (err)
		return err;
	write_head(&perfetto);
	write_tracks(&perfetto);
	err = write_interned(&perfetto);
	if (err)
		return err;
	perfetto__write_states(&perfetto);
	write_samples(&perfetto);
	perfetto__write_counters(&perfetto);
	err = perfetto__write_events(&perfetto);
	if (!err)
		err = perfetto__write_windows(&perfetto);
	if (err)
		return err;
	if (proto__failed(&perfetto.trace))
		return -ENOMEM;
	return ferror(file) ? -EIO : 0;
}

const struct exporter export_perfetto = {
	.name = "perfetto",
	.about = "a trace for ui.perfetto.dev: waits and shares of every thread, CPU samples",
	.suffix = ".pftrace",
	.binary = true,
	.accounts = true,
	.write = write_perfetto,
};
