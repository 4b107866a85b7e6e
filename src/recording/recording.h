/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording: one SQLite file with everything from one run. This is the writer's side. To read
 * one, open the file with recording__open() and use SQL. The schema is in schema.c and, for users,
 * in the man page gapless-recording(5).
 *
 * Rows are added to one open transaction until recording__commit(), which the caller calls once per
 * slice: after a kill, the file holds everything up to its last commit. All times are
 * CLOCK_MONOTONIC nanoseconds; durations are in nanoseconds. Every function returns 0 or -errno
 * (-ENOSPC: disk full; -EIO: any other failure of the file) and never logs; recording__error()
 * returns SQLite's message. The first failure is final: uncommitted rows are lost, and every later
 * call returns the same error, so that no account can have a hole. Not for use from two threads at
 * once.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDING_SCHEMA_VERSION 4

struct recording;

/*
 * Creates the file with mode 0600. -EEXIST if it exists and `force` is not set; -EINVAL if the
 * existing file or a leftover journal is not a regular file; -EACCES if one of them may be another
 * user's trap (base/owner.h).
 */
int recording__create(const char *path, bool force, struct recording **ret);
/* A temporary recording, for live views. Read it through recording__db(). */
int recording__create_in_memory(struct recording **ret);
/* The open database, including uncommitted rows. The recording owns it. */
sqlite3 *recording__db(struct recording *recording);
/* Closes without finishing: the file holds the last commit and, unless finished, complete = 0. */
void recording__free(struct recording *recording);
/* Marks the recording complete and commits; recording__free() must still be called. */
int recording__finish(struct recording *recording);
/* If a reader blocks the commit, the rows wait for the next commit; that is not an error. */
int recording__commit(struct recording *recording);
const char *recording__error(const struct recording *recording);

/* meta: one row per key. A later value replaces an earlier one. */
int recording__set_text(struct recording *recording, const char *key, const char *value);
int recording__set_number(struct recording *recording, const char *key, int64_t value);

/* A state of the ledger: the meaning of the numbers in account and wait. */
struct recording_state {
	int id;
	const char *state; /* "run", "ready", "wait", "unseen" */
	const char *cause; /* "user", "woken", "lock", … */
	const char *kind;  /* for waits: "delaying", "undecided", "idle"; otherwise NULL */
};
int recording__add_state(struct recording *recording, const struct recording_state *state);

/* Adding a process or thread that already exists updates it. */
struct recording_process {
	int64_t id;
	int pid;
	int parent_pid;
	int64_t start_ns; /* CLOCK_BOOTTIME, as in the kernel */
	const char *comm;
	const char *cgroup;    /* path, NULL if unknown */
	const char *container; /* id, NULL if none or unknown */
};
int recording__put_process(struct recording *recording, const struct recording_process *process);
/*
 * What runs the code of a process: the key of a runtime (vocabulary/runtimes.def), its version and
 * how much is known about it (runtime__state_key()). NULL: unknown. A later call replaces all
 * three. May be called before recording__put_process(), which keeps them.
 */
int recording__set_runtime(struct recording *recording, int64_t process, const char *runtime,
			   const char *version, const char *state);

enum recording_thread_flags {
	RECORDING_THREAD_EXITED = 1,     /* it ended during the recording */
	RECORDING_THREAD_KERNEL = 2,     /* a kernel thread */
	RECORDING_THREAD_OWN = 4,        /* gapless itself: counted, but never a finding */
	RECORDING_THREAD_NO_ACCOUNT = 8, /* mentioned only as a culprit */
	RECORDING_THREAD_OUTSIDE = 16,   /* not a target: it has an account, but is in no total */
};

struct recording_thread {
	int64_t id;      /* the serial; negative: an interrupt that woke a thread, not a thread */
	int64_t process; /* 0: unknown */
	int tid;
	const char *comm;
	int64_t first_ns; /* the account covers first_ns … last_ns */
	int64_t last_ns;
	int64_t unexplained_ns; /* not including its state `unseen` */
	int flags;
};
int recording__put_thread(struct recording *recording, const struct recording_thread *thread);
/* A thread's name from this time on; the latest name is in the thread's row too. */
int recording__add_name(struct recording *recording, int64_t thread, int64_t time_ns,
			const char *comm);

/* Slices are numbered from 1 and are contiguous. */
int recording__add_slice(struct recording *recording, int64_t id, int64_t begin_ns, int64_t end_ns);

/* What a thread added to its account from the start of slice `from` to the end of slice `to`. */
struct recording_account {
	int64_t thread;
	int64_t from, to;
	int state;
	int64_t ns;
	int64_t count; /* of intervals of this state that began in these slices */
};
int recording__add_account(struct recording *recording, const struct recording_account *account);

/* A thread's page faults in the same slices. */
struct recording_faults {
	int64_t thread;
	int64_t from, to;
	int64_t minor, major;
};
int recording__add_faults(struct recording *recording, const struct recording_faults *faults);

/*
 * An object that threads wait for. If a better name is found later, putting it again replaces it.
 */
struct recording_object {
	int64_t id;
	const char *kind; /* "futex", "file", "socket", "pipe", "child", "syscall", "other", … */
	const char *name; /* "0x7f…", "/var/lib/…", "127.0.0.1:80 ← 127.0.0.1:4242" */
};
int recording__put_object(struct recording *recording, const struct recording_object *object);
/* An id that no object has yet. */
int64_t recording__next_object(struct recording *recording);

/* Adds to the sums of (thread, state, object, by, evidence, first, ended, turn, in_request). */
struct recording_wait {
	int64_t thread;
	int state;
	int64_t object;       /* 0: none */
	int64_t by;           /* a thread's id; 0: unknown */
	const char *evidence; /* "owner", "handed", "waker", "none" */
	int64_t ns;
	int64_t count;
	int64_t first;     /* for "handed": the lock's holder when the wait began; otherwise 0 */
	const char *ended; /* "event", "timeout", "signal", "open"; "" or NULL: unknown */
	int turn;          /* enum ledger_turn */
	bool in_request;   /* the thread had read a request and not answered it */
};
int recording__add_wait(struct recording *recording, const struct recording_wait *wait);
/* Deletes the waits of a thread that turned out to have no account. */
int recording__drop_waits(struct recording *recording, int64_t thread);

/* Histograms: log-linear buckets (see bpf/histogram.h), sparse; slices as in account. */
enum recording_histogram { RECORDING_HISTOGRAM_STATE, RECORDING_HISTOGRAM_SYSCALL };
struct recording_bucket {
	enum recording_histogram of;
	int key; /* a state's id or a syscall's number */
	int64_t from, to;
	int bucket;
	int64_t count;
};
int recording__add_bucket(struct recording *recording, const struct recording_bucket *bucket);

struct recording_syscall {
	int number;
	const char *name;
	int64_t from, to;
	int64_t count;
	int64_t errors;
	int64_t total_ns;
	int64_t max_ns; /* the longest so far in the whole recording */
	int64_t run_ns; /* the part of total_ns on a CPU */
};
int recording__add_syscall(struct recording *recording, const struct recording_syscall *syscall);

/* If not every call was timed: what the times are worth. */
struct recording_estimate {
	int64_t thread; /* 0: of the syscall `number`, in all threads */
	int number;     /* -1: of the thread's run.kernel and run.user */
	int64_t from, to;
	int64_t untimed; /* calls that were only counted */
	double variance; /* of the time, in ns² */
};
int recording__add_estimate(struct recording *recording, const struct recording_estimate *estimate);

/* What was changed to keep the budget. */
struct recording_budget_step {
	int64_t time_ns;
	const char *what; /* "calls", "stacks", or the name of a signal */
	/*
	 * Calls: one of this many is timed, where fewest are; stacks: one of this many is taken; a
	 * signal: 0 if it was stopped. 1: all, as at the start.
	 */
	int64_t value;
	int64_t threads; /* calls: threads of which not every call is timed */
};
int recording__add_budget_step(struct recording *recording,
			       const struct recording_budget_step *step);

int recording__add_syscall_error(struct recording *recording, int number, int err, int64_t count);

/* Adds to the sums of (thread, number). */
struct recording_thread_calls {
	int64_t thread;
	int number;
	int64_t count;
	int64_t errors;
	int64_t total_ns;
	int64_t run_ns; /* the part of total_ns on a CPU */
};
int recording__add_thread_calls(struct recording *recording,
				const struct recording_thread_calls *calls);

/* Adds to the count of (thread, number, error, pattern). */
struct recording_failed_path {
	int64_t thread; /* 0: of many threads */
	int number;     /* of the syscall */
	int error;      /* an errno; 0: calls that succeeded */
	const char *pattern;
	int64_t count;
	int64_t paths; /* different paths that the pattern stands for */
};
int recording__add_failed_path(struct recording *recording,
			       const struct recording_failed_path *path);
int recording__drop_failed_paths(struct recording *recording);

/* Adds the time that `by` ran on the CPU for which `thread` was queued, up to the end of slice
 * `to`. */
int recording__add_occupant(struct recording *recording, int64_t to, int64_t thread, int64_t by,
			    int64_t ns);
/* The same for many. It is fastest if they are sorted by thread and `by`. */
struct recording_occupant {
	int64_t thread, by, ns;
};
int recording__add_occupants(struct recording *recording, int64_t to,
			     const struct recording_occupant *list, size_t count);

/* A limit of a cgroup that applies to a recorded process. */
struct recording_cgroup_limit {
	int64_t process;
	const char *cgroup;
	const char *kind; /* "cpu", "memory", "io" */
	const char *value;
};
int recording__put_cgroup_limit(struct recording *recording,
				const struct recording_cgroup_limit *limit);
/* For how long that cgroup was without CPU quota, in all rows of the limit. */
int recording__set_throttled(struct recording *recording, const char *kind, const char *cgroup,
			     int64_t ns);

/* Pages of a cgroup that were read again after they had been evicted. */
struct recording_refaults {
	const char *cgroup;
	int64_t from, to; /* slices */
	int64_t file, anonymous;
};
int recording__add_refaults(struct recording *recording, const struct recording_refaults *refaults);

/* For how long threads of a cgroup lacked something, in the `of_ns` that it was watched. */
struct recording_pressure {
	const char *cgroup;
	const char *kind; /* "cpu", "memory", "io" */
	int64_t some_ns;  /* at least one of them */
	int64_t full_ns;  /* all that had work */
	int64_t of_ns;
};
int recording__put_pressure(struct recording *recording, const struct recording_pressure *pressure);

/* A file with code, or another source of code: the kernel, the vDSO, a JIT compiler. */
struct recording_module {
	int64_t id;
	/* "file", "vdso", "kernel", "jit" (of one process), or the key of a runtime: "python" */
	const char *kind;
	const char *path;     /* "/usr/lib/…/libc.so.6", "[kernel]", "[jit 4242]", "[python]" */
	const char *build_id; /* hex, NULL if none */
};
int recording__add_module(struct recording *recording, const struct recording_module *module);

/* A position in code. `address` as in the ELF file; as at run time in the kernel and in JIT code.
 */
int recording__add_frame(struct recording *recording, int64_t id, int64_t module, int64_t address);

struct recording_function {
	int64_t id;
	int64_t module;
	const char *name, *system_name; /* demangled, and as in the symbol table */
	const char *file;               /* NULL if unknown */
	int64_t start_line;             /* 0 if unknown */
	const char *source; /* of the name, see vocabulary/name_sources.def; NULL if unknown */
};
int recording__add_function(struct recording *recording, const struct recording_function *function);

/*
 * A function at a frame's address: depth 0 is the innermost inlined function, the last one is the
 * real one.
 */
struct recording_line {
	int64_t frame;
	int depth;
	int64_t function;
	int64_t line, column; /* 0 if unknown */
};
int recording__add_line(struct recording *recording, const struct recording_line *line);

/* A stack: `frame`, called by the stack `parent` (0: none). */
int recording__add_stack(struct recording *recording, int64_t id, int64_t parent, int64_t frame);

enum recording_sample_flags {
	RECORDING_SAMPLE_NEXT = 1,   /* written by 0.1.0: the stack is where the thread continued */
	RECORDING_SAMPLE_TICK = 2,   /* a clock tick; otherwise sampled intervals */
	RECORDING_SAMPLE_KERNEL = 4, /* a tick in the kernel, with or without its stack */
};

/* The columns stack and none of `sample`. A stack that was taken too late counts as none. */
#define RECORDING_STACK "CASE WHEN flags & 1 THEN 0 ELSE stack END"
#define RECORDING_NONE  "CASE WHEN flags & 1 THEN 'taken too late' ELSE none END"

/* A stack with a weight. The weights are unbiased estimates of the account's sums. */
struct recording_sample {
	int64_t time_ns; /* of the tick, or of the end of the (last) interval */
	int64_t thread;
	int state;
	int64_t stack;       /* 0: none */
	int64_t waker_stack; /* 0: unknown */
	int64_t by;          /* as in recording_wait */
	int64_t object;
	int64_t weight_ns;
	int64_t wait_ns;   /* the intervals' true length; 0 for a tick */
	int64_t period_ns; /* the sampling period in force */
	int64_t count;     /* of intervals */
	int flags;
	const char *none; /* why there is no user stack; NULL: there is one */
	const char *end;  /* why the user stack is incomplete; NULL: it is complete */
	const char *how;  /* how the user stack was walked: "rows", "frames" (pointers) or "both" */
	const char *evidence; /* as in recording_wait; NULL: not a wait */
	int64_t first;        /* as in recording_wait */
	int cpu;              /* where it was taken; negative: unknown */
	const char *ended;    /* as in recording_wait; NULL: not a wait */
	int turn;
	bool in_request;
	int64_t fiber;  /* the goroutine; 0: unknown (NULL in the table); -1: none (0 there) */
	int64_t window; /* that the thread worked for; 0: none (NULL in the table) */
};
int recording__add_sample(struct recording *recording, const struct recording_sample *sample);

/* The stack of an event of a signal, which stands for `count` events. */
struct recording_signal_sample {
	int64_t time_ns;
	const char *signal;
	int64_t thread;
	const char *operation; /* NULL: unknown */
	int64_t stack;         /* 0: none */
	int64_t count;
	int64_t bytes; /* of all of them */
};
int recording__add_signal_sample(struct recording *recording,
				 const struct recording_signal_sample *sample);

/* A signal that killed a process: the thread in which it arose, and where that thread was. */
struct recording_fatal {
	int64_t time_ns;
	int64_t thread;
	int signal;      /* SIGSEGV, … */
	int code;        /* si_code */
	int64_t address; /* si_addr; 0: none */
	int64_t stack;   /* 0: none */
};
int recording__add_fatal(struct recording *recording, const struct recording_fatal *fatal);

/* A signal that was recorded. */
struct recording_signal {
	int id;
	const char *name;
	const char *about;
	const char *events; /* what is counted: "requests" */
	const char *role;   /* see vocabulary/roles.h; "": none */
};
int recording__add_signal(struct recording *recording, const struct recording_signal *signal);
/* Measures are numbered from 0; `unit` is "ns", "bytes" or what is counted. */
int recording__add_measure(struct recording *recording, int signal, int id, const char *name,
			   const char *unit);

#define RECORDING_MEASURES 6

/* The key of a series: events with the same key are summed up together. */
struct recording_series {
	int64_t id;
	int signal;
	int64_t thread;        /* 0: unknown */
	int64_t object;        /* 0: none */
	const char *place;     /* a device, a file system; "": none */
	const char *operation; /* "read", "connect"; "": there is only one */
	int error;             /* an errno; 0: success */
};
int recording__add_series(struct recording *recording, const struct recording_series *series);

/* What was added to a series; slices as in account. `max` is the maximum of what was added. */
struct recording_sum {
	int64_t series;
	int64_t from, to;
	int64_t count;
	int64_t sum[RECORDING_MEASURES];
	int64_t max[RECORDING_MEASURES];
};
int recording__add_sum(struct recording *recording, const struct recording_sum *sum);

/* The histogram of one measure at one place and for one operation. */
struct recording_distribution {
	int64_t id;
	int signal;
	int measure;
	const char *place;
	const char *operation;
};
int recording__add_distribution(struct recording *recording,
				const struct recording_distribution *distribution);
int recording__add_distributed(struct recording *recording, int64_t distribution, int bucket,
			       int64_t from, int64_t to, int64_t count);

/* Adds to the distribution of one thread, which has no slices. */
int recording__add_owned(struct recording *recording, int64_t distribution, int64_t thread,
			 int bucket, int64_t count);

/* An event with a row of its own. */
struct recording_event {
	int signal;
	int64_t time_ns;     /* when it ended */
	int64_t duration_ns; /* 0: none */
	int64_t thread;
	int64_t object;
	const char *place;
	const char *operation;
	int error;
	const char *fields; /* a JSON object with the columns of this signal */
	int64_t stack;      /* the user stack of its thread; 0: none */
};
int recording__add_event(struct recording *recording, const struct recording_event *event);

/* Idle time of each CPU over the whole recording. */
int recording__put_cpu(struct recording *recording, int cpu, int64_t idle_ns);

/*
 * Quality: what was lost, repaired, …. `bias` says what a value above 0 means for the numbers,
 * `remedy` what to do about it, "" if nothing.
 */
int recording__put_quality(struct recording *recording, const char *name, int64_t value,
			   const char *bias, const char *remedy);
int recording__put_cost(struct recording *recording, const char *name, double value,
			const char *unit);

/*
 * For a recording in memory without an end.
 *
 * recording__age_waits() moves the waits that were added since its last call into the temporary
 * table wait_slice, with the number of a slice. Then they can be selected by time, and deleted.
 *
 * recording__forget() deletes what ended before slice `before`. That slice must exist; its begin
 * becomes the begin of the recording. Keep at least 20 s: an idle thread is written every few
 * seconds, and a thread that is not written is considered gone. Series without rows are deleted
 * too: afterwards, the writer must not add to existing series, but add new ones with the same
 * words.
 */
int recording__age_waits(struct recording *recording, int64_t slice);
int recording__forget(struct recording *recording, int64_t before);
/*
 * Deletes one row that others refer to by number. The caller must know that nothing refers to it
 * any more: no remaining row, and none to come.
 */
enum recording_dropped {
	RECORDING_DROP_STACK,
	RECORDING_DROP_FRAME,
	RECORDING_DROP_LINES, /* of a frame */
	RECORDING_DROP_FUNCTION,
	RECORDING_DROP_MODULE,
	RECORDING_DROP_OBJECT,
	RECORDING_DROP_THREAD,
	RECORDING_DROP_PROCESS,
	RECORDING_DROP_COUNT
};
int recording__drop(struct recording *recording, enum recording_dropped what, int64_t id);
/*
 * Writes the present content to a new, complete file of mode 0600. -EEXIST, -EINVAL as in create().
 */
int recording__save(struct recording *recording, const char *path);

/*
 * Opens an existing recording for reading. If its recorder was killed, this first rolls back the
 * commit that was open then, which needs write permission. -ENOENT, -EACCES, -EISDIR; -EBADMSG: not
 * a recording; -EPROTONOSUPPORT: made by a newer gapless. The caller closes it with
 * sqlite3_close().
 */
int recording__open(const char *path, sqlite3 **ret);
/*
 * Whether a file claims to be a recording, even if the rest of it is damaged. Do not call this
 * while this process writes one: it would drop the locks on that file.
 */
bool recording__is_one(const char *path);
