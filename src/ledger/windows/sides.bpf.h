/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a message does to the windows of the side that serves and of the side that asks. */
#pragma once

#include "ledger/windows/ends.bpf.h"
#include "ledger/windows/exchange.bpf.h"
#include "ledger/windows/handover.bpf.h"
#include "ledger/windows/request_header.bpf.h"
#include "ledger/windows/requests.bpf.h"
#include "ledger/windows/shared.bpf.h"

/* A request begins. */
static __always_inline void looks_for_ids(const struct exchange *of)
{
	const struct message *message = of->message;

	if (of->socket->protocol == WINDOW_PROTOCOL_HTTP && message->address &&
	    message->first > WINDOW_TEXT_BYTES && !without_text)
		note_header(&of->socket->window, of->place, message->address, message->first);
}

/* --- the side that serves --------------------------------------------------------------------- */

static __always_inline void request_comes(const struct exchange *of)
{
	struct socket_window *socket = of->socket;
	struct message *message = of->message;
	__u64 ready_ns;
	bool begins;

	message->ready_ns = take_ready(of->talk);
	begins = begins_request(socket, message);
	ready_ns = message->ready_ns;
	socket->flags &= ~SOCKET_SPOKE;
	if (message->interim)
		return;
	if (begins && socket->phase != PHASE_ASKED) {
		stops_working(of);
		if (socket->phase == PHASE_ANSWERED)
			window_ends(socket, PHASE_ANSWERED, of->talk->sock);
		if (socket->kind != WINDOW_SERVER) {
			socket->kind = WINDOW_SERVER;
			socket->class = 0;
			describe_ends(socket, of->talk->sock, of->place);
		}
		socket->flags &= ~(SOCKET_CHOKED | SOCKET_AHEAD);
		server_begins(socket, of->worker, of->thread, ready_ns, of->now);
		socket->window.n = message->requests;
		note_text(socket, message);
		looks_for_ids(of);
		starts_working(of);
		return;
	}
	if (socket->phase != PHASE_ASKED && socket->phase != PHASE_ANSWERED)
		return;
	/* Pipelined, or a thread has answered, and its call has not returned yet. */
	if (begins && socket->phase == PHASE_ASKED)
		socket->flags |= SOCKET_AHEAD;
	if (begins && socket->protocol == WINDOW_PROTOCOL_REDIS)
		socket->window.n += message->requests;
	if (works_for(of))
		return;
	stops_working(of);
	gap_ends(socket, of->now, WINDOW_PART_CLIENT_BYTES, ready_ns);
	starts_working(of);
}

/*
 * The answer to the next of several requests that were read at once. It waited while the thread
 * answered the one before.
 */
VERIFIED_ONCE int answers_next(struct socket_window *socket, __u64 sock)
{
	struct window *window;
	__u64 asleep_ns, ready_ns, busy_ns, read_ns, begin_ns, at_ns, end_ns;

	if (!socket || !with_windows)
		return 0;
	window = &socket->window;
	asleep_ns = window->ns[WINDOW_COLUMN(QUEUED_ASLEEP)];
	ready_ns = window->ns[WINDOW_COLUMN(QUEUED_READY)];
	busy_ns = window->ns[WINDOW_COLUMN(QUEUED_BUSY)];
	read_ns = window->ns[WINDOW_COLUMN(QUEUED_READ)];
	begin_ns = window->ready_ns;
	at_ns = window->read_ns;
	end_ns = window->end_ns;
	window_ends(socket, PHASE_ANSWERED, sock);
	clear_window(socket);
	window->serial = __sync_fetch_and_add(&windows_last_serial, 1) + 1;
	window->ready_ns = begin_ns;
	window->read_ns = end_ns;
	window->ns[WINDOW_COLUMN(QUEUED_ASLEEP)] = asleep_ns;
	window->ns[WINDOW_COLUMN(QUEUED_READY)] = ready_ns;
	window->ns[WINDOW_COLUMN(QUEUED_BUSY)] = busy_ns + read_ns;
	if (end_ns > at_ns)
		window->ns[WINDOW_COLUMN(QUEUED_BUSY)] += end_ns - at_ns;
	window->n = 1;
	socket->cursor_ns = end_ns;
	socket->text_hash = 0;
	window->text[0] = '\0';
	socket->phase = PHASE_ASKED;
	return 0;
}

/* A client's request turned out not to be for the window that it was linked to. */
static __always_inline void drop_link(struct socket_window *child)
{
	count_window(WINDOWS_CONTRADICTED, 1);
	child->window.parent = 0;
	child->window.evidence = WINDOW_BY_NONE;
}

/*
 * The thread was resumed for `other` by the answer to a request, has sent nothing since, and
 * answers another window: the request was for that one. The thread that gets a connection of a pool
 * is not always the one that asks for it first.
 */
static __always_inline void is_contradicted(const struct exchange *of, struct socket_window *other)
{
	struct window_worker *worker = of->worker;
	struct socket_window *child = socket_window_at(worker->resumed_by_place);

	if (child && child->inode == worker->resumed_by &&
	    child->window.parent == other->window.serial) {
		if (child->window.n > 1)
			child->flags |= SOCKET_SHARED;
		drop_link(child);
	}
	other->window.ns[WINDOW_COLUMN(DOWNSTREAM)] -= worker->waited_ns;
	other->window.ns[WINDOW_COLUMN(NOTICED)] -= worker->noticed_ns;
	other->window.ns[WINDOW_COLUMN(ELSEWHERE)] += worker->waited_ns + worker->noticed_ns;
}

/* The thread answers, and works for another window: that one is over for now. */
static __always_inline void changes_window(const struct exchange *of)
{
	struct window_worker *worker = of->worker;
	struct socket_window *other = window_of(worker);

	if (other && worker->resumed_ns && of->socket->phase == PHASE_ASKED &&
	    other->phase == PHASE_ASKED) {
		is_contradicted(of, other);
		if (is_innermost(of->thread, worker->serial))
			of->thread->window = 0;
		worker->serial = 0;
		if (worker->begin_ns > of->socket->cursor_ns) {
			gap_ends(of->socket, worker->begin_ns, WINDOW_PART_ELSEWHERE, 0);
			worker->serial = of->socket->window.serial;
			worker->inode = of->socket->inode;
			worker->place = of->place;
			if (!of->thread->window)
				of->thread->window = WINDOW_OF(worker->serial);
		}
		worker->resumed_ns = 0;
		return;
	}
	stops_working(of);
}

/* A thread goes on with the window, and nothing that it read is the reason. */
static __always_inline enum window_part why_idle(const struct exchange *of, bool is_choked)
{
	if (is_choked)
		return WINDOW_PART_CLIENT_WINDOW;
	/* It never polled since it left this window. */
	if (of->socket->last_worker == of->thread->id &&
	    of->worker->poll_end_ns <= of->socket->cursor_ns)
		return WINDOW_PART_SET_ASIDE;
	return WINDOW_PART_ELSEWHERE;
}

/* What the thread did since its base is work for the window. */
static __always_inline void worked_since_base(const struct exchange *of)
{
	struct window_worker *worker = of->worker;

	worker->serial = of->socket->window.serial;
	worker->inode = of->socket->inode;
	worker->place = of->place;
	of->socket->window.segments++;
	of->socket->last_worker = of->thread->id;
	if (!of->thread->window)
		of->thread->window = WINDOW_OF(worker->serial);
}

/*
 * A send goes on with an answer that the client had no room for. What the thread did since its poll
 * returned is work for the window, this send above all.
 */
static __always_inline bool goes_on_since_poll(const struct exchange *of)
{
	struct window_worker *worker = of->worker;
	struct socket_window *socket = of->socket;

	if (worker->serial || worker->begin_ns != worker->poll_end_ns ||
	    worker->begin_ns < socket->cursor_ns)
		return false;
	gap_ends(socket, worker->begin_ns, WINDOW_PART_CLIENT_WINDOW, 0);
	worked_since_base(of);
	return true;
}

/* The thread answers a window for which it did not work just now. */
static __always_inline void takes_up(const struct exchange *of, bool is_choked)
{
	struct socket_window *socket = of->socket;
	__u64 ns;

	if (!is_choked && goes_on_after_hearing(of->worker, socket)) {
		worked_since_base(of);
		return;
	}
	if (is_choked || !is_handed(of->worker, socket, of->thread)) {
		gap_ends(socket, of->now, why_idle(of, is_choked), 0);
		starts_working(of);
		return;
	}
	if (takes_over_window(of->worker, socket, of->place, of->task, of->thread, of->now))
		return;
	ns = of->now - socket->cursor_ns;
	if (socket->phase == PHASE_ASKED) {
		count_window(WINDOWS_UNHANDED, 1);
		count_window(WINDOWS_UNHANDED_NS, (__s64)ns > 0 ? ns : 0);
	}
	gap_ends(socket, of->now, WINDOW_PART_ELSEWHERE, 0);
	set_base(of->worker, of->thread, of->here, of->now);
	note_last_wait(of->worker, of->thread);
}

/* Some of the answer was sent. */
static __always_inline void answer_leaves(const struct exchange *of, bool is_choked)
{
	struct socket_window *socket = of->socket;

	if (!works_for(of) && !(is_choked && goes_on_since_poll(of)))
		takes_up(of, is_choked);
	segment_goes_on(of->worker, socket, of->thread, of->here, of->now);
	if (socket->phase == PHASE_ANSWERED) {
		fold_after(socket);
	} else {
		/* A connection with streams has several requests at a time. */
		if (!socket->stream)
			joins_client(socket, of->talk->sock);
		socket->window.answer_ns = of->now;
	}
	socket->window.end_ns = of->now;
	socket->window.left = bytes_left(of->talk);
	socket->phase = PHASE_ANSWERED;
	if (of->worker->answers_handed)
		gives_back_window(of->worker, of->thread);
}

/* All of the answer was sent: the thread, which worked for it, does not any more. */
static __always_inline void is_answered(const struct exchange *of)
{
	if (is_innermost(of->thread, of->worker->serial))
		of->thread->window = 0;
	of->worker->serial = 0;
	of->worker->served_ns = of->now;
}

static __always_inline void answer_goes(const struct exchange *of)
{
	struct socket_window *socket = of->socket;
	bool ends = ends_answer(socket, of->message), is_choked = socket->flags & SOCKET_CHOKED;
	bool was_read = !(socket->flags & SOCKET_SPOKE);

	socket->flags = (socket->flags | SOCKET_SPOKE) & ~SOCKET_CHOKED;
	if (of->message->is_short) {
		socket->flags |= SOCKET_CHOKED;
		of->worker->met_choked = 1;
	}
	if (of->message->interim ||
	    (socket->phase != PHASE_ASKED && socket->phase != PHASE_ANSWERED))
		return;
	if (socket->phase == PHASE_ANSWERED && socket->protocol == WINDOW_PROTOCOL_HTTP &&
	    http_status(&of->message->head) >= 200) {
		bool goes_on = works_for(of);

		/* What was read since the last answer is not known as a request. */
		if (was_read && !(socket->flags & SOCKET_AHEAD)) {
			count_window(WINDOWS_RESYNC, 1);
			window_ends(socket, PHASE_ANSWERED, of->talk->sock);
			return;
		}
		answers_next(socket, of->talk->sock);
		socket->window.thread = of->thread->id;
		socket->status = status_of_http(http_status(&of->message->head));
		if (goes_on) {
			if (is_innermost(of->thread, of->worker->serial))
				of->thread->window = WINDOW_OF(socket->window.serial);
			of->worker->serial = socket->window.serial;
		}
	}
	if (!works_for(of) && of->worker->serial)
		changes_window(of);
	answer_leaves(of, is_choked);
	if (!ends)
		return;
	is_answered(of);
	window_ends(socket, PHASE_ANSWERED, of->talk->sock);
}

/* --- the side that asks ------------------------------------------------------------------------
 */

/* The window that a client's request works for, if it is still open. */
static __always_inline struct socket_window *parent_of(const struct socket_window *socket,
						       __u64 serial)
{
	struct socket_window *parent;

	if (!serial)
		return NULL;
	parent = socket_window_at(socket->parent_place);
	if (!parent || parent->inode != socket->parent_inode || parent->window.serial != serial ||
	    (parent->phase != PHASE_ASKED && parent->phase != PHASE_ANSWERED))
		return NULL;
	return parent;
}

/* The thread goes on with the window for which a client's request was sent. */
static __always_inline void resumes(const struct exchange *of, struct socket_window *parent,
				    __u64 ready_ns)
{
	struct window_worker *worker = of->worker;
	__u64 waited_ns, noticed_ns;

	if (!worker || worker->serial == parent->window.serial)
		return;
	stops_working(of);
	waited_ns = parent->window.ns[WINDOW_COLUMN(DOWNSTREAM)];
	noticed_ns = parent->window.ns[WINDOW_COLUMN(NOTICED)];
	gap_ends(parent, of->now, WINDOW_PART_DOWNSTREAM, ready_ns);
	segment_begins(worker, parent, of->socket->parent_place, of->thread, of->here, of->now);
	worker->resumed_ns = of->now;
	worker->resumed_by = of->socket->inode;
	worker->resumed_by_place = of->place;
	worker->waited_ns = parent->window.ns[WINDOW_COLUMN(DOWNSTREAM)] - waited_ns;
	worker->noticed_ns = parent->window.ns[WINDOW_COLUMN(NOTICED)] - noticed_ns;
}

/*
 * A connection that was made for a window serves it first, even if the thread works for another one
 * by the time that it can write.
 */
static __always_inline void note_parent(const struct exchange *of)
{
	struct socket_window *socket = of->socket, *parent;

	parent = parent_of(socket, socket->dialled_for);
	if (parent && parent->phase == PHASE_ASKED) {
		socket->window.parent = socket->dialled_for;
		socket->window.evidence = WINDOW_BY_SOCKET;
		count_window(WINDOWS_BY_SOCKET, 1);
		resumes(of, parent, 0);
	} else {
		/* What is sent after the answer may be for a window that waits for a connection. */
		parent = of->worker ? window_of(of->worker) : NULL;
		if (parent && parent->kind == WINDOW_SERVER && parent->phase == PHASE_ASKED) {
			socket->window.parent = of->worker->serial;
			socket->parent_inode = of->worker->inode;
			socket->parent_place = of->worker->place;
			if (socket->flags & SOCKET_SHARED) {
				socket->window.evidence = WINDOW_BY_INFERRED;
				count_window(WINDOWS_BY_INFERENCE, 1);
			} else {
				socket->window.evidence = WINDOW_BY_SEGMENT;
				count_window(WINDOWS_BY_SEGMENT, 1);
			}
		}
	}
	if (of->worker)
		of->worker->resumed_ns = 0;
	socket->dialled_for = 0;
}

static __always_inline void request_goes(const struct exchange *of)
{
	struct socket_window *socket = of->socket;
	struct message *message = of->message;
	bool begins;

	message->ready_ns = message->begin_ns;
	begins = begins_request(socket, message);
	socket->flags |= SOCKET_SPOKE;
	if (!begins)
		return;
	asks_for(socket, of->worker, of->now);
	if (socket->phase == PHASE_ASKED) {
		if (socket->protocol == WINDOW_PROTOCOL_REDIS)
			socket->window.n += message->requests;
		return;
	}
	if (socket->phase == PHASE_ANSWERED)
		window_ends(socket, PHASE_ANSWERED, of->talk->sock);
	if (socket->kind != WINDOW_CLIENT) {
		socket->kind = WINDOW_CLIENT;
		socket->class = 0;
		describe_ends(socket, of->talk->sock, of->place);
	}
	window_begins(socket, of->thread, message->ready_ns, of->now);
	socket->window.n = message->requests;
	socket->cursor_ns = message->ready_ns;
	note_text(socket, message);
	looks_for_ids(of);
	note_parent(of);
}

/* Some of the answer was read. */
static __always_inline void answer_arrives(const struct exchange *of, __u64 ready_ns)
{
	struct socket_window *socket = of->socket, *parent;
	bool begins = socket->phase == PHASE_ASKED;

	if (begins) {
		gap_ends(socket, of->now, WINDOW_PART_DOWNSTREAM, ready_ns);
		socket->window.answer_ns = of->now;
		socket->phase = PHASE_ANSWERED;
	} else if (socket->phase == PHASE_ANSWERED) {
		if (of->now > socket->cursor_ns)
			socket->window.ns[WINDOW_COLUMN(RECEIVING)] += of->now - socket->cursor_ns;
		socket->cursor_ns = of->now;
	} else {
		return;
	}
	socket->window.end_ns = of->now;
	parent = parent_of(socket, socket->window.parent);
	if (socket->window.parent && begins && (!parent || parent->phase != PHASE_ASKED)) {
		/* That one was answered without it. */
		drop_link(socket);
		parent = NULL;
	}
	if (socket->flags & SOCKET_SHARED)
		hears(socket, of->place, of->worker, of->thread, of->here, ready_ns, of->now);
	else if (parent)
		resumes(of, parent, ready_ns);
}

static __always_inline void answer_comes(const struct exchange *of)
{
	struct socket_window *socket = of->socket;
	__u64 ready_ns = take_ready(of->talk);
	bool ends = ends_answer(socket, of->message);

	socket->flags &= ~SOCKET_SPOKE;
	if (of->message->interim)
		return;
	answer_arrives(of, ready_ns);
	/* One with a link ends later, because the link may be contradicted. */
	if (ends && (!socket->window.parent || socket->flags & SOCKET_STREAMS))
		window_ends(socket, PHASE_ANSWERED, of->talk->sock);
}

/* The other side closed the connection, which is how many answers end. */
static __always_inline void answer_is_complete(const struct exchange *of)
{
	struct socket_window *socket = of->socket, *parent;

	if (socket->kind != WINDOW_CLIENT || socket->phase != PHASE_ANSWERED)
		return;
	parent = parent_of(socket, socket->window.parent);
	if (parent)
		resumes(of, parent, 0);
	window_ends(socket, PHASE_ANSWERED, of->talk->sock);
}
