/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The structures of CPython by version. Internal to the files python*.c. */
#pragma once

#include <stdint.h>

#include "runtimes/remote.h"

/* Offsets in bytes. What the walk needs too is in struct runtime_python. */
struct python_layout {
	uint8_t minor; /* of 3.minor */
	/* In _PyRuntime: the head of the list of interpreters, the pthread key, the GIL (0: not
	 * there) */
	uint16_t interpreters, key, gil;
	/* In an interpreter: a pointer to the GIL; 0: none */
	uint16_t interpreter_gil;
	/* In the state of a thread: the current frame, or the cframe that has it */
	uint16_t thread_frame;
	uint8_t has_cframe, cframe_frame, cframe_previous;
	/* The number of the thread; up to 3.10 its pthread_t, which has the number */
	uint16_t thread_native_id, pthread_tid;
	/* In a frame */
	uint8_t frame_code, frame_previous, frame_position, frame_owner, frame_bytes;
	uint8_t position_bytes;          /* 4: an index; 8: a pointer */
	uint8_t position_unit;           /* of an index, in bytes of bytecode */
	uint8_t least_owner, most_owner; /* frames that are boundaries; 0: no frame is */
	uint8_t is_shim, is_tagged;
	/* In a code object */
	uint16_t first_line, file, name, lines, bytecode;
	/* In a text: where its characters begin, if all are ASCII or not */
	uint8_t ascii, wide;
};

/* NULL: the version is not known. */
const struct python_layout *python_layout__find(unsigned minor);

/*
 * The line of the bytecode at `position`, which is what the walk has. `table` is the line table of
 * the code object, of this version. 0: it has none.
 */
int python_lines__find(const struct python_layout *layout, const uint8_t *table, size_t size,
		       int first_line, uint32_t position);

/* The text at this address, as UTF-8, cut to `size`. -EFAULT, -EBADMSG. */
int python_text__read(struct remote *memory, const struct python_layout *layout, uint64_t address,
		      char *to, size_t size);
