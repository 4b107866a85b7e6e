/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records what src/runtimes/hotspot*.c and the walk read of a process that runs Recorded.java:
 *
 *   record_hotspot LIBRARY BIAS PID PC SP BP > hotspot-N.memory
 *
 * LIBRARY is libjvm.so and BIAS where it is mapped. The rest is the thread's last frame of Java,
 * which a debugger shows, and all numbers but PID are in hex. The format is that of recorded.h,
 * with field NAME VALUE BYTES size NAME VALUE for what is needed of the library's tables, which are
 * too long. The names of the frames are comments.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../walk.h"

#include "runtimes/hotspot.h"

#define MOST_PIECES 65536

static struct piece {
	uint64_t address;
	size_t size;
	uint8_t *bytes;
} pieces[MOST_PIECES];
static size_t piece_count;
static bool is_recording;

static void record(uint64_t address, const void *bytes, size_t size)
{
	struct piece *piece = &pieces[piece_count];

	if (!is_recording || piece_count == MOST_PIECES)
		return;
	for (size_t i = 0; i < piece_count; i++)
		if (pieces[i].address == address && pieces[i].size >= size)
			return;
	*piece = (struct piece) { address, size, malloc(size) };
	if (!piece->bytes)
		exit(1);
	memcpy(piece->bytes, bytes, size);
	piece_count++;
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got = __real_pread64(fd, to, size, offset);

	if (got > 0)
		record((uint64_t)offset, to, (size_t)got);
	return got;
}

static int read_target(void *from, void *to, uint32_t bytes, uint64_t address)
{
	return pread(*(const int *)from, to, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

static void print_tables(const struct hotspot *hotspot)
{
#define X(id, needed, first, second)                                                               \
	if (hotspot->fields[HOTSPOT_##id].is_found)                                                \
		printf("field %s %" PRIx64 " %x\n",                                                \
		       hotspot->fields[HOTSPOT_##id].is_other ? (const char *)second : first,      \
		       hotspot->fields[HOTSPOT_##id].value, hotspot->fields[HOTSPOT_##id].bytes);
	HOTSPOT_FIELDS(X)
#undef X
#define X(id, name) printf("size %s %" PRIx64 "\n", name, hotspot->sizes[HOTSPOT_SIZE_OF_##id]);
	HOTSPOT_SIZES(X)
#undef X
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

static void name_all(struct subject *subject, const struct unwind *walk)
{
	static struct runtime_names names;

	for (uint32_t i = 0; i + 1 < walk->count && FRAME_IS_RUNTIME(walk->frames[i]); i += 2) {
		const struct runtime_frame frame = {
			.object = FRAME_OBJECT(walk->frames[i]),
			.position = FRAME_POSITION(walk->frames[i + 1]),
			.cookie = FRAME_COOKIE(walk->frames[i + 1]),
		};

		names.count = 0;
		if (language_hotspot.name(subject, &frame, &names) || !names.count)
			printf("# ?\n");
		for (int k = 0; k < names.count; k++)
			printf("# %s %s:%d (%d)\n", names.frames[k].function, names.frames[k].file,
			       names.frames[k].line, names.frames[k].first_line);
	}
}

int main(int count, char **arguments)
{
	static struct unwind_process process;
	static struct subject subject = { .maps_fd = -1 };
	static struct unwind walk;
	uint64_t registers[3];
	char path[64];
	int fd;

	if (count != 7)
		return 2;
	for (int i = 0; i < 3; i++)
		registers[i] = strtoull(arguments[4 + i], NULL, 16);
	snprintf(path, sizeof(path), "/proc/%s/mem", arguments[3]);
	fd = open(path, O_RDONLY);
	if (remote__new(dup(fd), &subject.memory) ||
	    image__open(open(arguments[1], O_RDONLY), &subject.file.image))
		return 1;
	subject.file.path = arguments[1];
	subject.file.bias = strtoull(arguments[2], NULL, 16);
	if (language_hotspot.open(&subject)) {
		fprintf(stderr, "version '%s' cannot be read\n", subject.version);
		return 1;
	}
	printf("# SPDX-License-Identifier: GPL-2.0-or-later\n# HotSpot %s\n", subject.version);
	is_recording = true;
	process.runtime = subject.runtime;
	/* Again, for the heaps and the version. */
	(void)hotspot__read_layout(&subject, subject.own);
	unwind_begin(&walk, 1, registers[0], registers[1], registers[2]);
	walk.exact = 0;
	walk_all(&(struct world) { .read = read_target, .from = &fd }, &walk, &process);
	name_all(&subject, &walk);
	printf("word pc %" PRIx64 "\nword sp %" PRIx64 "\nword bp %" PRIx64 "\n", registers[0],
	       registers[1], registers[2]);
	print_tables(subject.own);
	print_pieces();
	return 0;
}
