/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that load windows. */
#pragma once

#include <sqlite3.h>

#include "base/map.h"
#include "model/model.h"
#include "model/windows.h"

/* Windows of one class whose lengths are in one bucket. */
struct windows_count {
	int64_t class; /* its id */
	uint32_t service;
	int bucket;
	int64_t count, n;
};

/* What they spent on one reason. */
struct windows_time {
	int64_t class;
	uint32_t service;
	int bucket;
	uint32_t reason;
	int64_t ns;
};

/* Reasons of one recording; more are one. Limit for a hostile file. */
#define WINDOWS_MOST_REASONS 256

struct windows_loading {
	struct model *model;
	struct windows *windows;
	const struct model_options *options;
	sqlite3 *db;
	struct map classes; /* by id: index + 1 */
	struct map reasons; /* by their texts: index + 1 */
	struct map waits;   /* by service and what makes them alike: index + 1 */
	struct map rows;    /* by service and reason: index in the rows of the service + 1 */
	struct windows_count *counts;
	size_t count_count;
	struct windows_time *times;
	size_t time_count;
	int64_t all_count, all_n, all_ns; /* prevent overflow, see load__amount() */
	void *context;                    /* of a caller of model_windows__each() */
};

/* Finds classes and reasons of windows that were loaded before. -ENOMEM. */
int model_windows__resume(struct windows_loading *loading);
void model_windows__release_loading(struct windows_loading *loading);

typedef int windows_take(struct windows_loading *loading, sqlite3_stmt *row);
/* Calls `take` for each row; ?3 is `id`. */
int model_windows__each(struct windows_loading *loading, const char *sql, int64_t id,
			windows_take *take);
/* What threads of a window's own did in this state. Adds it if it is new. */
int model_windows__find_own(struct windows_loading *loading, int64_t state, uint32_t *ret);
/* The reason in columns `part` and the one behind it, which is a state. Likewise. */
int model_windows__take_reason(struct windows_loading *loading, sqlite3_stmt *row, int part,
			       uint32_t *ret);
struct windows_class *model_windows__class(const struct windows_loading *loading, int64_t id);
/* The row of a service for a reason; NULL: it has none. */
struct windows_row *model_windows__row(const struct windows_loading *loading,
				       const struct windows_service *service, uint32_t reason);

/* Whether the service or the name of a class has this text; NULL: any has. */
bool model_windows__fits(const struct windows_class *class, const char *text);
/* Whether a status means neither an answer as asked for nor a refusal. */
bool model_windows__is_failure(const char *status);
/* Calls come first, then what is served, then what is asked of others. */
int model_windows__rank(const char *kind);

/* Divides the windows of all services into bands, and makes their rows. */
int model_windows__make_bands(struct windows_loading *loading);
/* Sums up the classes of each service by their names. */
int model_windows__make_names(struct windows_loading *loading);
/* Adds up the classes of each of options.texts. */
int model_windows__match(struct windows_loading *loading);
/* Loads single windows and what they waited for. */
int model_windows__load_kept(struct windows_loading *loading);
/* What the slowest asked other servers for. */
int model_windows__find_asked(struct windows *windows);
/* The errors that follow from kept windows; then sorts the rows. */
int model_windows__load_errors(struct windows_loading *loading);
int model_windows__load_chosen(struct windows_loading *loading);
/* A row of the table `window`, with the columns of WINDOWS_COLUMNS. */
#define WINDOWS_COLUMNS                                                                            \
	"w.id, w.class, w.thread, w.ready_ns, w.read_ns, w.answer_ns, w.end_ns, w.n, w.left,"      \
	" w.weight, w.has_details, w.parent, w.evidence, w.worker, w.text, w.ends, w.after_ns,"    \
	" w.segments, w.trace, w.trace_span, w.request_id"
int model_windows__take_one(struct windows_loading *loading, sqlite3_stmt *row,
			    struct windows_one *ret);
/* A row of `window_wait`, with the columns of WINDOWS_WAIT_COLUMNS. */
#define WINDOWS_WAIT_COLUMNS                                                                       \
	"w.window, w.state, w.object, o.kind, o.name, w.by, w.evidence, w.ns FROM window_wait w"   \
	" LEFT JOIN object o ON o.id = w.object"
int model_windows__take_wait(struct windows_loading *loading, sqlite3_stmt *row,
			     struct windows_wait *ret);
int model_windows__by_wait_time(const void *a, const void *b);
