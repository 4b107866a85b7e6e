/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records what src/runtimes/v8*.c and the walk read of a process that runs recorded.js:
 *
 *   node --allow-natives-syntax --sparkplug recorded.js &
 *   record_v8 PROGRAM PID > v8-N.memory
 *
 * PROGRAM is the file with V8, which must not be linked to an address. The format is that of v8.h.
 * The names of the frames are comments. Functions of Node itself are not named: their source would
 * be recorded too.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../walk.h"

#include "runtimes/v8.h"

#define MODULE       1
#define STACK_BYTES  32768
#define LEAST_FRAMES 10 /* in words */
#define MOST_PAGES   1024
#define PAGE         4096U
#define ZEROES       48 /* fewer of them are written out */
#define LINE_BYTES   8192U

static struct page {
	uint64_t number;
	uint8_t bytes[PAGE], is_read[PAGE];
} pages[MOST_PAGES];
static size_t page_count;
static int memory_fd = -1;
static bool is_recording;

static void record(uint64_t address, uint8_t byte)
{
	struct page *page = pages;

	while (page < pages + page_count && page->number != address / PAGE)
		page++;
	if (page == pages + page_count && ++page_count == MOST_PAGES)
		exit(1);
	page->number = address / PAGE;
	page->bytes[address % PAGE] = byte;
	page->is_read[address % PAGE] = 1;
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t offset);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset);

ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t offset)
{
	ssize_t got = __real_pread64(fd, to, size, offset);

	for (ssize_t i = 0; is_recording && fd == memory_fd && i < got; i++)
		record((uint64_t)(offset + i), ((const uint8_t *)to)[i]);
	return got;
}

static int read_target(void *from, void *to, uint32_t bytes, uint64_t address)
{
	return pread(memory_fd, to, bytes, (off_t)address) == (ssize_t)bytes ? 0 : -1;
}

/* --- the symbols of the program --------------------------------------------------------------- */

/* Whatever v8.c asks for is written down. */
int __real_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);
int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count);

int __wrap_runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted,
			      size_t count)
{
	int found = __real_runtime_file__find(file, wanted, count);

	for (size_t i = 0; i < count; i++) {
		bool is_number = !strstr(wanted[i].name, "kBytecodeSizes");
		uint8_t bytes[1024];
		int32_t value;

		if (!wanted[i].address || wanted[i].size > sizeof(bytes))
			continue;
		if (is_number) {
			if (!runtime_file__read(file, wanted[i].address, &value, sizeof(value)))
				printf("constant %s %" PRId32 "\n", wanted[i].name, value);
			continue;
		}
		if (runtime_file__read(file, wanted[i].address, bytes, wanted[i].size))
			continue;
		printf("sizes %s ", wanted[i].name);
		for (size_t k = 0; k < wanted[i].size; k++)
			printf("%02x", bytes[k]);
		printf("\n");
	}
	return found;
}

struct span {
	uint64_t low, high;
};

static int look(void *context, const struct image *image, const GElf_Sym *symbol, size_t names)
{
	const char *name = elf_strptr(image->elf, names, symbol->st_name);
	struct span *span = context;

	if (!name || strncmp(name, "Builtins_", 9) || !symbol->st_value)
		return 0;
	if (!span->low || symbol->st_value < span->low)
		span->low = symbol->st_value;
	if (symbol->st_value + symbol->st_size > span->high)
		span->high = symbol->st_value + symbol->st_size;
	return 0;
}

static struct span find_builtins(const struct subject *subject)
{
	struct span span = {};

	if (image__visit_symbols(subject->file.image, SHT_DYNSYM, look, &span) || !span.low)
		(void)image__visit_symbols(subject->file.image, SHT_SYMTAB, look, &span);
	span.low += subject->file.bias;
	span.high += subject->file.bias;
	return span;
}

/* --- the stack -------------------------------------------------------------------------------- */

static struct unwind_process process;
static struct unwind walk;

static void walk_from(uint64_t pc, uint64_t sp, uint64_t bp)
{
	static struct unwind_page nothing;
	static const struct rows rows = { .block_pages = &nothing, .block_page_count = 1 };
	struct world world = { .modules = { [MODULE] = &rows }, .read = read_target };

	unwind_begin(&walk, 1, pc, sp, bp);
	walk.exact = 0;
	walk_all(&world, &walk, &process);
}

static uint32_t runtime_words(void)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i + 1 < walk.count; i++)
		if (FRAME_IS_RUNTIME(walk.frames[i])) {
			count += 2;
			i++;
		}
	return count;
}

static struct span again; /* the builtins, if V8 has mapped them a second time */

static bool is_in(struct span span, uint64_t address)
{
	return address >= span.low && address < span.high;
}

/* The first return address into V8's code whose frame leads on. */
static bool find_stack(uint64_t sp, struct span builtins)
{
	const struct span code = { process.runtime.areas[0].begin, process.runtime.areas[0].end };
	uint64_t words[STACK_BYTES / 8];

	ssize_t got = pread(memory_fd, words, sizeof(words), (off_t)sp);

	for (size_t i = 1; got > 0 && i < (size_t)got / 8; i++) {
		if (!is_in(builtins, words[i]) && !is_in(again, words[i]) && !is_in(code, words[i]))
			continue;
		walk_from(words[i], sp + 8 * (i + 1), words[i - 1]);
		/* A word that only looks like a return address leads to no function. */
		if (runtime_words() < LEAST_FRAMES ||
		    (FRAME_IS_RUNTIME(walk.frames[0]) &&
		     V8_COOKIE_KIND(FRAME_COOKIE(walk.frames[1])) == V8_IS_CODE))
			continue;
		printf("word pc %" PRIx64 "\nword sp %" PRIx64 "\nword bp %" PRIx64 "\n", words[i],
		       sp + 8 * (i + 1), words[i - 1]);
		is_recording = true;
		walk_from(words[i], sp + 8 * (i + 1), words[i - 1]);
		return true;
	}
	return false;
}

static uint64_t stack_pointer(const char *pid)
{
	char path[64], line[256];
	unsigned long sp = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/syscall", pid);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		(void)sscanf(line, "%*s %*s %*s %*s %*s %*s %*s %lx", &sp);
	if (file)
		fclose(file);
	return sp;
}

/* --- the process ------------------------------------------------------------------------------ */

static void copy_builtins(const char *line, const char *program)
{
	uint64_t begin, end, offset;

	if (!strstr(line, program) || !strstr(line, " r-xp ") ||
	    sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64, &begin, &end, &offset) != 3 ||
	    begin < UINT64_C(1) << 40)
		return;
	again = (struct span) { begin, end };
}

static uint64_t bias_of(const struct subject *subject, uint64_t first)
{
	GElf_Phdr header;

	for (int i = 0; gelf_getphdr(subject->file.image->elf, i, &header); i++)
		if (header.p_type == PT_LOAD)
			return first - header.p_vaddr / PAGE * PAGE;
	return first;
}

/* Also copies the lines that tell where code is. */
static uint64_t read_maps(const char *pid, const char *program, int maps)
{
	char path[64], line[4096];
	uint64_t first = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (!first && strstr(line, program))
			first = strtoull(line, NULL, 16);
		copy_builtins(line, program);
		if ((strstr(line, " 00:00 0 ") && !strchr(line, '[')) || strstr(line, program)) {
			char *name = strchr(line, '/');

			if (name)
				strcpy(name, "/usr/bin/node\n");
			printf("map %s", line);
			if (write(maps, line, strlen(line)) < 0)
				exit(1);
		}
	}
	if (file)
		fclose(file);
	return first;
}

static void name_all(struct subject *subject)
{
	static struct runtime_names names;

	for (uint32_t i = 0; i + 1 < walk.count; i++) {
		const struct runtime_frame frame = {
			.object = FRAME_OBJECT(walk.frames[i]),
			.position = FRAME_POSITION(walk.frames[i + 1]),
			.cookie = FRAME_COOKIE(walk.frames[i + 1]),
		};

		if (!FRAME_IS_RUNTIME(walk.frames[i]))
			continue;
		i++;
		names.count = 0;
		if (language_v8.name(subject, &frame, &names) || !names.count)
			printf("# ?\n");
		for (int k = 0; k < names.count; k++)
			printf("# %s %s:%d (%d)\n", names.frames[k].function, names.frames[k].file,
			       names.frames[k].line, names.frames[k].first_line);
		/* The function that is the file itself: its caller is Node's. */
		if (names.count && !strcmp(names.frames[names.count - 1].function, "(anonymous)") &&
		    names.frames[names.count - 1].first_line == 1)
			return;
	}
}

/* One line of what was read; zeroes need none. */
static void print_piece(const struct page *page, unsigned from, unsigned to)
{
	printf("at %" PRIx64 " ", page->number * PAGE + from);
	for (unsigned i = from; i < to; i++)
		printf("%02x", page->bytes[i]);
	printf("\n");
}

static void print_page(const struct page *page)
{
	unsigned begin = 0, zeroes = 0;
	bool is_open = false;

	for (unsigned i = 0; i < PAGE; i++) {
		bool is_needed = page->is_read[i] && page->bytes[i];

		if (is_needed && !is_open)
			begin = i;
		is_open |= is_needed;
		zeroes = is_needed ? 0 : zeroes + 1;
		if (is_open && zeroes == ZEROES) {
			print_piece(page, begin, i + 1 - zeroes);
			is_open = false;
		}
	}
	if (is_open)
		print_piece(page, begin, PAGE - zeroes);
}

static void map(struct span span, const char *name)
{
	const uint64_t page = span.low / PAGE, count = (span.high + PAGE - 1) / PAGE - page;

	process.mappings[process.count++] = (struct unwind_mapping) {
		.page_and_module = page << UNWIND_MODULE_BITS | MODULE,
		.pages = (uint32_t)count,
	};
	printf("word %s %" PRIx64 "\nword %s_pages %" PRIx64 "\n", name, page * PAGE, name, count);
}

int main(int count, char **arguments)
{
	static struct subject subject = { .maps_fd = -1 };
	struct span builtins;
	uint64_t first;
	char path[64];

	if (count != 3)
		return 2;
	printf("# SPDX-License-Identifier: GPL-2.0-or-later\n");
	subject.maps_fd = memfd_create("maps", MFD_CLOEXEC);
	subject.file.path = arguments[1];
	first = read_maps(arguments[2], arguments[1], subject.maps_fd);
	snprintf(path, sizeof(path), "/proc/%s/mem", arguments[2]);
	memory_fd = open(path, O_RDONLY);
	if (remote__new(memory_fd, &subject.memory) ||
	    image__open(open(arguments[1], O_RDONLY), &subject.file.image))
		return 1;
	subject.file.bias = bias_of(&subject, first);
	subject.runtime.kind = RUNTIME_V8;
	if (language_v8.open(&subject)) {
		fprintf(stderr, "version '%s' cannot be read\n", subject.version);
		return 1;
	}
	printf("# V8 %s\n", subject.version);
	builtins = find_builtins(&subject);
	process.runtime = subject.runtime;
	map(builtins, "builtins");
	if (again.low)
		map(again, "again");
	if (!find_stack(stack_pointer(arguments[2]), builtins)) {
		fprintf(stderr, "no frames\n");
		return 1;
	}
	name_all(&subject);
	for (size_t i = 0; i < page_count; i++)
		print_page(&pages[i]);
	return 0;
}
