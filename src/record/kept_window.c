/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/kept_window.h"

#include "base/address.h"
#include "record/window_text.h"
#include "recording/window_rows.h"
#include "vocabulary/states.h"

#define TEXT_SIZE 256

#define EVIDENCE_KEY(evidence, key) [WINDOW_BY_##evidence] = key,
#define PART_KEY(part, key, ...)    [WINDOW_PART_##part] = key,

static const char *const evidences[] = { WINDOW_EVIDENCES(EVIDENCE_KEY) };
static const char *const parts[] = { WINDOW_PARTS(PART_KEY) };

const char *kept_window__part(size_t column)
{
	return column < SLOT_COUNT ? "own" : parts[column - SLOT_COUNT];
}

int kept_window__put_bare(struct recording *recording, const struct window *window, uint32_t class)
{
	return window_rows__put(recording,
				&(struct recording_window) { .id = (int64_t)window->serial,
							     .class = class,
							     .thread = (int64_t)window->thread,
							     .ready_ns = (int64_t)window->ready_ns,
							     .end_ns = (int64_t)window->end_ns,
							     .n = window->n,
							     .parent = (int64_t)window->parent });
}

static int put_parts(struct recording *recording, const struct window *window)
{
	int err = 0;

	for (size_t i = 0; i < WINDOW_COLUMNS && !err; i++)
		if (window->ns[i])
			err = window_rows__add_part(recording,
						    &(struct recording_window_part) {
							    .window = (int64_t)window->serial,
							    .part = kept_window__part(i),
							    .state = i < SLOT_COUNT ? (int)i : 0,
							    .ns = (int64_t)window->ns[i] });
	return err;
}

static int put_wait(const struct kept_window_to *to, const struct window *window,
		    const struct window_wait *wait)
{
	struct names *names = collect__names(to->collect);
	struct ledger_key key = { .thread = window->thread,
				  .object = { wait->object[0], wait->object[1] },
				  .by = wait->by,
				  .first = wait->first,
				  .slot = wait->slot,
				  .object_kind = wait->object_kind,
				  .by_kind = wait->by_kind,
				  .evidence = wait->evidence,
				  .pid = wait->pid };
	struct recording_window_wait row = { .window = (int64_t)window->serial,
					     .state = wait->slot,
					     .evidence = states__evidence(key.evidence),
					     .ns = (int64_t)wait->ns,
					     .count = wait->count };
	int err = names__object(names, &key, &row.object);

	if (!err)
		err = names__culprit(names, &key, &row.by);
	return err ? err : window_rows__add_wait(to->recording, &row);
}

static int put_waits(const struct kept_window_to *to, const struct window *window)
{
	int err = 0;

	for (size_t i = 0; i < WINDOW_WAITS && !err; i++)
		if (window->waits[i].ns && SLOT_IS_WAIT(window->waits[i].slot) &&
		    window->waits[i].object_kind < OBJECT_KINDS)
			err = put_wait(to, window, &window->waits[i]);
	return err;
}

static const char *text_or_null(const char *text)
{
	return *text ? text : NULL;
}

int kept_window__put(const struct kept_window_to *to, enum window_protocol protocol,
		     const struct kept_window *kept, double weight)
{
	const struct window_record *record = &kept->record;
	const struct window *window = &record->window;
	const struct address_ends of = { record->ends.family, record->ends.local, record->ends.peer,
					 record->ends.local_port, record->ends.peer_port };
	char text[TEXT_SIZE] = "", ends[TEXT_SIZE] = "";
	const struct recording_window row = {
		.id = (int64_t)window->serial,
		.class = record->class,
		.thread = (int64_t)window->thread,
		.ready_ns = (int64_t)window->ready_ns,
		.read_ns = (int64_t)window->read_ns,
		.answer_ns = (int64_t)window->answer_ns,
		.end_ns = (int64_t)window->end_ns,
		.n = window->n,
		.left = window->left,
		.weight = weight,
		.has_details = true,
		.parent = (int64_t)window->parent,
		.evidence = evidences[window->evidence],
		.worker = evidences[window->worker],
		.text = *text ? text : NULL,
		.ends = ends,
		.after_ns = (int64_t)window->after_ns,
		.segments = window->segments,
		.trace = text_or_null(kept->ids.trace),
		.trace_span = text_or_null(kept->ids.span),
		.request_id = text_or_null(kept->ids.request),
	};
	struct recording_window with_text = row;
	int err;

	window_text__line(protocol, window->text, text, sizeof(text));
	if (*text)
		with_text.text = text;
	if (ADDRESS_IS_KNOWN(record->ends.family))
		address__connection(&of, ends, sizeof(ends));
	if (!*ends)
		with_text.ends = NULL;
	err = window_rows__put(to->recording, &with_text);
	if (!err)
		err = put_parts(to->recording, window);
	return err ? err : put_waits(to, window);
}
