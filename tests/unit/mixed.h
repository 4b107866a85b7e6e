/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording of a process that runs Python, as CPython 3.11 does, with a C library and a loop. */
#pragma once

#include "../harness.h"

#include "recording/recording.h"
#include "sample.h"

enum { EXE = 1, LIBC, PYTHON, NUMPY };
enum { F_MAIN = 1, F_EVAL, F_HANDLE, F_BURN, F_ADD, F_MALLOC, F_NUMPY, F_CALL, F_GIL, F_FUTEX };

static inline void add_python(struct recording *recording)
{
	static const struct recording_module modules[] = {
		{ EXE, "file", "/usr/bin/python3.11", NULL },
		{ LIBC, "file", "/lib/libc.so.6", NULL },
		{ PYTHON, "python", "[python]", NULL },
		{ NUMPY, "file", "/lib/numpy.so", NULL },
	};
	static const struct recording_function functions[] = {
		{ F_MAIN, EXE, "Py_BytesMain", NULL, NULL, 0, "dynsym" },
		{ F_EVAL, EXE, "_PyEval_EvalFrameDefault", NULL, NULL, 0, "dynsym" },
		{ F_HANDLE, PYTHON, "main", NULL, "/srv/web.py", 30, "runtime" },
		{ F_BURN, PYTHON, "burn", NULL, "/srv/web.py", 12, "runtime" },
		{ F_ADD, EXE, "long_add", NULL, NULL, 0, "symtab" },
		{ F_MALLOC, LIBC, "malloc", NULL, NULL, 0, "dynsym" },
		{ F_NUMPY, NUMPY, "DOUBLE_add", NULL, NULL, 0, "dynsym" },
		{ F_CALL, EXE, "object_call", NULL, NULL, 0, "symtab" },
		{ F_GIL, EXE, "take_gil", NULL, NULL, 0, "symtab" },
		{ F_FUTEX, LIBC, "pthread_cond_timedwait", NULL, NULL, 0, "dynsym" },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		err |= recording__add_module(recording, &modules[i]);
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		int64_t id = functions[i].id;

		err |= recording__add_function(recording, &functions[i]);
		err |= recording__add_frame(recording, id, functions[i].module, 16 * id);
		err |= recording__add_line(
			recording, &(struct recording_line) { .frame = id, .function = id });
	}
	assert_int_equal(err, 0);
}

/* Stacks 1 to 4: the way to burn(), as CPython 3.11 runs it. */
static inline void add_way(struct recording *recording)
{
	static const int64_t way[] = { F_MAIN, F_EVAL, F_HANDLE, F_BURN };
	int err = 0;

	for (int64_t i = 0; i < 4; i++)
		err |= recording__add_stack(recording, i + 1, i, way[i]);
	err |= recording__add_stack(recording, 5, 4, F_ADD);
	err |= recording__add_stack(recording, 6, 5, F_MALLOC);
	err |= recording__add_stack(recording, 7, 4, F_NUMPY);
	err |= recording__add_stack(recording, 8, 7, F_CALL);
	err |= recording__add_stack(recording, 9, 4, F_GIL);
	err |= recording__add_stack(recording, 10, 9, F_FUTEX);
	assert_int_equal(err, 0);
}

static inline void add_samples(struct recording *recording, int state, int64_t stack, int count)
{
	struct recording_sample sample = {
		.time_ns = SAMPLE_START_NS + SECOND,
		.thread = 1,
		.state = state,
		.stack = stack,
		.weight_ns = 10 * MS,
		.period_ns = 10 * MS,
		.count = 1,
		.flags = state == SAMPLE_RUN_USER ? RECORDING_SAMPLE_TICK : 0,
	};

	if (state != SAMPLE_RUN_USER)
		sample.wait_ns = sample.weight_ns;
	for (int i = 0; i < count; i++)
		assert_int_equal(recording__add_sample(recording, &sample), 0);
}

static inline struct recording *begin_python(const char *path)
{
	struct recording *recording = sample__begin(path);

	sample__process(recording, 1, "app");
	sample__thread(recording, 1, 1, "app", 0);
	add_python(recording);
	add_way(recording);
	return recording;
}
