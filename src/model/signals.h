/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What signals counted. Every signal has the same form: its series are added up by place and
 * operation (rows), by thread group, by object and by error. The recording has each signal's own
 * words for them. Only TCP's services and started programs have structs of their own.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/heap.h"
#include "vocabulary/percentiles.h"
#include "vocabulary/roles.h"

struct model;
struct model_group;
struct model_histogram;
struct model_thread;

#define SIGNALS_MEASURES 6
#define SIGNALS_EVENTS   10 /* how many of the slowest events of a signal are kept */
#define SIGNALS_PROGRAMS 100
#define SIGNALS_LOCKS    1000

struct signals_measure {
	const char *name;
	const char *unit; /* "ns", "bytes", or the name of what is counted */
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

/* One sum of the recording. */
struct signals_series {
	size_t row;                          /* index in the signal's rows */
	const struct model_thread *thread;   /* NULL: unknown */
	const struct signals_object *object; /* NULL: none */
	int64_t error;                       /* an errno; 0: success */
	struct signals_sum sum;
};

/* Series added up because they have something in common. */
struct signals_part {
	const struct signals_series *first; /* the series with the largest share */
	struct signals_sum sum;
	int64_t size;                      /* the rank: time, or events if there is no time */
	const struct model_group *group;   /* the group with the largest share; NULL: unknown */
	const struct model_thread *thread; /* the only thread of that group; NULL: several */
	int64_t group_size;
};

struct signals_parts {
	struct signals_part *list; /* the largest first */
	size_t count;
};

/* The first measure of one process. */
struct signals_owner {
	int64_t pid;      /* 0: all processes that are not in the list, and events of none */
	const char *comm; /* "other" if pid is 0 */
	struct model_histogram *histogram;
	int64_t percentiles[PERCENTILES];
};

/* All events of one operation at one place. */
struct signals_row {
	const char *place;     /* "": no particular place */
	const char *operation; /* "": there is only one operation */
	int64_t errors;
	struct signals_part part;
	struct model_histogram *histograms; /* one for each measure; count 0: no values */
	int64_t percentiles[SIGNALS_MEASURES][PERCENTILES]; /* -1: too few values */
	struct signals_owner *owners; /* most events first; none if the recording is cut by time */
	size_t owner_count;
};

struct signals_event {
	int64_t time_ns; /* of the end */
	int64_t duration_ns;
	const struct model_thread *thread;
	const struct signals_object *object;
	const char *place, *operation;
	int64_t error;
	const char *fields; /* a JSON object; anything in a hostile recording */
	int64_t stack;      /* id in the recording; 0: none */
	uint32_t node;      /* of that stack in `hot`; 0: none */
};

/* A segment that had to be sent again. */
struct signals_resent {
	int64_t time_ns;
	const struct model_thread *thread; /* the owner of the connection; NULL: unknown */
	const struct signals_object *connection;
};
#define SIGNALS_MOST_RESENT (1 << 16)

/* Programs with one file name that were started by parents of one name. */
struct signals_program {
	const char *file, *parent;
	int64_t count;
	int64_t ended; /* how many have a known lifetime */
	int64_t lifetime_ns, max_ns;
	int64_t failed; /* how many had an exit status other than 0 */
};

/* Where the peers of connections are. With several peers, the highest value applies. */
enum signals_peers {
	SIGNALS_PEERS_UNKNOWN, /* listening sockets and sums of short connections */
	SIGNALS_PEERS_LOCAL,   /* all known peers are on this machine */
	SIGNALS_PEERS_AWAY,    /* at least one is on another machine */
};

/* The end that connections share: clients differ, the address that they connect to does not. */
struct signals_service {
	const char *name; /* "10.0.0.1:5432" */
	bool accepts;     /* it is the local end */
	enum signals_peers peers;
	int64_t connections, opened;
	int64_t ended, lifetime_ns; /* those with a known lifetime, and its sum */
	int64_t bytes, segments, again, resets, overflows, zero_windows;
	const struct model_group *group;
	const struct model_thread *thread;
};

/* How many threads waited for a lock at once in a slice of time in which waits for it ended. */
struct signals_waiting {
	int64_t begin_ns, end_ns;
	int64_t most; /* 12.5 % too small at most if it is 16 or more */
};

/* A lock that threads waited for. */
struct signals_lock {
	const struct signals_object *object;
	const struct signals_row *row; /* the row with most of its waits */
	struct signals_part part;
	size_t threads; /* how many have waited for it */
	int64_t wait_ns;
	int64_t turn_ns; /* the time in which somebody waited */
	int64_t handed, in_vain, wakings;
	int64_t most_waiters;  /* at once */
	int64_t held_ns;       /* waits whose last holder is known from the lock itself */
	int64_t by_waiters_ns; /* the part of held_ns whose last holder waits for the lock too */
	struct signals_waiting
		*waiting; /* by time; none of locks without histograms of their own */
	size_t waiting_count;
};

struct signals_signal {
	int64_t id;
	const char *name, *about;
	enum role role;
	const char *events; /* plural name of what is counted */
	struct signals_measure measures[SIGNALS_MEASURES];
	int measure_count; /* the largest id + 1; a gap has name NULL */
	int main;          /* the first measure that is a time; -1: none */

	struct signals_sum sum;
	int64_t errors;
	struct signals_series *series; /* sorted by row */
	size_t series_count;
	struct signals_row *rows; /* sorted by place, then operation */
	size_t row_count;
	size_t *ranks; /* indexes of rows, the largest first */
	/*
	 * Without gapless's own. `objects` is also divided by operation, `missing` by name alone.
	 */
	struct signals_parts who, objects, failures, missing;
	struct signals_service *services; /* of tcp only; most bytes first */
	size_t service_count;
	struct signals_program *programs; /* of exec only; most frequent first */
	size_t program_count;
	struct heap *heap;          /* of the heap only; its sums are those of the whole time */
	struct signals_lock *locks; /* of ROLE_LOCKS only; most time first, at most SIGNALS_LOCKS */
	size_t lock_count;
	struct signals_event slowest[SIGNALS_EVENTS];
	size_t slowest_count;
	int64_t event_count; /* rows in the recording */
};

struct signals {
	bool known; /* the recording has tables for them */
	struct signals_signal *list;
	size_t count;
	struct signals_object *objects; /* by id */
	size_t object_count;
	struct signals_resent *resent; /* by time; not more than the recording has as events */
	size_t resent_count;
	/* Running totals of what was loaded, to prevent overflow. */
	struct {
		int64_t count, error, sum[SIGNALS_MEASURES], buckets, programs, lifetimes, events;
		int64_t owned;
		size_t signal, row;
		double rest; /* fraction of an event, carried over at an edge of the cut */
	} loaded;
};

void signals__release(struct signals *signals);

/* Whether the signal counted nothing. */
bool signals__is_empty(const struct signals_signal *signal);
/* Returns NULL if the recording has no signal of that name, or if it is empty. */
const struct signals_signal *signals__find(const struct signals *signals, const char *name);
/* Returns the first signal of a role that is not empty; NULL: none. */
const struct signals_signal *signals__of(const struct signals *signals, enum role role);
/* Returns the index of a measure; -1 if there is none of that name. */
int signals__measure(const struct signals_signal *signal, const char *name);
/* Returns the object with this id; NULL if there is none. */
const struct signals_object *signals__object(const struct signals *signals, int64_t id);
/* The number that a sum is ranked by. */
int64_t signals__size(const struct signals_signal *signal, const struct signals_sum *sum);

/*
 * Adds up the series that `takes` accepts, in one part for each class that `compare` distinguishes.
 * The caller must free ret->list. -ENOMEM.
 */
struct signals_way {
	bool (*takes)(const struct signals_signal *signal, const struct signals_series *series,
		      const void *context);
	int (*compare)(const struct signals_signal *signal, const struct signals_series *a,
		       const struct signals_series *b);
	const void *context;
	bool by_count; /* rank by number of events, even if there is a time */
};
int signals__divide(const struct signals_signal *signal, const struct signals_way *way,
		    struct signals_parts *ret);
int signals__by_object(const struct signals_signal *signal, const struct signals_series *a,
		       const struct signals_series *b);

/* Computes all sums of a loaded signal (signals.c calls parts.c). -ENOMEM. */
int signals__sum(struct model *model, struct signals_signal *signal);
/* Reads distributions by process (owners.c). Rows must be there. */
int signals__load_owners(struct model *model, sqlite3 *db);
/* Computes the locks of a signal of ROLE_LOCKS (locks.c). -ENOMEM. */
int signals__make_locks(struct model *model, struct signals_signal *signal);
/* Reads how many threads waited for locks, slice by slice. Locks must be there. */
int signals__load_waiting(struct model *model, sqlite3 *db, struct signals_signal *signal);
/* Computes the services of the signal tcp (services.c). -ENOMEM. */
int signals__make_services(struct model *model, struct signals_signal *signal);

/* Whether the parents of both programs have the same name. */
bool signals__same_parent(const struct signals_program *a, const struct signals_program *b);
/* Adds up all programs whose parents have the same name as the parent of this one. */
struct signals_program signals__siblings(const struct signals_signal *signal,
					 const struct signals_program *program);
