/* One signal at work: its kernel half loaded and attached, its records turned into events. */
#pragma once

#include <stdint.h>

#include "bpf/wire.h"
#include "core/features.h"
#include "signals/signal.h"

struct session;

typedef int (*session_event_fn)(void *context, const struct event *event);

/*
 * Loads and attaches. *ret belongs to the caller. Logs why it failed, since only here the context
 * is known, and returns -errno (-ENOTSUP: no hook of this signal works on this kernel).
 */
int session__start(const struct signal *signal, struct features *features, session_event_fn take,
		   void *context, struct session **ret);
void session__free(struct session *session);

/* Hands on what has arrived, waiting at most timeout_ms: how many, or -errno (-EINTR: a signal). */
int session__poll(struct session *session, int timeout_ms);

/* One result per hook of the signal. */
const struct hook_use *session__hooks(const struct session *session);

struct session_losses {
	uint64_t lost[LOST_COUNT];
	uint64_t malformed; /* records that the decoder refused */
};

struct session_losses session__losses(const struct session *session);
