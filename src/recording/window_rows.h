/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a recording about windows: requests and calls, see ledger/windows/windows.h. */
#pragma once

#include "recording/recording.h"

/* What the windows have in common that are counted together. */
struct recording_window_class {
	int64_t id;           /* 0: all that have no room of their own */
	const char *kind;     /* "server", "client", "call" */
	const char *protocol; /* "http", "postgresql", "redis", "tls", "turns", …; "" for a call */
	const char *service;  /* "127.0.0.1:8080", "/run/app.sock"; call: "app:handle" */
	const char *name;     /* "GET /orders/", with * for ids; "SELECT"; "": any */
	const char *status;   /* "ok", "refused", "failed", "abandoned" */
	int64_t process;      /* of a thread that works for them; 0: unknown */
};
int window_rows__put_class(struct recording *recording, const struct recording_window_class *class);

/* All windows of one class whose lengths are in one bucket, see vocabulary/histogram.h. */
struct recording_window_band {
	int64_t class;
	int64_t from, to; /* slices */
	int bucket;
	int64_t count; /* of windows */
	int64_t n;     /* of requests: a window of pipelined commands has several */
};
int window_rows__add_band(struct recording *recording, const struct recording_window_band *band);

/* Exact sums of these windows: by part, and for the part "own" by state. */
struct recording_window_time {
	int64_t class;
	int64_t from, to;
	int bucket;
	const char *part; /* "own", or a key of vocabulary/windows.def */
	int state;        /* of "own"; 0 for other parts */
	int64_t ns;
};
int window_rows__add_time(struct recording *recording, const struct recording_window_time *time);

/* A window that was kept, or that a sample belongs to. */
struct recording_window {
	int64_t id;
	int64_t class;
	int64_t thread;
	int64_t ready_ns, read_ns, answer_ns, end_ns; /* 0: unknown, or there is none */
	int64_t n;
	int64_t left;     /* bytes in the send queue at its end */
	double weight;    /* windows of its class and bucket that it stands for; 0: an example */
	bool has_details; /* there are rows of its parts */
	int64_t parent;   /* the window that it works for; 0: none */
	const char *evidence; /* of the parent */
	const char *worker;   /* how its worker is known, if another thread read the request */
	const char *text;     /* NULL: none */
	const char *ends;     /* "127.0.0.1:8080 ↔ 127.0.0.1:4242"; NULL: none */
	int64_t after_ns;     /* work after the last byte, not part of it */
	int64_t segments;
	const char *trace, *trace_span, *request_id; /* NULL: none; see record/request_ids.h */
};
int window_rows__put(struct recording *recording, const struct recording_window *window);

struct recording_window_part {
	int64_t window;
	const char *part;
	int state;
	int64_t ns;
};
int window_rows__add_part(struct recording *recording, const struct recording_window_part *part);

struct recording_window_wait {
	int64_t window;
	int state;
	int64_t object, by;
	const char *evidence;
	int64_t ns, count;
};
int window_rows__add_wait(struct recording *recording, const struct recording_window_wait *wait);
