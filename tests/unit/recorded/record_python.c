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
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtimes/language.h"
#include "runtimes/python.h"

#define MOST_PIECES 4096

static struct piece {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
} pieces[MOST_PIECES];
static size_t piece_count;
static int memory_fd = -1;

static void record(uint64_t address, const void *bytes, size_t size)
{
	struct piece *piece = &pieces[piece_count];

	for (size_t i = 0; i < piece_count; i++)
		if (pieces[i].address == address && pieces[i].size >= size)
			return;
	*piece = (struct piece) { address, size, malloc(size) };
	if (!piece->bytes || ++piece_count == MOST_PIECES)
		exit(1);
	memcpy(piece->bytes, bytes, size);
}

/* The linker makes it the pread() of src/runtimes/remote.c. */
ssize_t __real_pread64(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got = __real_pread64(fd, to, size, offset);

	if (got > 0 && fd == memory_fd)
		record((uint64_t)offset, to, (size_t)got);
	return got;
}

static uint64_t bias_of(const char *pid, const char *library, Elf *elf)
{
	uint64_t begin = 0;
	GElf_Phdr header;
	char path[64], line[4096];
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	maps = fopen(path, "re");
	while (maps && !begin && fgets(line, sizeof(line), maps))
		if (strstr(line, library))
			begin = strtoull(line, NULL, 16);
	if (maps)
		fclose(maps);
	for (int i = 0; gelf_getphdr(elf, i, &header); i++)
		if (header.p_type == PT_LOAD)
			return begin - (header.p_vaddr & ~UINT64_C(4095));
	return begin;
}

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

static void print_pieces(void)
{
	for (size_t i = 0; i < piece_count; i++) {
		printf("at %" PRIx64 " ", pieces[i].address);
		for (size_t k = 0; k < pieces[i].size; k++)
			printf("%02x", pieces[i].bytes[k]);
		printf("\n");
	}
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
	static struct subject subject = { .maps_fd = -1 };
	char path[64], line[4096];

	if (count != 3)
		return 2;
	snprintf(path, sizeof(path), "/proc/%s/mem", arguments[2]);
	memory_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (remote__new(memory_fd, &subject.memory) ||
	    image__open(open(arguments[1], O_RDONLY | O_CLOEXEC), &subject.file.image))
		return 1;
	subject.file.path = arguments[1];
	subject.file.bias = bias_of(arguments[2], arguments[1], subject.file.image->elf);
	subject.runtime.kind = RUNTIME_PYTHON;
	if (language_python.open(&subject)) {
		fprintf(stderr, "version '%s' cannot be read\n", subject.version);
		return 1;
	}
	print_words(&subject);
	while (fgets(line, sizeof(line), stdin))
		record_frame(&subject, line);
	print_pieces();
	return 0;
}
