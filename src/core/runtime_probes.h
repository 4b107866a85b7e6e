/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A signal's probes in language runtimes. A file gets its probes when the first process with a
 * runtime of it is found, and keeps them until the end. A thread of its own looks for the places,
 * because that takes as long as a file is large. A probe that is hit too often is taken off.
 */
#pragma once

#include <bpf/libbpf.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/signal.h"
#include "core/uprobes.h"

/* Cookies are numbered from 1; 0 is none. */
#define RUNTIME_MOST_PROBES 256
#define RUNTIME_SITE_BYTES  40

/* A place that was found. */
struct runtime_place {
	struct finder_place at;
	bool at_return;
	unsigned char site[RUNTIME_SITE_BYTES]; /* what the kernel half has to know of it */
};

/* All zeroes: none. */
struct runtime_places {
	struct runtime_place *list; /* the caller's */
	size_t count;
	char missing[96]; /* what cannot be seen, in words: "collections"; "": nothing */
};

int runtime_places__add(struct runtime_places *places, const struct finder_place *at,
			bool at_return, const void *site, size_t site_bytes);
/* Adds to the words of what is missing. */
void runtime_places__miss(struct runtime_places *places, const char *what);

struct runtime_probes_options {
	const char *program;    /* the BPF program at entries */
	const char *at_return;  /* NULL: there is none */
	const char *sites;      /* the map of sites by cookie; NULL: there is none */
	const char *hits;       /* the map of hits by cookie and CPU, which the programs count */
	const char *what;       /* that the signal measures, in words: "pauses" */
	unsigned trial_us;      /* probes are on trial for so long; 0: for up to a second */
	enum runtime_kind only; /* RUNTIME_NONE: all kinds */
	/* Adds the places in one file. 0 or -errno; *ret is the caller's in any case. */
	int (*find)(struct finder *finder, enum runtime_kind kind, const struct uprobe_file *file,
		    struct runtime_places *ret);
};

/* One for each signal; the fields are private. */
struct runtime_probes {
	const struct runtime_probes_options *options;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bpf_object *object;
	struct finder *finder;
	uint64_t looked_ns;
	pthread_t thread;
	bool is_running;
	/* Under the lock: */
	bool is_stopping, is_working;
	struct runtime_process *queue, *done;
	size_t queued, done_count;
	struct runtime_probed_file *files; /* that were looked at */
	size_t file_count;
	struct runtime_probe *probes; /* by cookie; 0 is none */
	uint32_t probe_count;
	uint64_t left_out;
};
#define RUNTIME_PROBES(its_options)                                                                \
	{ .options = (its_options),                                                                \
	  .lock = PTHREAD_MUTEX_INITIALIZER,                                                       \
	  .changed = PTHREAD_COND_INITIALIZER }

/* For core/signal.h. They log. */
void runtime_probes__take(struct runtime_probes *probes, const struct signal_runtime *runtime);
int runtime_probes__attach(struct runtime_probes *probes, struct bpf_object *object);
void runtime_probes__detach(struct runtime_probes *probes);
/* Takes off what is hit too often. */
int runtime_probes__hold(struct runtime_probes *probes);
uint64_t runtime_probes__left_out(struct runtime_probes *probes);

/* Whether all probes for the runtime of a process are in its file now. */
bool runtime_probes__are_in(struct runtime_probes *probes, uint32_t pid);
