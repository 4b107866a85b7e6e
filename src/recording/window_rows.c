/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/window_rows.h"

#include "recording/writer.h"

int window_rows__put_class(struct recording *recording, const struct recording_window_class *class)
{
	return ADD_ROW(recording, SQL_WINDOW_CLASS, number(class->id), text(class->kind),
		       text(class->protocol), text(class->service), text(class->name),
		       text(class->status), number(class->process));
}

int window_rows__add_band(struct recording *recording, const struct recording_window_band *band)
{
	return ADD_ROW(recording, SQL_WINDOW_BAND, number(band->to), number(band->class),
		       number(band->bucket), number(band->from), number(band->count),
		       number(band->n));
}

int window_rows__add_time(struct recording *recording, const struct recording_window_time *time)
{
	return ADD_ROW(recording, SQL_WINDOW_TIME, number(time->to), number(time->class),
		       number(time->bucket), text(time->part), number(time->state),
		       number(time->from), number(time->ns));
}

int window_rows__put(struct recording *recording, const struct recording_window *window)
{
	return ADD_ROW(recording, SQL_WINDOW, number(window->id), number(window->class),
		       number(window->thread), number(window->ready_ns), number(window->read_ns),
		       number(window->answer_ns), number(window->end_ns), number(window->n),
		       number(window->left), real(window->weight), number(window->has_details),
		       number(window->parent), text(window->evidence), text(window->worker),
		       text(window->text), text(window->ends), number(window->after_ns),
		       number(window->segments), text(window->trace), text(window->trace_span),
		       text(window->request_id));
}

int window_rows__add_part(struct recording *recording, const struct recording_window_part *part)
{
	return ADD_ROW(recording, SQL_WINDOW_PART, number(part->window), text(part->part),
		       number(part->state), number(part->ns));
}

int window_rows__add_wait(struct recording *recording, const struct recording_window_wait *wait)
{
	return ADD_ROW(recording, SQL_WINDOW_WAIT, number(wait->window), number(wait->state),
		       number(wait->object), number(wait->by), text(wait->evidence),
		       number(wait->ns), number(wait->count));
}
