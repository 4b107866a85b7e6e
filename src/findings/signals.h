/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals add to the findings: details in a sentence about a wait, and sentences of their own.
 */
#pragma once

#include "findings/findings.h"

/*
 * Appends which device and file a group's disk waits were about, as far as signals know, or that
 * the disk was not the reason. *ret_row is the row that then needs no sentence of its own.
 */
void findings_signals__join(const struct model *model, const struct model_group *group,
			    struct finding *finding, const struct signals_row **ret_row);

/*
 * Appends that the group's cgroup has a limit of memory and reads again what was evicted, if such
 * reads can be a good part of its `waits` for a disk.
 */
void findings_signals__say_refaults(const struct model *model, const struct model_group *group,
				    int64_t waits, struct finding *finding);

/* The same for a group that runs, with the file that it waited for most. */
void findings_signals__say_rereads(const struct model *model, const struct model_group *group,
				   struct finding *finding);

/*
 * Appends the second hump of a row's times, whether its requests were queued, and which file the
 * group used, if that file took a good part of the finding's time. `row` may be NULL.
 */
void findings_signals__say_disk(const struct model *model, const struct signals_signal *block,
				const struct signals_row *row, const struct model_group *group,
				struct finding *finding);

/*
 * Appends findings to the first `count`, the worst first, up to `most` in total, but none about a
 * row that one of these covers. Returns the new total.
 */
size_t findings_signals__make(const struct model *model, struct finding *findings, size_t count,
			      size_t most);
