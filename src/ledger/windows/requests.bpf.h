/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests: what bytes that come in and go out mean for the windows of a socket. Both sides are the
 * same but for the direction: the side that serves reads requests and sends answers, the side that
 * asks sends requests and reads answers.
 *
 * Which protocol it is shows in the first bytes of a message, which are all that is read of most
 * messages. If nothing fits, bytes that come in and then go out are one turn, which is exact for
 * every protocol that takes turns.
 */
#pragma once

#include "ledger/windows/message.bpf.h"
#include "ledger/windows/redis.bpf.h"
#include "ledger/windows/worker.bpf.h"

#define MISFIT_TURNS 4 /* turns of no known protocol, until turns are all that counts */

/* --- is it a request? ------------------------------------------------------------------------ */

/* The direction has turned, and nothing that is known begins so. */
static __always_inline bool is_turn_of_unknown(struct socket_window *socket, bool asks)
{
	if (socket->misfits < MISFIT_TURNS) {
		if (!(socket->flags & SOCKET_SPOKE) == asks)
			socket->misfits++;
		return false;
	}
	socket->protocol = WINDOW_PROTOCOL_TURNS;
	return true;
}

static __always_inline bool is_tls_request(struct socket_window *socket, const struct head *head)
{
	enum tls_record type = tls_record_of(head);

	/* If more follows in the same message, that is the end of the handshake. */
	if (type == TLS_RECORD_CHANGE && head->size <= TLS_CHANGE_BYTES)
		socket->flags |= SOCKET_FINISHED;
	if (type == TLS_RECORD_HANDSHAKE)
		socket->flags &= ~SOCKET_FINISHED;
	if (type != TLS_RECORD_DATA)
		return false;
	if (socket->flags & SOCKET_FINISHED) {
		socket->flags &= ~SOCKET_FINISHED;
		return false;
	}
	return true;
}

/* Whether a command with an answer begins. */
static __always_inline bool is_mysql_command(struct socket_window *socket, struct message *message)
{
	/* The connection may be encrypted after the greeting. */
	if (!socket->mysql.is_known && tls_record_of(&message->head) == TLS_RECORD_HANDSHAKE) {
		socket->protocol = WINDOW_PROTOCOL_TLS;
		return is_tls_request(socket, &message->head);
	}
	switch (mysql_message(&socket->mysql, &message->head, message->bytes, &message->ready_ns,
			      &message->text_at)) {
	case MYSQL_LOST:
		count_window(WINDOWS_RESYNC, 1);
		socket->protocol = WINDOW_PROTOCOL_TURNS;
		return true;
	case MYSQL_COMMAND:
		return true;
	case MYSQL_CUT:
		message->interim = 1;
		return false;
	default:
		return false;
	}
}

/* A socket of which nothing is known yet. */
static __always_inline void find_protocol(struct socket_window *socket, const struct head *head)
{
	socket->protocol = protocol_of_request(head);
	if (socket->protocol != WINDOW_PROTOCOL_NONE)
		socket->redis = (struct redis) {};
	else if (is_mysql_in_two(&socket->mysql, head))
		socket->protocol = WINDOW_PROTOCOL_MYSQL;
}

/* Whether a request begins with these bytes, from the side that asks. */
VERIFIED_ONCE bool begins_request(struct socket_window *socket, struct message *message)
{
	const struct head *head;

	if (!socket || !message || !with_windows)
		return false;
	head = &message->head;
	if (socket->flags & SOCKET_STREAMS)
		return false;
	if (socket->protocol == WINDOW_PROTOCOL_NONE)
		find_protocol(socket, head);
	switch (socket->protocol) {
	case WINDOW_PROTOCOL_NONE:
		return is_turn_of_unknown(socket, message->asks);
	case WINDOW_PROTOCOL_HTTP:
		return is_http_request(head);
	case WINDOW_PROTOCOL_POSTGRES:
		return !is_postgres_startup(head) && is_postgres_request(head);
	case WINDOW_PROTOCOL_REDIS:
		message->is_cut =
			socket->redis.elements || socket->redis.skip || socket->redis.carried;
		message->requests =
			redis_commands(socket, message->address, message->first, message->pieces,
				       message->bytes - message->first);
		return message->requests;
	case WINDOW_PROTOCOL_TLS:
		return is_tls_request(socket, head);
	case WINDOW_PROTOCOL_MYSQL:
		return is_mysql_command(socket, message);
	case WINDOW_PROTOCOL_TURNS:
		return true;
	}
	return false;
}

/* --- what the answer says -------------------------------------------------------------------- */

static __always_inline bool ends_with_ready(const struct message *message)
{
	__u8 tail[TAIL_BYTES] = {};

	/* PostgreSQL sends in one piece. */
	if (!message->address || message->first != message->bytes || message->bytes < TAIL_BYTES)
		return false;
	if (bpf_probe_read_user(tail, TAIL_BYTES,
				(void *)(message->address + message->bytes - TAIL_BYTES)))
		return false;
	return is_postgres_ready(tail);
}

/* The answer opens a WebSocket or a tunnel: what follows is no request. */
static __always_inline bool opens_stream(const struct socket_window *socket, __u32 status)
{
	return status == 101 || (status / 100 == 2 && socket->phase == PHASE_ASKED &&
				 !__builtin_memcmp(socket->window.text, "CONN", 4));
}

/* Whether these bytes end the answer for sure. Notes its status. */
VERIFIED_ONCE bool ends_answer(struct socket_window *socket, struct message *message)
{
	const struct head *head;
	__u32 status;

	if (!socket || !message || !with_windows)
		return false;
	head = &message->head;
	switch (socket->protocol) {
	case WINDOW_PROTOCOL_HTTP:
		status = http_status(head);
		if (status && socket->phase == PHASE_ASKED)
			socket->status = status_of_http(status);
		if (opens_stream(socket, status)) {
			socket->flags |= SOCKET_STREAMS;
			count_window(WINDOWS_STREAMS, 1);
			return true;
		}
		message->interim = status && status < 200;
		return false;
	case WINDOW_PROTOCOL_POSTGRES:
		if (socket->phase == PHASE_ASKED && head->bytes[0] == 'E')
			socket->status = WINDOW_STATUS_FAILED;
		return ends_with_ready(message);
	case WINDOW_PROTOCOL_REDIS:
		if (socket->phase == PHASE_ASKED && head->bytes[0] == '-')
			socket->status = WINDOW_STATUS_FAILED;
		return false;
	case WINDOW_PROTOCOL_TLS:
		if (socket->phase == PHASE_ASKED && tls_record_of(head) != TLS_RECORD_DATA)
			message->interim = 1;
		return false;
	case WINDOW_PROTOCOL_MYSQL:
		if (mysql_fails(&socket->mysql, head, socket->phase == PHASE_ASKED))
			socket->status = WINDOW_STATUS_FAILED;
		return false;
	case WINDOW_PROTOCOL_NONE:
		if (is_mysql_greeting(head))
			socket->protocol = WINDOW_PROTOCOL_MYSQL;
		return false;
	}
	return false;
}

/* --- the text -------------------------------------------------------------------------------- */

struct text_walk {
	const struct socket_window *socket;
	struct fold fold;
	__u32 spaces, letters;
	__u32 is_behind; /* the name of a prepared statement */
};

static long fold_step(__u32 i, struct text_walk *walk)
{
	__u8 c = walk->socket->window.text[i & (WINDOW_TEXT_BYTES - 1)];

	if (fold_ends(c, walk->spaces))
		return 1;
	walk->spaces += c == ' ';
	fold_byte(&walk->fold, c);
	return 0;
}

/* The letters of a word. */
static long word_step(__u32 i, struct text_walk *walk)
{
	__u8 c = walk->socket->window.text[i & (WINDOW_TEXT_BYTES - 1)];

	if (walk->socket->protocol == WINDOW_PROTOCOL_POSTGRES) {
		if (i < STATEMENT_AT)
			return 0;
		if (walk->socket->window.text[0] == 'P' && !walk->is_behind) {
			walk->is_behind = !c;
			return 0;
		}
	}
	c |= 0x20;
	if (c < 'a' || c > 'z')
		return walk->letters != 0;
	walk->fold.hash = fold_mix(walk->fold.hash, c);
	walk->letters++;
	return 0;
}

/* The hash of what the first words of the request stand for. */
VERIFIED_ONCE __u64 hash_of_text(const struct socket_window *socket)
{
	struct text_walk walk = { .socket = socket };

	if (!socket || !with_windows)
		return 0;
	if (fold_is_path(socket->protocol)) {
		bpf_loop(FOLD_BYTES, fold_step, &walk, 0);
		fold_part(&walk.fold);
	} else {
		bpf_loop(FOLD_BYTES, word_step, &walk, 0);
	}
	return walk.fold.hash | 1;
}

/* Whether a text was read that may name the class of the request. */
static __always_inline bool has_text(const struct socket_window *socket,
				     const struct message *message)
{
	char first = message->head.bytes[0];

	if (!message->address || socket->protocol == WINDOW_PROTOCOL_TURNS ||
	    socket->protocol == WINDOW_PROTOCOL_TLS)
		return false;
	/* It begins with the rest of another command. */
	if (socket->protocol == WINDOW_PROTOCOL_REDIS && message->is_cut)
		return false;
	if (socket->protocol == WINDOW_PROTOCOL_MYSQL)
		return message->text_at;
	/* Bind and Execute of PostgreSQL name no statement. */
	return socket->protocol != WINDOW_PROTOCOL_POSTGRES || first == 'Q' || first == 'P';
}

/* Notes the text in the window. False: the window before had the same. */
static __always_inline bool is_other_text(struct window *window, const struct message *message)
{
	__u64 differs = 0;

	for (int i = 0; i < WINDOW_TEXT_BYTES; i += 8) {
		__u64 is = *(const __u64 *)(message->text + i), *was = (void *)(window->text + i);

		differs |= *was ^ is;
		*was = is;
	}
	return differs;
}

static __always_inline void note_text(struct socket_window *socket, struct message *message)
{
	__u64 size = message->first - message->text_at;
	const void *address = (void *)(message->address + message->text_at);

	if (!has_text(socket, message)) {
		socket->text_hash = 0;
		__builtin_memset(socket->window.text, 0, WINDOW_TEXT_BYTES);
		return;
	}
	if (size >= WINDOW_TEXT_BYTES) {
		bpf_probe_read_user(message->text, WINDOW_TEXT_BYTES, address);
	} else {
		__builtin_memset(message->text, 0, WINDOW_TEXT_BYTES);
		bpf_probe_read_user(message->text, size & (WINDOW_TEXT_BYTES - 1), address);
	}
	if (is_other_text(&socket->window, message) || !socket->text_hash)
		socket->text_hash = hash_of_text(socket);
}

/* --- a window begins ---------------------------------------------------------------------------
 */

/*
 * What its thread did between `ready_ns` and the read at `now`: slept until it was woken, was ready
 * without a CPU, served others, or was on its way.
 */
static __always_inline void divide_queued(struct window *window, const struct window_worker *worker,
					  __u64 now)
{
	__u64 from_ns = window->ready_ns, to_ns;

	/* It was not in its poll yet: it served others, or did something else. */
	to_ns = worker->poll_begin_ns;
	if (to_ns > from_ns && to_ns <= now) {
		window->ns[WINDOW_COLUMN(QUEUED_BUSY)] += to_ns - from_ns;
		from_ns = to_ns;
	}
	to_ns = worker->woken_ns;
	if (to_ns > from_ns && to_ns <= worker->on_ns && worker->on_ns <= now) {
		window->ns[WINDOW_COLUMN(QUEUED_ASLEEP)] += to_ns - from_ns;
		from_ns = to_ns;
	}
	to_ns = worker->on_ns;
	if (to_ns > from_ns && to_ns <= now) {
		window->ns[WINDOW_COLUMN(QUEUED_READY)] += to_ns - from_ns;
		from_ns = to_ns;
	}
	to_ns = worker->served_ns;
	if (to_ns > from_ns && to_ns <= now) {
		window->ns[WINDOW_COLUMN(QUEUED_BUSY)] += to_ns - from_ns;
		from_ns = to_ns;
	}
	window->ns[WINDOW_COLUMN(QUEUED_READ)] += now - from_ns;
}

/* The places of waits that are not used have ns 0; nothing else of them is read. */
static __always_inline void clear_window(struct socket_window *socket)
{
	struct window *window = &socket->window;

	__builtin_memset(window->ns, 0, sizeof(window->ns));
	for (int i = 0; i < WINDOW_WAITS; i++)
		window->waits[i].ns = 0;
	window->answer_ns = window->after_ns = window->parent = 0;
	window->left = window->segments = 0;
	window->header = 0;
	window->evidence = window->worker = 0;
	if (socket->has_after)
		__builtin_memset(socket->after, 0, sizeof(socket->after));
	socket->has_after = 0;
	socket->marked = 0;
	socket->status = WINDOW_STATUS_OK;
}

static __always_inline void window_begins(struct socket_window *socket, const struct thread *thread,
					  __u64 ready_ns, __u64 now)
{
	struct window *window = &socket->window;

	clear_window(socket);
	window->serial = __sync_fetch_and_add(&windows_last_serial, 1) + 1;
	window->thread = thread->id;
	window->ready_ns = ready_ns;
	window->read_ns = now;
	window->end_ns = now;
	window->n = 1;
	socket->cursor_ns = now;
	socket->pid = thread->pid;
	socket->phase = PHASE_ASKED;
}

/* A request was read: the window of a server begins. */
VERIFIED_ONCE int server_begins(struct socket_window *socket, struct window_worker *worker,
				const struct thread *thread, __u64 ready_ns, __u64 now)
{
	if (!socket || !worker || !thread || !with_windows)
		return 0;
	if (!ready_ns || ready_ns > now || ready_ns < base_ns) {
		count_window(WINDOWS_LATE_READY, 1);
		ready_ns = now;
	}
	window_begins(socket, thread, ready_ns, now);
	divide_queued(&socket->window, worker, now);
	return 0;
}
