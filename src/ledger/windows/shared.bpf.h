/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections to another server that several windows share: an event loop sends requests of several
 * windows on one connection, often together, and reads their answers together. Which is whose is
 * not known. What is known is the order: a request was sent there since the thread has read the
 * window, and the thread reads an answer there and then answers the window, in the same turn of its
 * loop and with nothing else read in between. That the window waited for that answer is inferred.
 * From the read, or from the window that the thread answered since, to the answer, it worked for
 * the window.
 */
#pragma once

#include "ledger/windows/worker.bpf.h"

/* A request is sent on the connection of a client. */
static __always_inline void asks_for(struct socket_window *client,
				     const struct window_worker *worker, __u64 now)
{
	client->sent_ns = now;
	/* There, the rest of a request looks like another one. */
	if (client->protocol == WINDOW_PROTOCOL_TLS || client->protocol == WINDOW_PROTOCOL_TURNS)
		return;
	if (client->phase == PHASE_ASKED && client->window.parent && worker && worker->serial &&
	    client->window.parent != worker->serial)
		client->flags |= SOCKET_SHARED;
}

/* The thread has read from a shared connection; for which window it goes on is not known. */
static __always_inline void hears(struct socket_window *client, __u32 place,
				  struct window_worker *worker, struct thread *thread,
				  const struct here *here, __u64 ready_ns, __u64 now)
{
	client->heard_ns = now;
	client->heard_ready_ns = ready_ns;
	if (!worker)
		return;
	if (worker->serial)
		segment_ends(worker, thread, here, now);
	set_base(worker, thread, here, now);
	note_last_wait(worker, thread);
	worker->hears = client->inode;
	worker->hears_place = place;
}

/* What it does next has another reason. */
static __always_inline void hears_nothing(struct window_worker *worker)
{
	if (worker)
		worker->hears = 0;
}

/* Whether the thread answers the window because of what it has read from a shared connection. */
static __always_inline bool goes_on_after_hearing(struct window_worker *worker,
						  struct socket_window *window)
{
	const struct socket_window *client;

	if (!worker->hears || worker->serial || window->phase != PHASE_ASKED)
		return false;
	client = socket_window_at(worker->hears_place);
	if (!client || client->inode != worker->hears || client->sent_ns < window->window.read_ns ||
	    client->heard_ns <= window->cursor_ns || client->heard_ns > worker->begin_ns)
		return false;
	gap_ends(window, client->heard_ns, WINDOW_PART_SHARED, client->heard_ready_ns);
	gap_ends(window, worker->begin_ns, WINDOW_PART_SET_ASIDE, 0);
	window->window.worker = WINDOW_BY_INFERRED;
	count_window(WINDOWS_BY_INFERENCE, 1);
	return true;
}
