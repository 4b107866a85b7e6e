/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording/memory_rows.h"

#include "recording/writer.h"

int memory_rows__add_resident(struct recording *recording,
			      const struct recording_resident *resident)
{
	return ADD_ROW(recording, SQL_RESIDENT, number(resident->time_ns),
		       number(resident->process), number(resident->anonymous),
		       number(resident->file), number(resident->shared), number(resident->swap));
}

int memory_rows__add_allocated(struct recording *recording,
			       const struct recording_allocated *allocated)
{
	return ADD_ROW(recording, SQL_ALLOCATED, number(allocated->end_ns),
		       number(allocated->thread), number(allocated->begin_ns),
		       number(allocated->bytes));
}
