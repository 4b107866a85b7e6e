/* One signal at work: its kernel half loaded and attached, its sums and events on their way. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/features.h"
#include "core/signal.h"
#include "recording/recording.h"

struct session;

struct session_options {
	struct recording *recording;
	int number;                /* the signal's in the recording */
	int threads_fd;            /* the ledger's map `threads`: whom to look at */
	struct bpf_object *ledger; /* loaded: the kernel half of signals that are in it */
	bool every_thread;         /* also what belongs to no thread that the ledger knows */
	bool no_syscall_hooks;     /* those of its hooks are left out */
	uint64_t slow_ns;          /* what takes as long becomes an event */
};

/*
 * Loads. *ret belongs to the caller. Logs why it failed, since only here the context is known, and
 * returns -errno (-ENOTSUP: no hook of this signal works on this kernel).
 */
int session__open(const struct signal *signal, const struct session_options *options,
		  struct features *features, struct session **ret);
void session__free(struct session *session);

/* Attaches. Logs. */
int session__start(struct session *session);
/* From here on it counts, or does not. */
void session__enable(struct session *session, bool on);
/* Detaches; what was counted is still to be written. */
void session__stop(struct session *session);

/* Has the sums brought up to date, where that is not done by events. Logs the first failure. */
void session__refresh(struct session *session, bool is_last);

/* Hands on what has arrived: how many records, or -errno. */
int session__poll(struct session *session);

/* See core/series.h. What was added until the switch is written as of the slices from … to. */
void session__switch(struct session *session);
int session__write(struct session *session, int64_t from, int64_t to);
/* What was lost, as rows of the recording. */
int session__write_quality(const struct session *session);

/* See core/publish.h. */
int session__forget(struct session *session, uint64_t before_ns);

/* Once a second: what is slow enough for an event, so that there are not too many of them. */
void session__hold_rate(struct session *session);

const struct signal *session__signal(const struct session *session);
/* NULL if it is the ledger's. */
const struct bpf_object *session__object(const struct session *session);
/* Appends what became of each hook. */
void session__add_hooks(const struct session *session, json_t *list);
