/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events by which stacks are taken (--sample-on): counters of the kernel or of CPUs, which overflow
 * after a period, and tracepoints.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Takes the argument of --sample-on, EVENT[/PERIOD]. -EINVAL, -E2BIG: `why` says what is wrong.
 * Does not log.
 */
int counter_samples__ask(const char *text, char *why, size_t size);

/* "page-faults/10"; NULL: no such number. */
const char *counter_samples__name(size_t number);
/* 0: no such number. */
uint64_t counter_samples__period(size_t number);

/* Logs what it goes without. */
void counter_samples__attach(const struct bpf_object *object);
void counter_samples__detach(void);
