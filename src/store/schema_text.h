/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the schema. Only for schema.c. */
#pragma once

#include <stddef.h>

#include "store/schema.h"

extern const struct schema_step schema_steps[];
extern const size_t schema_step_count;
/* What fills the hourly sums: `into` SELECT …, for the hours between two placeholders. */
struct schema_rollup {
	const char *into;
	const char *select;
};
extern const struct schema_rollup schema_rollups[];
extern const size_t schema_rollup_count;
