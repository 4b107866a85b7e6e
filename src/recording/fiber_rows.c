/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/fiber_rows.h"

#include "recording/writer.h"

int fiber_rows__put(struct recording *recording, const struct recording_fiber *fiber)
{
	return ADD_ROW(recording, SQL_FIBER, number(fiber->process), number(fiber->id),
		       number(fiber->start), number(fiber->created), number(fiber->first_ns));
}

int fiber_rows__add_state(struct recording *recording, const struct recording_fiber_state *state)
{
	return ADD_ROW(recording, SQL_FIBER_STATE, number(state->id), text(state->state),
		       text(state->reason));
}

int fiber_rows__add_time(struct recording *recording, const struct recording_fiber_time *time)
{
	return ADD_ROW(recording, SQL_FIBER_TIME, number(time->end_ns), number(time->process),
		       number(time->fiber), number(time->state), number(time->object),
		       number(time->stack), number(time->begin_ns), number(time->ns),
		       number(time->readings), real(time->variance));
}

int fiber_rows__add_exact(struct recording *recording, const struct recording_fiber_exact *exact)
{
	return ADD_ROW(recording, SQL_FIBER_EXACT, number(exact->end_ns), number(exact->process),
		       number(exact->fiber), number(exact->state), number(exact->begin_ns),
		       number(exact->ns), number(exact->changes));
}
