/*
 * Everything that a report says, as numbers in one plain struct. Text, JSON and findings only print
 * what is here, so they cannot disagree.
 */
#pragma once

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/redact.h"
#include "model/hot.h"
#include "model/outside.h"
#include "model/signals.h"
#include "model/texts.h"
#include "vocabulary/states.h"

enum model_by {
	MODEL_BY_NONE,
	MODEL_BY_THREAD,
	MODEL_BY_PROCESS,
	MODEL_BY_CGROUP,
	MODEL_BY_COMM,
};

/* All zero: the whole recording. */
struct model_options {
	enum model_by by;
	uint64_t from_ns;        /* the cut, as offsets from the start */
	uint64_t to_ns;          /* 0: the end */
	const char *const *busy; /* causes to call held up, up to a NULL; or NULL */
	const char *const *idle; /* causes to call idle */
	enum redact_args args;   /* of programs and system calls */
};

struct model_state {
	int64_t id;
	const char *state;
	const char *cause;
	enum kind kind;
	enum ledger_slot slot; /* SLOT_NONE: states.def does not have it */
	int64_t ns;
	int64_t count;
};

struct model_cell {
	const struct model_state *state;
	int64_t ns;
	int64_t count;
};

struct model_thread {
	int64_t id;
	int64_t process;
	int64_t pid;
	int64_t tid;
	const char *comm;
	const char *process_comm;
	const char *cgroup;
	int64_t first_ns;
	int64_t last_ns;
	int64_t flags;
	int64_t lifetime_ns; /* inside the cut */
	int64_t unexplained_ns;
	const struct model_cell *cells;
	size_t cell_count;
	int64_t kind_ns[KIND_COUNT];
	bool measured; /* has an account, unlike interrupts and mere culprits */
	struct model_group *group;
};

/*
 * Threads that a person sees as one: same process name, same own name but for a number at its end.
 * gapless's own threads and kernel threads keep to themselves.
 */
struct model_group {
	const char *name; /* "worker-*", or the one name that all have */
	const char *process_comm;
	const struct model_thread *first;
	size_t members;
	size_t threads; /* those of them that were measured */
	size_t processes;
	int64_t lifetime_ns;
	int64_t kind_ns[KIND_COUNT];
	int64_t *state_ns; /* by the state's place in model.states */
	bool own;
	bool kernel;
};

/* Between the two ends in the name of a connection, the local one first. */
#define MODEL_ARROW " ↔ "

struct model_wait {
	const struct model_thread *waiter;
	const struct model_state *state;
	int64_t object; /* 0: none */
	int64_t alike;  /* the same for objects that are named together; mostly `object` */
	const char *object_kind;
	const char *object_name;
	const char *own_name;          /* of one of those that are named together */
	const struct model_thread *by; /* NULL: nobody known */
	const char *evidence;
	const struct model_thread *first; /* held the lock first; NULL: none but `by` did */
	int64_t ns;
	int64_t count;
	const struct model_wait *blame; /* first of the blame that it is in; NULL: in none */
};

/* Waits of one group for one object and culprit group. */
struct model_blame {
	const struct model_wait *first; /* the longest one */
	bool many_wait;                 /* not only first->waiter */
	bool by_many;                   /* not only first->by */
	bool first_many;                /* not only first->first */
	uint32_t owner;                 /* in hot.paths and hot.wakers */
	int64_t ns;
	int64_t count;
};

struct model_bucket {
	int bucket;
	int64_t count;
};

struct model_histogram {
	bool is_syscall;
	int64_t key;
	const char *name;
	const char *kind_name; /* of a wait; states of two kinds can have one name */
	int64_t count;
	struct model_bucket *buckets;
	size_t bucket_count;
};

struct model_syscall {
	int64_t number;
	const char *name;
	int64_t count;
	int64_t errors;
	int64_t total_ns;
	int64_t max_ns;
	int64_t timed; /* how many calls p50 and p99 stand on */
	int64_t p50_ns;
	int64_t p99_ns;
	int64_t run_ns;       /* of total_ns, on a CPU */
	int64_t common_errno; /* the most frequent; 0: none */
	int64_t common_count;
};

struct model_figure {
	const char *name;
	double value;
	const char *words;  /* the bias of a quality, the unit of a cost */
	const char *remedy; /* of a quality; "" or NULL: none */
};

/* What `record --note` kept, without what model_options.args hides. */
struct model_note {
	const char *name;
	const char *value;
};

/* One line of the table that --by asks for. */
struct model_row {
	const char *name;
	int64_t number; /* tid or pid behind the name; 0: none */
	size_t threads;
	int64_t lifetime_ns;
	int64_t kind_ns[KIND_COUNT];
};

struct model {
	const char *target, *level, *kernel, *version, *command_line;
	/* NULL where the recording does not say; "": there is none */
	const char *commit, *cpu_model, *governor;
	const char *ended; /* by what: "command", "duration", …; NULL: unknown */
	int64_t start_unix_ns, cpus, warmup_ns;
	bool complete, has_idle;
	json_t *hooks;         /* NULL if unknown */
	json_t *kernel_counts; /* what /proc says of the same; NULL if unknown */
	enum redact_args args; /* in fields of events; command_line has all */

	int64_t start_ns, end_ns; /* of the recording */
	int64_t from_ns, to_ns;   /* of the cut: the same, if there is none */
	bool cut;
	struct map alike;    /* objects that are named together, see model_wait */
	int64_t prorated_ns; /* from rows that reach over an edge of the cut */

	/* What was loaded, all in all: load.c sees to it that no sum is too large. */
	struct {
		int64_t cell_ns, cell_count, life_ns, unexplained_ns, wait_ns, wait_count, buckets;
	} loaded;

	int64_t wall_ns, threads_ns, unexplained_ns, remainder_ns;
	int64_t kind_ns[KIND_COUNT];
	int64_t idle_ns; /* of all CPUs, over the whole recording */
	size_t measured_threads, measured_processes;

	struct model_state *states;
	size_t state_count;
	struct model_cell *cells;
	int64_t *cell_threads;
	size_t cell_count;
	struct model_thread *threads; /* by id */
	size_t thread_count;
	struct model_group *groups;
	size_t group_count;
	struct model_wait *waits; /* longest first */
	size_t wait_count;
	struct model_blame *blames; /* longest first */
	size_t blame_count;
	struct model_histogram *histograms;
	size_t histogram_count;
	struct model_syscall *syscalls; /* most run_ns first, then total_ns */
	size_t syscall_count;
	struct model_figure *qualities;
	size_t quality_count;
	struct model_figure *costs;
	size_t cost_count;
	struct model_note *notes; /* by name */
	size_t note_count;
	struct model_row *rows;
	size_t row_count;

	struct hot hot;
	struct outside outside;
	struct signals signals;

	struct texts texts; /* owns every string above */
};

/*
 * Loads and computes. Errors of recording__open(); -ENOKEY: a cause in busy or idle that the
 * recording does not have; -ERANGE: the cut holds nothing of it; -E2BIG: more call paths than can
 * be held; -EIO: the file failed.
 */
int model__load(const char *path, const struct model_options *options, struct model *ret);
/* The same, and leaves the recording open in that moment's transaction: more can be asked of it
 * that agrees with the model. sqlite3_close() is the caller's. */
int model__load_open(const char *path, const struct model_options *options, sqlite3 **ret_db,
		     struct model *ret);
void model__release(struct model *model);

/* What an error of model__load() or recording__open() means, for "'PATH': …". */
const char *model__why(int err);

/* The key that JSON and SQL have for the kind of a wait; NULL for what is no wait. */
const char *model__kind_name(enum kind kind);
/* As in model_wait. */
int64_t model__alike(const struct model *model, int64_t object);
/* Not of a disk: its answer comes in the context of whoever runs then. */
bool model__has_culprit(const struct model_state *state);
/* NULL if there is none of that name. */
const struct model_figure *model__find(const struct model_figure *figures, size_t count,
				       const char *name);
/* The value that stands for a bucket. */
int64_t model__bucket_middle(int bucket);
/* The middle of the bucket that holds the q-th percent of the values, not above `most_ns`. */
int64_t model__percentile(const struct model_histogram *histogram, int q, int64_t most_ns);

/* Whether a part is so many percent of the whole, and anything at all. */
bool model__reaches(int64_t part, int64_t whole, int percent);
