/*
 * What core knows of a signal: where it hooks in, how its records become events, and what the
 * columns of an event mean. Text, JSON and later the recording all come from the columns, so a
 * signal never prints. To add one, see CONTRIBUTING.md.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>

#include "core/loader.h"

#define SIGNAL_COLUMNS 12
#define SIGNAL_HOOKS   8

enum column_kind { COLUMN_NUMBER, COLUMN_TEXT };

struct column {
	const char *name; /* the JSON key; upper-cased, the heading */
	enum column_kind kind;
	int width; /* in a table; the last column takes what it needs */
};

struct value {
	uint64_t number;
	const char *text; /* of a COLUMN_TEXT; points into the record */
};

struct event {
	uint64_t time_ns;
	struct value values[SIGNAL_COLUMNS]; /* as many as the signal has columns */
};

/* A skeleton with its type put aside, so that core can drive any of them. */
struct kernel_half {
	void *skel;
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *object;
	void (*destroy)(void *skel);
};

struct signal {
	const char *name;
	const char *about;            /* one line for `gapless list` */
	const struct hook *hooks;     /* ends with a NULL event; at most SIGNAL_HOOKS */
	const struct column *columns; /* ends with a NULL name; at most SIGNAL_COLUMNS */
	int (*open)(struct kernel_half *ret);
	/* Pure: bytes in, event out. -EBADMSG for a record that is not this signal's. */
	int (*decode)(const void *bytes, size_t size, struct event *ret);
};

/* Defines name_open() from the skeleton of name.bpf.c. */
#define SIGNAL_KERNEL_HALF(name)                                                                   \
	static void name##_destroy(void *skel)                                                     \
	{                                                                                          \
		name##_bpf__destroy(skel);                                                         \
	}                                                                                          \
	static int name##_open(struct kernel_half *ret)                                            \
	{                                                                                          \
		struct name##_bpf *skel = name##_bpf__open();                                      \
                                                                                                   \
		if (!skel)                                                                         \
			return -errno;                                                             \
		*ret = (struct kernel_half) { skel, skel->skeleton, skel->obj, name##_destroy };   \
		return 0;                                                                          \
	}

/* Every signal of src/signals/list, in its order; ends with NULL. */
extern const struct signal *const signals[];

/* NULL if there is none of that name. */
const struct signal *signal__find(const char *name, size_t length);
