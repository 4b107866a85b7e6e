/*
 * A recording: one SQLite file with everything from one run. This is the writer's side; whoever
 * reads opens the file with recording__open() and asks in SQL. The schema is in schema.c and, for
 * users, in the man page gapless-recording(5).
 *
 * Rows go into one open transaction until recording__commit(), which the caller does once a slice:
 * after a kill the file holds everything up to its last commit. All times are CLOCK_MONOTONIC
 * nanoseconds; durations are in nanoseconds. Every function returns 0 or -errno (-ENOSPC: disk
 * full; -EIO: any other failure of the file) and never logs; recording__error() has SQLite's words.
 * The first failure is final: what was not committed is gone, and every later call returns the same
 * error, so that no account can have a hole. Not for use from two threads at once.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#define RECORDING_SCHEMA_VERSION 3

struct recording;

/*
 * Makes the file with mode 0600. -EEXIST if it is there and `force` is not set; -EINVAL if it is,
 * but what is there is no regular file.
 */
int recording__create(const char *path, bool force, struct recording **ret);
/* One that nobody keeps: for showing what happens now. recording__db() is how to read it. */
int recording__create_in_memory(struct recording **ret);
/* The open database, uncommitted rows included. It stays the recording's. */
sqlite3 *recording__db(struct recording *recording);
/* Closes without finishing: the file holds the last commit and, if never finished, complete = 0. */
void recording__free(struct recording *recording);
/* Marks it complete, commits, checkpoints; recording__free() is still due. */
int recording__finish(struct recording *recording);
/* While somebody reads the file, the rows stay for the next commit; that is no error. */
int recording__commit(struct recording *recording);
const char *recording__error(const struct recording *recording);

/* meta: one row per key; a later value replaces the earlier one. */
int recording__set_text(struct recording *recording, const char *key, const char *value);
int recording__set_number(struct recording *recording, const char *key, int64_t value);

/* A state of the ledger: what the numbers in account and wait stand for. */
struct recording_state {
	int id;
	const char *state; /* "run", "ready", "wait", "unseen" */
	const char *cause; /* "user", "woken", "lock", … */
	const char *kind;  /* of a wait: "delaying", "undecided", "idle"; else NULL */
};
int recording__add_state(struct recording *recording, const struct recording_state *state);

/* Adding a process or thread that is there already updates it. */
struct recording_process {
	int64_t id;
	int pid;
	int parent_pid;
	int64_t start_ns; /* CLOCK_BOOTTIME, as the kernel counts it */
	const char *comm;
	const char *cgroup;    /* path, NULL if unknown */
	const char *container; /* id, NULL if none or unknown */
};
int recording__put_process(struct recording *recording, const struct recording_process *process);

enum recording_thread_flags {
	RECORDING_THREAD_EXITED = 1,     /* it ended within the recording */
	RECORDING_THREAD_KERNEL = 2,     /* a kernel thread */
	RECORDING_THREAD_OWN = 4,        /* gapless itself: counted, never a finding */
	RECORDING_THREAD_NO_ACCOUNT = 8, /* only named as a culprit */
};

struct recording_thread {
	int64_t id;      /* the serial; negative: not a thread but an interrupt that woke one */
	int64_t process; /* 0: unknown */
	int tid;
	const char *comm;
	int64_t first_ns; /* the account covers first_ns … last_ns */
	int64_t last_ns;
	int64_t unexplained_ns; /* without what its state `unseen` has */
	int flags;
};
int recording__put_thread(struct recording *recording, const struct recording_thread *thread);
/* A thread's name from this time on; the latest is in the thread's row as well. */
int recording__add_name(struct recording *recording, int64_t thread, int64_t time_ns,
			const char *comm);

/* Slices are numbered from 1 and follow each other without a hole. */
int recording__add_slice(struct recording *recording, int64_t id, int64_t begin_ns, int64_t end_ns);

/* What a thread added to its account from the begin of slice `from` to the end of slice `to`. */
struct recording_account {
	int64_t thread;
	int64_t from, to;
	int state;
	int64_t ns;
	int64_t count; /* of intervals of this state that began there */
};
int recording__add_account(struct recording *recording, const struct recording_account *account);

/* A thread's page faults in the same slices. */
struct recording_faults {
	int64_t thread;
	int64_t from, to;
	int64_t minor, major;
};
int recording__add_faults(struct recording *recording, const struct recording_faults *faults);

/* An object behind waits. `name` may become better later: putting it again replaces it. */
struct recording_object {
	int64_t id;
	const char *kind; /* "futex", "file", "socket", "pipe", "child", "syscall", "other", … */
	const char *name; /* "0x7f…", "/var/lib/…", "127.0.0.1:80 ← 127.0.0.1:4242" */
};
int recording__put_object(struct recording *recording, const struct recording_object *object);
/* An id that no object has yet. */
int64_t recording__next_object(struct recording *recording);

/* Adds to the sums of (thread, state, object, by, evidence, first). */
struct recording_wait {
	int64_t thread;
	int state;
	int64_t object;       /* 0: none */
	int64_t by;           /* a thread's id; 0: nobody known */
	const char *evidence; /* "owner", "handed", "waker", "none" */
	int64_t ns;
	int64_t count;
	int64_t first; /* "handed": the thread that held the lock when the wait began; else 0 */
};
int recording__add_wait(struct recording *recording, const struct recording_wait *wait);
/* Those of a thread that turned out to have no account. */
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
	int64_t run_ns; /* of total_ns, on a CPU */
};
int recording__add_syscall(struct recording *recording, const struct recording_syscall *syscall);
int recording__add_syscall_error(struct recording *recording, int number, int err, int64_t count);

/* A file with code, or what stands for one. */
struct recording_module {
	int64_t id;
	const char *kind;     /* "file", "vdso", "kernel", "jit" (of one process) */
	const char *path;     /* "/usr/lib/…/libc.so.6", "[kernel]", "[jit 4242]" */
	const char *build_id; /* hex, NULL if none */
};
int recording__add_module(struct recording *recording, const struct recording_module *module);

/* A place in code. `address` as the ELF file has it; plain in the kernel and in generated code. */
int recording__add_frame(struct recording *recording, int64_t id, int64_t module, int64_t address);

struct recording_function {
	int64_t id;
	int64_t module;
	const char *name, *system_name; /* demangled, and as the symbol table has it */
	const char *file;               /* NULL if unknown */
	int64_t start_line;             /* 0 if unknown */
};
int recording__add_function(struct recording *recording, const struct recording_function *function);

/* A function at a frame's address: at depth 0 the innermost inlined one, the real one last. */
struct recording_line {
	int64_t frame;
	int depth;
	int64_t function;
	int64_t line, column; /* 0 if unknown */
};
int recording__add_line(struct recording *recording, const struct recording_line *line);

/* A stack: `frame`, called by the stack `parent` (0: by nobody). */
int recording__add_stack(struct recording *recording, int64_t id, int64_t parent, int64_t frame);

enum recording_sample_flags {
	RECORDING_SAMPLE_NEXT = 1, /* by 0.1.0: the stack is where the thread went on */
	RECORDING_SAMPLE_TICK = 2, /* a clock tick; else intervals that were drawn */
	RECORDING_SAMPLE_KERNEL =
		4, /* a tick that hit the kernel, whether its stack is there or not */
};

/* The columns stack and none of `sample`: a stack that was taken too late is none. */
#define RECORDING_STACK "CASE WHEN flags & 1 THEN 0 ELSE stack END"
#define RECORDING_NONE  "CASE WHEN flags & 1 THEN 'taken too late' ELSE none END"

/* A stack with a weight; the weights are unbiased estimates of the account's sums. */
struct recording_sample {
	int64_t time_ns; /* of a tick: when; else: when the (last) interval ended */
	int64_t thread;
	int state;
	int64_t stack;       /* 0: none */
	int64_t waker_stack; /* 0: not known */
	int64_t by;          /* as in recording_wait */
	int64_t object;
	int64_t weight_ns;
	int64_t wait_ns;   /* the intervals' true length; 0 for a tick */
	int64_t period_ns; /* the rate in force */
	int64_t count;     /* of intervals */
	int flags;
	const char *none; /* why there is no user stack, NULL: there is */
	const char *end;  /* why it is not whole, NULL: it is */
	const char *how;  /* the user stack was walked by "rows", "frames" (pointers) or "both" */
	const char *evidence; /* as in recording_wait; NULL: no wait */
	int64_t first;        /* likewise */
	int cpu;              /* that it was taken on; negative: not known */
};
int recording__add_sample(struct recording *recording, const struct recording_sample *sample);

/* A signal that took part, and the values that its events have. */
struct recording_signal {
	int id;
	const char *name;
	const char *about;
	const char *events; /* what is counted: "requests" */
	const char *role;   /* of vocabulary/roles.h; "": none */
};
int recording__add_signal(struct recording *recording, const struct recording_signal *signal);
/* Measures are numbered from 0; `unit` is "ns", "bytes" or what is counted. */
int recording__add_measure(struct recording *recording, int signal, int id, const char *name,
			   const char *unit);

#define RECORDING_MEASURES 6

/* What events have in common that are summed up together. */
struct recording_series {
	int64_t id;
	int signal;
	int64_t thread;        /* 0: not known */
	int64_t object;        /* 0: none */
	const char *place;     /* a device, a file system; "": none */
	const char *operation; /* "read", "connect"; "": there is only one */
	int error;             /* an errno; 0: it went well */
};
int recording__add_series(struct recording *recording, const struct recording_series *series);

/* What a series added; slices as in account. `max` is of what was added. */
struct recording_sum {
	int64_t series;
	int64_t from, to;
	int64_t count;
	int64_t sum[RECORDING_MEASURES];
	int64_t max[RECORDING_MEASURES];
};
int recording__add_sum(struct recording *recording, const struct recording_sum *sum);

/* The histogram of one measure at one place, for one operation. */
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

/* Something worth a row of its own. */
struct recording_event {
	int signal;
	int64_t time_ns;     /* when it ended */
	int64_t duration_ns; /* 0: it has none */
	int64_t thread;
	int64_t object;
	const char *place;
	const char *operation;
	int error;
	const char *fields; /* a JSON object: what only this signal's events have */
};
int recording__add_event(struct recording *recording, const struct recording_event *event);

/* CPU time that no thread used, per CPU, over the whole recording. */
int recording__put_cpu(struct recording *recording, int cpu, int64_t idle_ns);

/* Quality: what was lost, repaired, …; `bias` says what a value above 0 means for the numbers,
 * `remedy` what to do about it, "" if nothing. */
int recording__put_quality(struct recording *recording, const char *name, int64_t value,
			   const char *bias, const char *remedy);
int recording__put_cost(struct recording *recording, const char *name, double value,
			const char *unit);

/*
 * For one in memory that goes on for ever. recording__age_waits() moves the waits that were added
 * since into the temporary table wait_slice, under the number of a slice: then they can be told by
 * time, and be forgotten. recording__forget() drops what ended before slice `before`, which must be
 * there: its begin is where the recording then begins. Keep 20 s at least: a thread that does
 * nothing is written every few seconds, and one that is not is taken for gone. Series without rows
 * go too: whoever writes must not add to those that are there, but make new ones of the same words.
 */
int recording__age_waits(struct recording *recording, int64_t slice);
int recording__forget(struct recording *recording, int64_t before);
/*
 * Drops one row, of what others know by number. Whoever made it knows best that nothing refers to
 * it any more: no row that is left, and none that follows.
 */
enum recording_dropped {
	RECORDING_DROP_STACK,
	RECORDING_DROP_FRAME,
	RECORDING_DROP_LINES, /* of a frame */
	RECORDING_DROP_FUNCTION,
	RECORDING_DROP_MODULE,
	RECORDING_DROP_OBJECT,
	RECORDING_DROP_THREAD,
	RECORDING_DROP_COUNT
};
int recording__drop(struct recording *recording, enum recording_dropped what, int64_t id);
/* What it holds now as a new file of mode 0600, complete. -EEXIST, -EINVAL as in create(). */
int recording__save(struct recording *recording, const char *path);

/*
 * Opens an existing recording read-only. -ENOENT, -EACCES, -EISDIR; -EBADMSG: not a recording;
 * -EPROTONOSUPPORT: made by a newer gapless. The caller closes it with sqlite3_close().
 */
int recording__open(const char *path, sqlite3 **ret);
/*
 * Whether a file says of itself that it is a recording, even if nothing else of it is in order. Not
 * while this process writes one: the locks on it would be gone.
 */
bool recording__is_one(const char *path);
