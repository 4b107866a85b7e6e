/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the signal cpu shows of threads that were ready although not all CPUs were busy. */
#pragma once

#include "model/by_cpu.h"

/*
 * All append to `text`, or leave it alone if the figures do not carry the sentence. A cut or a
 * recording without the signal has none.
 */

/* "; for 45 % of that, its CPU was busy and another one was idle", of one group. */
void cpus__say_group(const struct model *model, const struct model_group *group, char *text,
		     size_t size);
/* "threads were ready for 2.0 s; for 0.9 s of that (45 %), …" */
void cpus__say_spare(const struct by_cpu *by_cpu, char *text, size_t size);
/* "CPU 1 was idle for 97 % of the time, CPU 0 for 1 %; meanwhile threads were ready …" */
void cpus__say_imbalance(const struct by_cpu *by_cpu, int64_t wall_ns, char *text, size_t size);
