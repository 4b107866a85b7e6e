/*
 * Call paths of both sides in one tree, for a flame graph of differences: each node has what a
 * side's recordings have there on the mean, per unit of work.
 */
#pragma once

#include "diff/diff.h"

/* -ENOMEM, or as model__load() has it. The caller owns *ret. */
int flame__make(const struct diff *diff, json_t **ret);
