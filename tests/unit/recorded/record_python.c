/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records what src/runtimes/python.c reads of a process that runs python.py, whose output is the
 * standard input:
 *
 *   record_python LIBRARY PID < OUTPUT > python-3.N.memory
 *
 * LIBRARY is the file with the interpreter. The format is that of recorded.h, and for each place
 *   frame OBJECT POSITION COOKIE LINE FIRST_LINE FUNCTION FILE
 */
#include "recorder.h"

#include "runtimes/python.h"

static void print_words(const struct subject *subject)
{
	struct wanted_symbol symbols[] = { { .name = "_PyRuntime" },
					   { .name = "_PyEval_EvalFrameDefault" } };

	(void)runtime_file__find(&subject->file, symbols, 2);
	printf("# SPDX-License-Identifier: GPL-2.0-or-later\n# CPython %s\n", subject->version);
	printf("word minor %x\n", subject->runtime.python.minor);
	printf("word bias %" PRIx64 "\n", subject->file.bias);
	printf("word runtime %" PRIx64 "\n", symbols[0].address);
	printf("word loop %" PRIx64 "\n", symbols[1].address);
	printf("word loop_size %" PRIx64 "\n", symbols[1].size);
	printf("word gil %" PRIx64 "\n", (uint64_t)subject->runtime.python.gil);
	printf("word slot %x\n", subject->runtime.python.slot);
}

/* Bytes of bytecode to what the walk sends. */
static uint32_t position_of(const struct python_layout *layout, uint32_t offset)
{
	if (layout->position_bytes == 8)
		return layout->bytecode + offset;
	return offset / layout->position_unit;
}

static void record_frame(struct subject *subject, const char *line)
{
	const struct python_layout *layout = subject->own;
	static struct runtime_names names;
	struct runtime_frame frame = {};
	uint32_t offset;
	uint64_t name;
	int rest;

	if (sscanf(line, "frame %" SCNx64 " %" SCNx32 " %n", &frame.object, &offset, &rest) != 2 ||
	    remote__read_u64(subject->memory, frame.object + layout->name, &name))
		return;
	frame.position = position_of(layout, offset);
	frame.cookie = (uint32_t)(name >> 3) & FRAME_COOKIE_MASK;
	names.count = 0;
	(void)language_python.name(subject, &frame, &names);
	printf("frame %" PRIx64 " %x %x %s", frame.object, frame.position, frame.cookie,
	       line + rest);
}

int main(int count, char **arguments)
{
	static struct subject subject;
	char line[4096];

	if (count != 3)
		return 2;
	if (open_subject(&language_python, arguments[1], arguments[2], &subject))
		return 1;
	print_words(&subject);
	while (fgets(line, sizeof(line), stdin))
		record_frame(&subject, line);
	print_pieces();
	return 0;
}
