/*
 * What signals counted. The same for every signal: series are added up by where and what (rows), by
 * whom, by object and by error; what those mean is in the signal's own words, which the recording
 * has. Only TCP's services and the programs started have structs of their own.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vocabulary/roles.h"

struct model;
struct model_group;
struct model_histogram;
struct model_thread;

#define SIGNALS_MEASURES 6
#define SIGNALS_EVENTS   10 /* the slowest that are kept of each signal */
#define SIGNALS_PROGRAMS 100

struct signals_measure {
	const char *name;
	const char *unit; /* "ns", "bytes", or what is counted */
};

struct signals_sum {
	int64_t count;
	int64_t sum[SIGNALS_MEASURES];
	int64_t max[SIGNALS_MEASURES]; /* of the whole recording, even in a cut */
};

struct signals_object {
	int64_t id;
	const char *kind;
	const char *name;
};

/* What the recording sums up together. */
struct signals_series {
	size_t row;                          /* in the signal's rows */
	const struct model_thread *thread;   /* NULL: not known */
	const struct signals_object *object; /* NULL: none */
	int64_t error;                       /* an errno; 0: it went well */
	struct signals_sum sum;
};

/* Series that have something in common. */
struct signals_part {
	const struct signals_series *first; /* the one with most of it */
	struct signals_sum sum;
	int64_t size;                      /* what it is ranked by: time, else events */
	const struct model_group *group;   /* who has most of it; NULL: not known */
	const struct model_thread *thread; /* the only one of that group in it; NULL: several */
	int64_t group_size;
};

struct signals_parts {
	struct signals_part *list; /* the largest first */
	size_t count;
};

/* All events of one operation at one place. */
struct signals_row {
	const char *place;     /* "": nowhere in particular */
	const char *operation; /* "": there is only one */
	int64_t errors;
	struct signals_part part;
	struct model_histogram *histograms; /* one for each measure; count 0: there is none */
	int64_t p50[SIGNALS_MEASURES], p99[SIGNALS_MEASURES];
};

struct signals_event {
	int64_t time_ns; /* when it ended */
	int64_t duration_ns;
	const struct model_thread *thread;
	const struct signals_object *object;
	const char *place, *operation;
	int64_t error;
	const char *fields; /* a JSON object, or what a hostile recording has there */
};

/* Programs of one file that were started under one name. */
struct signals_program {
	const char *file, *parent;
	int64_t count;
	int64_t ended; /* of them, whose lifetime is known */
	int64_t lifetime_ns, max_ns;
	int64_t failed; /* status not 0 */
};

/* Where the other ends of connections are. Of several, the highest counts. */
enum signals_peers {
	SIGNALS_PEERS_UNKNOWN, /* none is known: one listens, or is a sum of short ones */
	SIGNALS_PEERS_LOCAL,   /* all that are known are on this machine */
	SIGNALS_PEERS_AWAY,    /* one at least is not */
};

/* One end that connections have in common: who connects differs, what is connected to does not. */
struct signals_service {
	const char *name; /* "10.0.0.1:5432" */
	bool accepts;     /* it is at our end */
	enum signals_peers peers;
	int64_t connections, opened;
	int64_t ended, lifetime_ns; /* whose lifetime is known, and their sum */
	int64_t bytes, segments, again, resets, overflows, zero_windows;
	const struct model_group *group;
	const struct model_thread *thread;
};

struct signals_signal {
	int64_t id;
	const char *name, *about;
	enum role role;
	const char *events; /* what is counted, in the plural */
	struct signals_measure measures[SIGNALS_MEASURES];
	int measure_count; /* those behind a hole have a name still, or NULL */
	int main;          /* the first that is a time; -1: none */

	struct signals_sum sum;
	int64_t errors;
	struct signals_series *series; /* by row */
	size_t series_count;
	struct signals_row *rows; /* by place, then operation */
	size_t row_count;
	size_t *ranks; /* rows, the largest first */
	/* Without gapless's own; objects by operation too, and missing ones by name alone. */
	struct signals_parts who, objects, failures, missing;
	struct signals_service *services; /* of tcp; most bytes first */
	size_t service_count;
	struct signals_program *programs; /* of exec; most often first */
	size_t program_count;
	struct signals_event slowest[SIGNALS_EVENTS];
	size_t slowest_count;
	int64_t event_count; /* that the recording has rows of */
};

struct signals {
	bool known; /* the recording has tables for them */
	struct signals_signal *list;
	size_t count;
	struct signals_object *objects; /* by id */
	size_t object_count;
	/* What was loaded, so that no sum is too large. */
	struct {
		int64_t count, error, sum[SIGNALS_MEASURES], buckets, programs, lifetimes, events;
		size_t signal, row;
		double rest; /* of events that an edge of the cut goes through */
	} loaded;
};

void signals__release(struct signals *signals);

/* It counted nothing. */
bool signals__is_empty(const struct signals_signal *signal);
/* NULL if the recording has none of that name, or it is empty. */
const struct signals_signal *signals__find(const struct signals *signals, const char *name);
/* The first signal of a role that saw something; NULL: none did. */
const struct signals_signal *signals__of(const struct signals *signals, enum role role);
/* Which measure that is; -1 if there is none. */
int signals__measure(const struct signals_signal *signal, const char *name);
/* An object that the series refer to; NULL if there is none. */
const struct signals_object *signals__object(const struct signals *signals, int64_t id);
/* What a sum is ranked by. */
int64_t signals__size(const struct signals_signal *signal, const struct signals_sum *sum);

/*
 * Adds up the series that `takes` says yes to, one part for each that `compare` tells apart.
 * ret->list is the caller's to free. -ENOMEM.
 */
struct signals_way {
	bool (*takes)(const struct signals_signal *signal, const struct signals_series *series,
		      const void *context);
	int (*compare)(const struct signals_signal *signal, const struct signals_series *a,
		       const struct signals_series *b);
	const void *context;
	bool by_count; /* rank by events, whatever they took */
};
int signals__divide(const struct signals_signal *signal, const struct signals_way *way,
		    struct signals_parts *ret);
int signals__by_object(const struct signals_signal *signal, const struct signals_series *a,
		       const struct signals_series *b);

/* Between signals.c and parts.c: all sums of a loaded signal; -ENOMEM. */
int signals__sum(struct model *model, struct signals_signal *signal);
/* And services.c: those of the signal tcp; -ENOMEM. */
int signals__serve(struct model *model, struct signals_signal *signal);

/* Whether both were started by a program of one name. */
bool signals__same_parent(const struct signals_program *a, const struct signals_program *b);
/* All that were started under this one's parent's name, as one. */
struct signals_program signals__siblings(const struct signals_signal *signal,
					 const struct signals_program *program);
