/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows: requests and calls, by which the time of threads is divided. Counts, lengths and sums by
 * part are exact, of all windows by bucket of their length. Only single windows and what they
 * waited for are kept, chosen at random within a bucket; errors come from them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/hot.h"
#include "vocabulary/percentiles.h"
#include "vocabulary/window_words.h"

struct model;
struct model_options;
struct model_state;
struct model_thread;
struct sqlite3;

/* With fewer windows, a band has no percentages and is compared with no other. */
#define WINDOWS_LEAST 20

/* The windows of a service by length, from bucket to bucket. Buckets are not divided. */
enum windows_bands {
	WINDOWS_FAST, /* as near to the faster half as buckets allow */
	WINDOWS_HIGH, /* from p90 to the slowest */
	WINDOWS_SLOW, /* the slowest: at least 1 % and WINDOWS_LEAST, or --slower-than */
	WINDOWS_BANDS,
};

/* What the windows of one class have in common. Texts are "" if unknown. */
struct windows_class {
	int64_t id;
	const char *kind, *protocol, *service, *name, *status;
	int64_t process; /* the first one that had such a window; 0: unknown */
	int64_t pid;
	const char *comm;
	uint32_t of;                         /* index in windows.services */
	int64_t count, n;                    /* windows, and requests in them */
	int64_t length_ns;                   /* summed */
	int64_t percentiles_ns[PERCENTILES]; /* -1: too few windows */
};

/* A row of the table of a service, or a column of sums: what windows spent time on. */
struct windows_reason {
	const char *part;          /* a key of windows.def, or "own" */
	const char *state, *cause; /* of "own"; NULL otherwise. All running time has no cause */
};

struct windows_row {
	uint32_t reason; /* index in windows.reasons */
	int64_t ns;      /* of all windows */
	int64_t band_ns[WINDOWS_BANDS];
	double error_ns; /* standard error of more_ns; -1: unknown */
	double more_ns;  /* for a window: mean of the slowest less mean of the fastest */
	bool is_claimed; /* more_ns is above two standard errors, and both bands are large enough */
};

struct windows_band {
	int from, to; /* buckets, without `to`; equal: empty */
	int64_t count, n;
	int64_t length_ns; /* summed */
	size_t kept;       /* windows with a weight and with details */
};

/* What kept windows of the slowest waited for; times are weighted. */
struct windows_wait {
	uint32_t reason;
	int64_t object; /* 0: none */
	const char *object_kind, *object_name;
	const struct model_thread *by; /* NULL: unknown */
	bool by_many;                  /* and others of its group */
	const char *evidence;
	double ns;
	double variance; /* of ns, since windows were chosen at random */
	int64_t kept;    /* waits of kept windows */
	/* While loading: the window that was added last, and its time. */
	int64_t last;
	double last_ns;
};

/* All classes of a service that have the same name, whatever their status. */
struct windows_name {
	const char *name; /* "": unknown */
	int64_t count, n;
	int64_t statuses[WORDS_STATUSES + 1]; /* windows; the last: unknown ones */
	int64_t length_ns;                    /* summed */
	int64_t percentiles_ns[PERCENTILES];  /* -1: too few windows */
};

/* Samples of threads while they worked for the slowest windows, by state and call path. */
struct windows_path {
	const struct model_state *state;
	uint32_t node; /* in hot.nodes, of user space; 0: no stack */
	struct hot_sum sum;
};

/* Requests to other servers that were sent for the slowest; times are weighted. */
struct windows_asked {
	const struct windows_class *class;
	double ns;
	int64_t kept;
};

/* All classes of one kind, protocol and service, and of processes of one name. */
struct windows_service {
	const struct windows_class *first; /* has their kind, protocol, service and comm */
	bool many_processes;
	bool is_own; /* of gapless itself: counted, but neither shown nor a finding */
	size_t class_count;
	int64_t count, n;
	int64_t statuses[WORDS_STATUSES + 1]; /* windows; the last: unknown ones */
	int64_t length_ns;                    /* summed: parts less overlap */
	int64_t percentiles_ns[PERCENTILES];  /* -1: too few windows */
	struct bucket *buckets;
	size_t bucket_count;
	struct windows_band bands[WINDOWS_BANDS];
	struct windows_row *rows; /* those that the slowest have more of first; overlap last */
	size_t row_count;
	struct windows_row all;     /* length_ns of the bands, and what the rows add up to */
	struct windows_wait *waits; /* longest first */
	size_t wait_count;
	struct windows_asked *asked; /* most time first */
	size_t asked_count;
	struct windows_name *names; /* most time first */
	size_t name_count;
};

/* A window that was kept. */
struct windows_one {
	int64_t id;
	const struct windows_class *class;            /* NULL: unknown */
	const struct model_thread *thread;            /* NULL: unknown */
	int64_t ready_ns, read_ns, answer_ns, end_ns; /* 0: unknown, or there is none */
	int64_t begin_ns, length_ns;
	int64_t n, left, after_ns, segments;
	double weight; /* windows that it stands for; 0: an example */
	bool has_details;
	int64_t parent;                              /* 0: none */
	const char *evidence, *worker, *text, *ends; /* NULL: unknown, or there is none */
	/* Hexadecimal digits of traceparent, and x-request-id; NULL or "": unknown, or none. */
	const char *trace, *trace_span, *request_id;
};

/* The one that --window asks for. */
struct windows_chosen {
	struct windows_one one;
	struct windows_row *rows; /* in the order of the parts, then by time; only `ns` is set */
	size_t row_count;
	int64_t parts_ns;           /* all of them, overlap too */
	struct windows_wait *waits; /* longest first; their times are exact */
	size_t wait_count;
	struct windows_one *relatives; /* its parent first, then its children */
	size_t relative_count;
};

/* What to load: all zero, all windows. */
struct windows_options {
	const char *only;  /* classes whose service, program or name has it; NULL: all */
	int64_t slower_ns; /* the slowest are those from this length on; 0: see above */
	int64_t id;        /* the window to load with its relatives; 0: none */
	/*
	 * Texts, up to NULL: for each, the sums of the classes that it fits. NULL: none. Must
	 * outlive the model.
	 */
	const char *const *texts;
};

/* What the windows of a text spent on one reason. */
struct windows_share {
	uint32_t reason;
	int64_t ns;
	double square_ns; /* sum of squares, at most: what is not known within a bucket is added */
};

/*
 * The classes whose service or name has a text: calls if it fits any, else requests that were
 * served, else requests to other servers.
 */
struct windows_matched {
	const char *text;
	const char *kind; /* a key; NULL: it fits no class */
	size_t class_count;
	int64_t count, n, failed; /* failed: neither answered as asked, nor refused */
	int64_t length_ns;
	double square_ns; /* sum of squares of lengths */
	struct bucket *buckets;
	size_t bucket_count;
	int64_t percentiles_ns[PERCENTILES]; /* -1: too few windows */
	struct windows_share *shares;
	size_t share_count;
};

struct windows {
	struct windows_options options;
	struct windows_class *classes; /* by service, those with most time first */
	size_t class_count;
	struct windows_service *services; /* calls, then servers, then clients; most time first */
	size_t service_count;
	struct windows_reason *reasons;
	size_t reason_count;
	struct windows_one *kept; /* by id */
	size_t kept_count;
	struct windows_chosen *chosen;   /* NULL: none was asked for */
	struct windows_matched *matched; /* in the order of options.texts */
	size_t matched_count;
	/* What parts and lengths differ by; -1: the recording does not say. */
	int64_t remainder, remainder_ns;
};

/*
 * Loads what the recording has. Threads and states must be there. -ESRCH: it has no such window or
 * class; the reason is in options->scope.why.
 */
int model_windows__load(struct model *model, struct sqlite3 *db,
			const struct model_options *options);
void model_windows__release(struct windows *windows);

/* NULL: it was not kept. */
const struct windows_one *model_windows__find(const struct windows *windows, int64_t id);
/*
 * The window of a sample that begins then. Work that follows the answer is kept apart from the
 * window, in the account too: NULL.
 */
const struct windows_one *model_windows__of(const struct windows *windows, int64_t id,
					    int64_t begin_ns);
const struct windows_service *model_windows__service(const struct windows *windows,
						     const struct windows_class *class);
/* Whether a length is in a band of the service. */
bool model_windows__is_in(const struct windows_service *service, enum windows_bands band,
			  int64_t length_ns);
/* Whether the slowest can be compared with the fastest. */
bool model_windows__is_compared(const struct windows_service *service);
/* The time of a row for a window of a band. */
int64_t model_windows__mean_ns(const struct windows_service *service, const struct windows_row *row,
			       enum windows_bands band);
/* Finds up to `most` of the slowest windows with details of a service. Returns how many. */
size_t model_windows__examples(const struct windows *windows, const struct windows_service *service,
			       size_t most, const struct windows_one **ret);
/*
 * Sums up what samples show of the slowest windows of a service, the heaviest first. Release the
 * list with free(). -ENOMEM.
 */
int model_windows__paths(const struct model *model, const struct windows_service *service,
			 struct windows_path **ret, size_t *ret_count);
/* Appends to `text`, with cleaned names: "queued: busy with other requests", "own: running", "own:
 * wait.lock" */
void model_windows__say_reason(const struct windows_reason *reason, char *text, size_t size);
/* " to nginx (HTTP, 127.0.0.1:8080)", " of app to 10.0.0.2:5432 (PostgreSQL)", " of app:handle" */
void model_windows__say_service(const struct windows_service *service, char *text, size_t size);
/* " (HTTP, 127.0.0.1:8080)" */
void model_windows__say_where(const struct windows_service *service, char *text, size_t size);
/* "GET /orders (HTTP, 127.0.0.1:8080)" */
void model_windows__say_class(const struct windows_class *class, char *text, size_t size);
/* "41,607 requests"; "800,000 requests in 50,000 windows" where the two differ. */
void model_windows__say_count(const struct windows_service *service, int64_t count, int64_t n,
			      char *text, size_t size);
/* -1 for overlap, which is counted twice in the other parts; otherwise 1. */
int model_windows__sign(const struct windows_reason *reason);
/* Appends "queued.busy", "own.run", "own.wait.lock". */
void model_windows__say_key(const struct windows_reason *reason, char *text, size_t size);
bool model_windows__is_part(const struct windows_reason *reason, enum window_words_part part);

/*
 * Calls `take` for each part of each kept window, by window. Parts of one reason may come several
 * times. Stops at its first error and returns it. Adds reasons that no sum has.
 */
typedef int windows_take_part(void *context, const struct windows_one *one, uint32_t reason,
			      int64_t ns);
int model_windows__each_part(struct model *model, struct sqlite3 *db, windows_take_part *take,
			     void *context);
/* The same for what kept windows waited for. */
typedef int windows_take_one_wait(void *context, const struct windows_one *one,
				  const struct windows_wait *wait);
int model_windows__each_wait(struct model *model, struct sqlite3 *db, windows_take_one_wait *take,
			     void *context);
