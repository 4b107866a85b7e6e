/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel types that the signal writeback reads, as in kernel.h. */
#pragma once

#include "bpf/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct writeback_control {
	long nr_to_write; /* pages that may still be written */
};

#pragma clang attribute pop
