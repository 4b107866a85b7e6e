/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The description of a signal: its hooks, what it sums up, how its records become events, and what
 * the numbers in both mean. Recording, report, watch and JSON are all driven by this description,
 * so a signal never prints. To add one, see CONTRIBUTING.md.
 *
 * A signal's part of the kernel half does two things. It adds each event to sums
 * (bpf/series.bpf.h), and it sends records through its map NAME_ring: events that get a row of
 * their own, and names of objects.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/parts.h"
#include "bpf/series.h"
#include "core/loader.h"
#include "vocabulary/roles.h"
#include "vocabulary/runtimes.h"

#define SIGNAL_COLUMNS 16
#define SIGNAL_HOOKS   24
#define SIGNAL_SCRATCH 1024

/* A value of the signal's events. */
struct measure {
	const char *name; /* "queue" */
	const char *unit; /* "ns", "bytes", or what is counted: "requests" */
};

enum column_kind { COLUMN_NUMBER, COLUMN_TEXT, COLUMN_NS, COLUMN_BYTES };

/* A field of an event, in addition to those that all events have. */
struct column {
	const char *name; /* the JSON key; upper-cased, the heading */
	enum column_kind kind;
	int width; /* in a table; the last column takes what it needs; negative: not in tables */
};

struct value {
	uint64_t number;
	const char *text; /* for COLUMN_TEXT; points into the record or the event's scratch */
	bool none;        /* this event has no such value */
};

enum event_kind {
	EVENT_HAPPENED,
	EVENT_NAMES, /* only says what `object` is */
};

struct event {
	enum event_kind kind;
	uint64_t time_ns;     /* when it ended */
	uint64_t duration_ns; /* 0: none */
	uint64_t thread;      /* the ledger's id; 0: unknown to the ledger */
	uint64_t stack;       /* hash of its user stack; 0: none */
	__u64 object[2];      /* as in the series; 0, 0: none */
	uint32_t place;
	uint16_t operation;
	uint16_t error;
	const char *object_kind; /* for EVENT_NAMES: "file", "socket", "device" … */
	const char *object_name;
	struct value values[SIGNAL_COLUMNS]; /* one for each column of the signal */
	char scratch[SIGNAL_SCRATCH];        /* for texts that are not in the record */
};

#define SIGNAL_WHY 768

/* An option of `record` and `watch` that says what a signal is to measure. It may be repeated. */
struct signal_option {
	const char *name; /* "event": --event */
	/*
	 * `arg` stays valid; NULL: the option has none. -errno: `why` says in one sentence what is
	 * wrong with the argument.
	 */
	int (*take)(const char *arg, char *why, size_t size);
};

struct uprobe_scope;

/* A process with a language runtime. */
struct signal_runtime {
	uint32_t pid;
	enum runtime_kind kind;
	const char *path; /* of the file with the runtime, as the process sees it */
};

/* A thread of a runtime's own, such as a goroutine, as it was found. */
struct signal_fiber {
	uint64_t at; /* address of what the runtime keeps of it */
	uint64_t id;
	uint64_t start; /* address of its first function */
	enum fiber_state state;
	uint32_t reason; /* why it waits: an index; 0: not known */
};

/* All those of a process at one moment. Valid during the call only. */
struct signal_fibers {
	uint32_t pid;
	uint64_t start_ticks;
	/* In what the runtime keeps of each; 0: changes of state cannot be followed. */
	uint16_t id_at, reason_at, start_at;
	const char *(*reason)(const struct signal_fibers *fibers, uint32_t reason);
	size_t count;
	void (*each)(const struct signal_fibers *fibers, size_t number, struct signal_fiber *ret);
	const void *own; /* of these functions */
};

/* What a sum is about. */
struct signal_fiber_of {
	uint32_t pid;
	uint64_t start_ticks;
	uint64_t id, start;
	enum fiber_state state;
};

typedef int (*signal_sum_fn)(void *context, const struct series_key *key,
			     const struct series_sum *sum);

struct signal {
	const char *name;
	enum signal_number number;
	const char *about;  /* one line for `gapless list` */
	const char *events; /* what is counted, in the plural: "requests" */
	enum role role;     /* how reports present it */
	bool is_default;    /* cheap enough for every recording */
	unsigned event_ns; /* about what one event costs, see core/sessions.h; 0: next to nothing */
	bool at_syscalls;  /* useless without hooks at syscalls: needs level full */
	bool on_request;   /* measures only what its options name; "all" does not include it */
	const struct signal_option *options; /* ends with a NULL name; NULL: none */
	/*
	 * Ends with a NULL event; at most SIGNAL_HOOKS. Programs whose names do not begin with the
	 * signal's are the ledger's, which call the signal's part.
	 */
	const struct hook *hooks;
	/*
	 * Up to SERIES_VALUES, then a NULL name. The first is the most interesting one for users.
	 */
	const struct measure *measures;
	const struct column *columns; /* ends with a NULL name; at most SIGNAL_COLUMNS */
	/*
	 * Looks for what the options name in programs and libraries (core/uprobes.h), before each
	 * recording; may be NULL. Logs. -errno: something is not to be found.
	 */
	int (*find)(const struct uprobe_scope *scope, uint32_t budget_ppm);
	/*
	 * Is told of each process whose runtime was found, in any thread and at any time; may be
	 * NULL. Recordings without stacks do not look for runtimes.
	 */
	void (*take_runtime)(const struct signal_runtime *runtime);
	/*
	 * Is told several times a second what the fibers of each process do; may be NULL. Logs.
	 */
	void (*take_fibers)(const struct signal_fibers *fibers);
	/*
	 * Its sums are of fibers, and the objects in their keys say which. The sums are added up
	 * for each fiber, too; other sums and rows go without the object. NULL: they are not.
	 * False: the process is not known any more.
	 */
	bool (*fiber)(const struct series_key *key, struct signal_fiber_of *ret);
	/*
	 * Hands over sums that the kernel half does not have; may be NULL. Called each time that
	 * the sums are written, also after the stop. 0, or what `take` returns.
	 */
	int (*hand_over_sums)(signal_sum_fn take, void *context);
	/* Sets knobs before the load; may be NULL. 0 or -errno. */
	int (*prepare)(struct bpf_object *object, const struct hook_use *uses);
	/*
	 * Attach and detach the programs of hooks with HOOK_BY_SIGNAL, whose targets the signal
	 * knows; NULL: it has none. attach() logs what it goes without. 0 or -errno.
	 */
	int (*attach)(struct bpf_object *object);
	void (*detach)(void);
	/* How many of its probes were detached because of the budget; may be NULL. */
	uint64_t (*left_out)(void);
	/*
	 * Updates the sums, if the kernel half does not add each event when it happens; may be
	 * NULL. Called at the start, each time before the sums are read, and a last time before the
	 * stop. `links` are those of the hooks, in their order; NULL: not attached. 0 or -errno.
	 */
	int (*refresh)(struct bpf_object *object, struct bpf_link *const *links, bool is_last);
	/*
	 * Hands over events that the user half has made since the last call; may be NULL. Called
	 * each time that the sums are written. 0, or what `take` returns.
	 */
	int (*hand_over)(int (*take)(void *context, const struct event *event), void *context);
	/* Pure: bytes in, event out. -EBADMSG for a record that is not of this signal. */
	int (*decode)(const void *bytes, size_t size, struct event *ret);
	/* Looks for a better name of the object than decode() could give it; may be NULL. */
	void (*name_object)(struct event *event);
	/* Words for numbers. operation() is pure; place() may look up the name. */
	const char *(*operation)(uint32_t operation);
	void (*place)(uint32_t place, char *ret, size_t size); /* NULL: the signal has no places */
	/* The name of an object, if its numbers tell it; NULL: records have it, or there is none.
	 */
	void (*object)(const __u64 numbers[2], char *ret, size_t size);
	const char *object_kind; /* of objects without a name; NULL: the signal has no objects */
	/*
	 * The objects are those of the ledger's waits: the kind (enum ledger_object) by operation.
	 * NULL: the signal has objects of its own, or none.
	 */
	uint32_t (*ledger_object)(uint32_t operation);
	/*
	 * Asks whether an object that was not seen for long may be forgotten. True: the kernel half
	 * sends its name again if the object comes back. NULL: every record has the name.
	 */
	bool (*forget_object)(struct bpf_object *object, const __u64 numbers[2]);
};

/* A signal's part of the kernel half (bpf/parts.h). Arrays of parts end with a NULL signal. */
struct part {
	const struct signal *signal;
	struct hook_use hooks[SIGNAL_HOOKS];
	bool is_on;         /* after the load: it could be loaded */
	bool is_impossible; /* no hook works on this machine */
};

/* Whether a program or map with this name belongs to the part of the signal `signal`. */
bool signal__owns(const char *signal, const char *name);

/* The number of values of its events. */
size_t signal__values(const struct signal *signal);
