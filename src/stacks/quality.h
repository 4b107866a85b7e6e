/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters behind struct mapper_quality, incremented by several threads. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

struct quality {
	_Atomic uint64_t lost_events, crowded_processes, processes_failed;
	_Atomic uint64_t modules, modules_failed;
	_Atomic uint64_t rows, broken_rows;
	_Atomic uint64_t evicted, over_budget;
	_Atomic uint64_t table_bytes, table_bytes_peak;
	_Atomic uint64_t compile_ns;
};
