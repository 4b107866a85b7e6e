/* What signals add to the findings: to a sentence about a wait, and as sentences of their own. */
#pragma once

#include "findings/findings.h"

/*
 * Appends which device and file a group's waits for the disk were about, as far as signals know, or
 * that the disk was not to blame; *ret_row is then what needs no sentence of its own any more.
 */
void findings_signals__join(const struct model *model, const struct model_group *group,
			    struct finding *finding, const struct signals_row **ret_row);

/* Appends how far a row's slow ones are apart, whether they were queued, and which file the group
 * was at, if that took a good part of the finding's time. `row` may be NULL. */
void findings_signals__say_disk(const struct model *model, const struct signals_signal *block,
				const struct signals_row *row, const struct model_group *group,
				struct finding *finding);

/*
 * Adds to the `count` findings that there are, the worst first, up to `most` in all, but none about
 * the row `said`; how many there are then.
 */
size_t findings_signals__make(const struct model *model, const struct signals_row *said,
			      struct finding *findings, size_t count, size_t most);
