/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes pprof's profile.proto: https://github.com/google/pprof. Numbers of locations, mappings and
 * functions are the caller's; 0 is none. Texts must stay until pprof__finish(), which keeps the
 * first failure.
 */
#pragma once

#include "base/intern.h"
#include "base/proto.h"

/* Initialize with pprof__begin(). */
struct pprof {
	struct proto out; /* the profile, after pprof__finish() */
	struct proto message, inner;
	struct intern strings;
	bool failed;
};

/* The numbers of their fields. */
enum pprof_type { PPROF_SAMPLE_TYPE = 1, PPROF_PERIOD_TYPE = 11 };

struct pprof_mapping {
	uint64_t id, start, limit;
	const char *file, *build_id;
	bool has_functions, has_files, has_lines;
};

struct pprof_function {
	uint64_t id;
	const char *name, *system_name, *file; /* NULL: none */
	uint64_t start_line;
};

struct pprof_head {
	uint64_t time_ns; /* Unix time */
	uint64_t duration_ns, period_ns;
	const char *comment, *period_type, *default_type; /* periods are nanoseconds */
};

void pprof__begin(struct pprof *pprof);
void pprof__release(struct pprof *pprof);

void pprof__type(struct pprof *pprof, enum pprof_type which, const char *type, const char *unit);

/* A sample, then its labels, then its end. Locations: innermost first. */
void pprof__sample(struct pprof *pprof, const uint64_t *locations, size_t location_count,
		   const uint64_t *values, size_t value_count);
void pprof__label(struct pprof *pprof, const char *key, const char *text);
void pprof__label_number(struct pprof *pprof, const char *key, int number);
void pprof__end_sample(struct pprof *pprof);

/* A location, then its lines, innermost first, then its end. */
void pprof__location(struct pprof *pprof, uint64_t id, uint64_t mapping, uint64_t address);
void pprof__line(struct pprof *pprof, uint64_t function, uint64_t line, uint64_t column);
void pprof__end_location(struct pprof *pprof);

void pprof__function(struct pprof *pprof, const struct pprof_function *function);
void pprof__mapping(struct pprof *pprof, const struct pprof_mapping *mapping);
void pprof__head(struct pprof *pprof, const struct pprof_head *head);

/* -ENOMEM. */
int pprof__finish(struct pprof *pprof);
