/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Can this machine be profiled? Checks layer by layer; each finding says what the user loses and
 * what to do about it. Only collects; the command prints.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/features.h"

enum doctor_status { DOCTOR_OK, DOCTOR_DEGRADED, DOCTOR_MISSING };

/* How a finding that is not ok affects the verdict. */
enum doctor_weight {
	DOCTOR_ADVICE,    /* not at all */
	DOCTOR_GAP,       /* usable with gaps */
	DOCTOR_ESSENTIAL, /* missing: not usable; degraded: a gap */
};

enum doctor_verdict { DOCTOR_USABLE, DOCTOR_USABLE_WITH_GAPS, DOCTOR_NOT_USABLE };

struct finding {
	const char *layer;
	const char *name;
	enum doctor_status status;
	enum doctor_weight weight;
	const char *cost;   /* what the user loses; NULL when ok */
	const char *remedy; /* what to do; NULL if nothing can be done */
	char detail[320];
};

/* A privilege that the process has or lacks, by capability number. */
struct doctor_cap {
	int number;
	const char *name; /* "cap_bpf" */
	const char *need; /* what it is for */
	bool held;
};

struct doctor {
	struct features *features;
	struct finding *findings;
	size_t count;
	bool out_of_memory;
	bool unprivileged; /* CAP_BPF or CAP_PERFMON is missing */
	bool seccomp;      /* a filter forbids bpf() or perf_event_open() */
};

/* Runs all checks, in well under two seconds. */
int doctor__run(struct doctor *ret);
void doctor__release(struct doctor *doctor);
enum doctor_verdict doctor__verdict(const struct doctor *doctor);

const char *doctor__status_name(enum doctor_status status);
const char *doctor__verdict_name(enum doctor_verdict verdict);

/*
 * The capabilities that gapless needs, found by experiment: as an unprivileged user, everything
 * that works now must still work, or everything except hooks on user functions. caps[] gets the
 * known capabilities, with `held` set for the needed ones, and ends with name NULL. -EPERM: this
 * process has too few capabilities for the experiment.
 */
int doctor__smallest_caps(bool with_uprobes, struct doctor_cap *caps, size_t size);

/* For the layers: adds a copy of *finding, with the detail made from the format. */
__attribute__((format(printf, 3, 4))) void doctor__add(struct doctor *doctor,
						       const struct finding *finding,
						       const char *format, ...);

void doctor__check_kernel(struct doctor *doctor);
void doctor__check_mounts(struct doctor *doctor);
void doctor__check_privileges(struct doctor *doctor);
void doctor__check_load(struct doctor *doctor);
void doctor__check_attach(struct doctor *doctor);
void doctor__check_deliver(struct doctor *doctor);
void doctor__check_symbols(struct doctor *doctor);
void doctor__check_settings(struct doctor *doctor);

/*
 * The capabilities that parts of gapless need, in the order of the experiment; ends with name NULL.
 */
const struct doctor_cap *doctor__known_caps(void);

/* Whether /proc/kallsyms shows real addresses to this process. */
bool doctor__kallsyms_readable(void);
