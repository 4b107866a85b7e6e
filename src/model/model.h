/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Everything that a report says, as numbers in one plain struct. Text, JSON and findings only print
 * these numbers, so they cannot disagree.
 */
#pragma once

#include <jansson.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "base/redact.h"
#include "model/allocated.h"
#include "model/estimated.h"
#include "model/fibers.h"
#include "model/history.h"
#include "model/hot.h"
#include "model/pauses.h"
#include "model/resident.h"
#include "model/scope.h"
#include "model/signals.h"
#include "model/texts.h"
#include "model/user_time.h"
#include "model/windows.h"
#include "vocabulary/percentiles.h"
#include "vocabulary/states.h"

enum model_by {
	MODEL_BY_NONE,
	MODEL_BY_THREAD,
	MODEL_BY_PROCESS,
	MODEL_BY_CGROUP,
	MODEL_BY_COMM,
	MODEL_BY_CPU, /* rows are not of threads, see by_cpu.h */
	MODEL_BY_RUNTIME,
};

/* All zero: the whole recording. */
struct model_options {
	enum model_by by;
	struct scope scope;
	const char *const *busy; /* causes to count as held up, NULL-terminated; or NULL */
	const char *const *idle; /* causes to count as idle, likewise */
	enum redact_args args;   /* how to redact arguments of programs and syscalls */
	bool history;            /* also load model.history */
	struct windows_options windows;
};

struct model_state {
	int64_t id;
	const char *state;
	const char *cause;
	enum kind kind;
	enum ledger_slot slot; /* SLOT_NONE: not in states.def */
	bool overruled;        /* --busy or --idle names its cause */
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
	int64_t parent_pid; /* of the process */
	int64_t tid;
	const char *comm;
	const char *process_comm;
	const char *cgroup;
	int64_t first_ns;
	int64_t last_ns;
	int64_t flags;
	int64_t lifetime_ns; /* inside the cut */
	int64_t unexplained_ns;
	double variance; /* of run.kernel, and of run.user: 0 if they are exact */
	const struct model_cell *cells;
	size_t cell_count;
	int64_t kind_ns[KIND_COUNT];
	bool measured; /* a thread of the target with an account: in the totals */
	/*
	 * Not a thread of the target, but one that kept it waiting: has lifetime, cells and samples
	 * of its own, which are in no total.
	 */
	bool outside;
	const struct model_thread *same; /* the outside thread that it became; NULL: itself */
	struct model_group *group;
	const struct model_runtime *runtime; /* of its process; NULL: none was found */
};

/*
 * Threads that users think of as one: the same process name, and the same thread name except for a
 * trailing number. gapless's own threads, kernel threads and outside threads are never grouped with
 * others.
 */
struct model_group {
	const char *name; /* "worker-*", or the name that all members share */
	const char *process_comm;
	const struct model_thread *first;
	size_t members;
	size_t threads; /* how many members were measured */
	size_t processes;
	int64_t lifetime_ns;
	int64_t kind_ns[KIND_COUNT];
	int64_t *state_ns; /* indexed like model.states */
	bool own;
	bool kernel;
	bool outside; /* then all sums are 0 */
};

/* Separates the two ends in the name of a connection. The local end comes first. */
#define MODEL_ARROW " ↔ "
/* Begin of the name of a UNIX socket whose other end is known. */
#define MODEL_UNIX_PEER "unix socket to "

struct model_wait {
	const struct model_thread *waiter;
	const struct model_state *state;
	int64_t object; /* 0: none */
	int64_t alike;  /* equal for objects that share a name; usually `object` */
	const char *object_kind;
	const char *object_name;
	const char *own_name;          /* of one object among those that share a name */
	const struct model_thread *by; /* NULL: unknown */
	const char *evidence;
	const struct model_thread *first; /* the lock's first holder; NULL: only `by` held it */
	const char *ended;                /* "event", "timeout", "signal", "open"; "": unknown */
	int turn;                         /* enum ledger_turn */
	bool in_request;                  /* it had read a request and not answered it */
	int64_t ns;
	int64_t count;
	const struct model_wait *blame; /* the first wait of its blame; NULL: not in a blame */
};

/*
 * One sample, or, for waits of a thread of which there is no sample, one sum of waits. `wait_ns`
 * and `weight_ns` are the part inside the cut. If a recording has more samples than
 * MODEL_MOST_SAMPLES, only one in `model.sample_step` is kept.
 */
struct model_sample {
	const struct model_thread *thread;
	const struct model_thread *by; /* NULL: unknown */
	const struct model_state *state;
	int64_t time_ns; /* of a tick, or the end of the interval */
	int64_t wait_ns, weight_ns;
	int64_t object;  /* id; 0: none */
	int64_t count;   /* intervals that it stands for */
	int64_t window;  /* that the thread worked for, see model_windows__find(); 0: none */
	uint32_t node;   /* index in hot.nodes; 0: no stack */
	bool tick;       /* a clock tick; otherwise an interval */
	bool summed;     /* not a sample: the sum of waits that are alike, without time or stack */
	bool whole;      /* the user stack is complete */
	bool is_owned;   /* `by` owned the lock during the whole wait */
	bool in_request; /* the thread has read a request that it has not answered */
	enum ledger_ended ended;
	enum ledger_turn turn;
};
#define MODEL_MOST_SAMPLES (1 << 19)

/* A signal that killed a process inside the cut, and where its thread was. */
struct model_fatal {
	const struct model_thread *thread; /* NULL: unknown */
	int signal;
	uint32_t node; /* index in hot.nodes; 0: no stack */
};

/* New memory that a thread touched inside the cut, from drawn page faults. */
struct model_growth {
	const struct model_thread *thread; /* NULL: unknown */
	uint32_t node;                     /* index in hot.nodes; 0: no stack */
	int64_t bytes;
};

/* Stacks that were taken at events (--sample-on) inside the cut: one of an event's stacks. */
struct model_sampled {
	const char *event; /* "page-faults/10" */
	uint32_t node;     /* index in hot.nodes; 0: no stack */
	int64_t count;     /* events that its samples stand for */
	int64_t samples;
	double variance; /* of `count` */
};

/* How long a thread was queued for a CPU on which another one ran. Empty in a cut. */
struct model_occupant {
	const struct model_thread *thread;
	const struct model_thread *by; /* NULL: the CPU was idle, or it is unknown */
	int64_t ns;
};

/* A limit of a cgroup of a process, or of one above it. */
struct model_limit {
	int64_t process;
	const char *cgroup;
	const char *kind;     /* "cpu", "memory", "io" */
	const char *value;    /* "20 ms per 100 ms" */
	int64_t throttled_ns; /* by the cgroup's own count, summed over CPUs; -1: unknown */
	int64_t refaults;     /* of memory: pages of files read again after they had been evicted */
};

/* For how long threads of a cgroup lacked something. Empty in a cut. */
struct model_pressure {
	const char *cgroup;
	const char *kind; /* "cpu", "memory", "io" */
	int64_t some_ns, full_ns, of_ns;
};

/* A sum of the signal cpu that counts no slices: see gapless-signal-cpu(7). Empty in a cut. */
struct model_cpu_sum {
	const char *place, *operation;
	const struct model_thread *thread; /* NULL: none */
	int64_t ns;
};

/* The waits of one group for one object and one group of culprits. */
struct model_blame {
	const struct model_wait *first; /* the longest wait */
	bool many_wait;                 /* waiters other than first->waiter */
	bool by_many;                   /* culprits other than first->by */
	bool first_many;                /* first holders other than first->first */
	uint32_t owner;                 /* the owner of its cells in hot.paths and hot.wakers */
	int64_t ns;
	int64_t count;
};

struct model_histogram {
	bool is_syscall;
	int64_t key;
	const char *name;
	const char *kind_name; /* of a wait; states of two kinds can share a name */
	int64_t count;
	struct bucket *buckets;
	size_t bucket_count;
};

struct model_syscall {
	int64_t number;
	const char *name;
	int64_t count;
	int64_t errors;
	int64_t total_ns;
	int64_t max_ns;  /* of those that were timed */
	int64_t untimed; /* part of `count`: calls without a time, see estimated.h */
	double variance; /* of total_ns, and of run_ns */
	int64_t timed;   /* how many calls the percentiles are based on */
	int64_t percentiles_ns[PERCENTILES]; /* -1: too few calls */
	int64_t run_ns;                      /* the part of total_ns spent on a CPU */
	int64_t common_errno;                /* the most frequent; 0: none */
	int64_t common_count;
};

/*
 * Calls of one thread with paths of one pattern ("/opt/app/" then "*" then "/libplugin.so"). The
 * table has no times, so a cut has those of the whole recording.
 */
struct model_path {
	const struct model_thread *thread; /* NULL: many threads, or unknown */
	int64_t number;
	const char *call;
	int64_t error; /* an errno; 0: calls that succeeded */
	const char *pattern;
	int64_t count; /* an estimate, from samples */
	int64_t paths; /* different paths that were seen, of all threads */
};

struct model_figure {
	const char *name;
	double value;
	const char *words;  /* the bias of a quality, or the unit of a cost */
	const char *remedy; /* of a quality; "" or NULL: none */
};

/* A note from `record --note`, redacted as model_options.args says. */
struct model_note {
	const char *name;
	const char *value;
};

/* A version of a runtime in some processes, see runtime_rows.h. */
struct model_runtime {
	const char *key;           /* as in vocabulary/runtimes.def */
	const char *version;       /* NULL: unknown */
	const char *state;         /* likewise; NULL: unknown */
	size_t processes, threads; /* of the target */
	int64_t last_process;      /* the last one that was counted */
};

/* One row of the table for --by. */
struct model_row {
	const char *name;
	int64_t number; /* tid or pid; 0: none */
	size_t threads;
	int64_t lifetime_ns;
	int64_t kind_ns[KIND_COUNT];
};

struct model {
	const char *path;
	const char *target, *level, *kernel, *version, *command_line;
	/* NULL: the recording does not say; "": there is none */
	const char *commit, *cpu_model, *governor;
	const char *ended; /* what ended it: "command", "duration", …; NULL: unknown */
	int64_t start_unix_ns, cpus, warmup_ns, kernel_tick_ns;
	int64_t zone_s; /* its time zone: what to add to UTC */
	bool has_zone;  /* the recording says it; else it is that of this process */
	bool complete, has_idle;
	bool has_turns;        /* it knows how waits ended, and whose turn it was on sockets */
	json_t *hooks;         /* NULL if unknown */
	json_t *kernel_counts; /* the same numbers according to /proc; NULL if unknown */
	enum redact_args args; /* applies to event fields; command_line is complete */

	int64_t start_ns, end_ns; /* of the recording */
	int64_t from_ns, to_ns;   /* of the cut; equal to start_ns and end_ns without one */
	bool cut;
	struct map alike;     /* objects that share a name, see model_wait.alike */
	const char *narrowed; /* which threads, "pid 12, comm worker-*"; NULL: all */
	size_t all_threads;   /* of the recording; only if narrowed */
	int64_t prorated_ns;  /* estimated: from rows that cross an edge of the cut */

	/* Running totals of what was loaded. load.c uses them to prevent overflow. */
	struct {
		int64_t cell_ns, cell_count, life_ns, unexplained_ns, wait_ns, wait_count, buckets;
		int64_t path_count, occupant_ns, sample_ns;
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
	struct model_wait *outside_waits; /* of outside threads, longest first */
	size_t outside_wait_count;
	struct model_blame *blames; /* longest first */
	size_t blame_count;
	struct model_histogram *histograms;
	size_t histogram_count;
	struct model_syscall *syscalls; /* most run_ns first, then total_ns */
	size_t syscall_count;
	struct model_path *paths; /* most calls first */
	size_t path_count;
	struct model_figure *qualities;
	size_t quality_count;
	struct model_figure *costs;
	size_t cost_count;
	struct model_note *notes; /* by name */
	size_t note_count;
	struct model_row *rows;
	size_t row_count;
	struct model_runtime *runtimes; /* by key, version and state */
	size_t runtime_count;
	struct map runtime_of; /* by process: index in `runtimes` + 1 */

	struct hot hot;
	struct model_sample *samples; /* outside threads included, without gapless's own */
	size_t sample_count, sample_step;
	struct model_occupant *occupants; /* longest first */
	size_t occupant_count;
	struct model_limit *limits;
	size_t limit_count;
	struct model_cpu_sum *cpu_sums;
	size_t cpu_sum_count;
	struct model_pressure *pressures; /* most first */
	size_t pressure_count;
	bool has_pressures;           /* the recording knows whether there are some */
	struct model_growth *growths; /* the largest first */
	size_t growth_count;
	struct model_sampled *sampled; /* by event, the largest first */
	size_t sampled_count;
	struct model_fatal *fatals; /* by time */
	size_t fatal_count;
	struct resident resident;
	struct allocated allocated;
	struct fibers fibers;
	struct user_time user_time;
	struct estimated estimated;
	struct history history;
	struct signals signals;
	struct pauses pauses;
	struct windows windows;

	struct texts texts; /* owns every string above */
};

/*
 * Loads a recording and computes the sums. Returns an error of recording__open(), or: -ENOKEY:
 * `busy` or `idle` names a cause that the recording does not have; -ERANGE: the cut contains
 * nothing of the recording; -ESRCH: no thread matches; -E2BIG: too many call paths; -EIO: reading
 * the file failed.
 */
int model__load(const char *path, const struct model_options *options, struct model *ret);
/*
 * Does the same and leaves the recording open in the same transaction, so that further queries see
 * the state that the model was loaded from. The caller must call sqlite3_close().
 */
int model__load_open(const char *path, const struct model_options *options, sqlite3 **ret_db,
		     struct model *ret);
void model__release(struct model *model);

/* The meaning of an error of model__load() or recording__open(), for "'PATH': …". */
const char *model__why(int err);

/* The key of a kind of wait in JSON and SQL; NULL if the kind is not a wait. */
const char *model__kind_name(enum kind kind);
/* The limit of this kind that held a process back most; NULL: none is known. */
const struct model_limit *model__limit(const struct model *model, int64_t process,
				       const char *kind);
/* Returns model_wait.alike for an object. */
int64_t model__merged_object(const struct model *model, int64_t object);
/*
 * Whether the waker of such a wait is its culprit. False for waits for the disk and for page
 * faults: the completion interrupt runs in the context of whichever thread is running.
 */
bool model__has_culprit(const struct model_state *state);
/* Returns NULL if no figure has that name. */
const struct model_figure *model__find(const struct model_figure *figures, size_t count,
				       const char *name);

/* Whether `part` is at least `percent` percent of `whole`, and not 0. */
bool model__reaches(int64_t part, int64_t whole, int percent);
