/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records what src/runtimes/ruby.c or php.c reads of a process that runs scripts.rb or scripts.php,
 * whose output is the standard input:
 *
 *   record_scripts ruby|php LIBRARY PID < OUTPUT > ruby-3.N.memory
 *
 * LIBRARY is the file with the interpreter; functions in C have "-" for a file. The format is that
 * of recorded.h, and for each place frame OBJECT POSITION COOKIE LINE FIRST_LINE FILE|FUNCTION
 */
#include "recorder.h"

/* In what both interpreters have. */
#define SEQUENCE_BODY  16
#define BODY_CODE      8
#define FRAME_FUNCTION 24
#define FRAME_PREVIOUS 48
#define FUNCTION_NAME  8

static void record_frame(struct subject *subject, const struct language *language,
			 const struct runtime_frame *frame, const char *rest)
{
	static struct runtime_names names;

	names.count = 0;
	(void)language->name(subject, frame, &names);
	printf("frame %" PRIx64 " %x %x %s", frame->object, frame->position, frame->cookie, rest);
}

/* "frame ADDRESS INSTRUCTION …": the sequence, and the number of the next instruction. */
static void record_ruby(struct subject *subject, const char *line)
{
	struct runtime_frame frame = {};
	uint64_t body, code;
	uint32_t instruction;
	int rest;

	if (sscanf(line, "frame %" SCNx64 " %" SCNu32 " %n", &frame.object, &instruction, &rest) !=
		    2 ||
	    remote__read_u64(subject->memory, frame.object + SEQUENCE_BODY, &body) ||
	    remote__read_u64(subject->memory, body + BODY_CODE, &code))
		return;
	frame.position = (uint32_t)code + 8 * instruction;
	frame.cookie = (uint32_t)(body >> 4) & FRAME_COOKIE_MASK;
	record_frame(subject, &language_ruby, &frame, line + rest);
}

/* "frame IS_PHP …": of the next outer function in the list that begins at `*at`. */
static void record_php(struct subject *subject, const char *line, uint64_t *at)
{
	struct runtime_frame frame = {};
	uint64_t instruction, name;
	int is_php, rest;

	if (sscanf(line, "frame %d %n", &is_php, &rest) != 1)
		return;
	do {
		if (!*at || remote__read_u64(subject->memory, *at, &instruction) ||
		    remote__read_u64(subject->memory, *at + FRAME_FUNCTION, &frame.object) ||
		    remote__read_u64(subject->memory, *at + FRAME_PREVIOUS, at))
			return;
	} while (!frame.object);
	if (remote__read_u64(subject->memory, frame.object + FUNCTION_NAME, &name))
		return;
	frame.position = is_php ? (uint32_t)instruction : 0;
	frame.cookie = (uint32_t)(name >> 3) & FRAME_COOKIE_MASK;
	record_frame(subject, &language_php, &frame, line + rest);
}

int main(int count, char **arguments)
{
	const struct language *language = &language_ruby;
	static struct subject subject;
	uint64_t at = 0;
	char line[4096];

	if (count != 4)
		return 2;
	if (!strcmp(arguments[1], "php"))
		language = &language_php;
	if (open_subject(language, arguments[2], arguments[3], &subject))
		return 1;
	/* What tells where the loop is would be too much. */
	if (language == &language_ruby)
		piece_count = 0;
	else if (remote__read_u64(subject.memory, subject.runtime.php.current, &at))
		return 1;
	printf("# SPDX-License-Identifier: GPL-2.0-or-later\n# %s %s\n", arguments[1],
	       subject.version);
	while (fgets(line, sizeof(line), stdin)) {
		if (language == &language_ruby)
			record_ruby(&subject, line);
		else
			record_php(&subject, line, &at);
	}
	print_pieces();
	return 0;
}
