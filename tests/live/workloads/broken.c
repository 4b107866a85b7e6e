/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * broken MS: calls code in files that make no sense. It loads copies of libdeep.so whose unwind
 * descriptions, notes, sections or symbols were overwritten with noise, and jumps into a file that
 * is no ELF file at all. What the dynamic linker needs stays, so the code runs.
 */
#include "workload.h"

#include <dlfcn.h>
#include <elf.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define NOINLINE     __attribute__((noinline))
#define KEEP_FRAME() __asm__ volatile("" ::: "memory")

struct image {
	unsigned char *bytes;
	size_t size;
};

static uint64_t length_ns;
static uint64_t seed = 88172645463325252;

static unsigned char noise(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned char)(seed >> 32);
}

static Elf64_Ehdr *header_of(struct image *image)
{
	return (Elf64_Ehdr *)image->bytes;
}

static Elf64_Shdr *section_of(struct image *image, const char *name)
{
	Elf64_Ehdr *header = header_of(image);
	Elf64_Shdr *sections = (Elf64_Shdr *)(image->bytes + header->e_shoff);
	const char *names = (char *)image->bytes + sections[header->e_shstrndx].sh_offset;

	for (int i = 0; i < header->e_shnum; i++)
		if (!strcmp(names + sections[i].sh_name, name))
			return &sections[i];
	return NULL;
}

static void fill_with_noise(struct image *image, const char *name)
{
	Elf64_Shdr *section = section_of(image, name);

	for (size_t i = 0; section && i < section->sh_size; i++)
		image->bytes[section->sh_offset + i] = noise();
}

/* Its own id: files with the same one are taken to be the same. */
static void give_identity(struct image *image)
{
	Elf64_Shdr *section = section_of(image, ".note.gnu.build-id");
	size_t size = 20;

	for (size_t i = 1; section && section->sh_size > size && i <= size; i++)
		image->bytes[section->sh_offset + section->sh_size - i] = noise();
}

static void break_frames(struct image *image)
{
	fill_with_noise(image, ".eh_frame");
}

/* Valid lengths, one wrong byte in sixteen: gets further than noise does. */
static void break_frames_a_little(struct image *image)
{
	Elf64_Shdr *section = section_of(image, ".eh_frame");

	for (size_t i = 0; section && i < section->sh_size; i += 16)
		image->bytes[section->sh_offset + i + noise() % 16 % (section->sh_size - i)] =
			noise();
}

static void break_frame_header(struct image *image)
{
	fill_with_noise(image, ".eh_frame_hdr");
}

static void break_notes(struct image *image)
{
	fill_with_noise(image, ".note.gnu.build-id");
	fill_with_noise(image, ".note.gnu.property");
}

static void break_symbols(struct image *image)
{
	fill_with_noise(image, ".symtab");
	fill_with_noise(image, ".strtab");
}

static void break_debug(struct image *image)
{
	fill_with_noise(image, ".debug_info");
	fill_with_noise(image, ".debug_abbrev");
	fill_with_noise(image, ".debug_line");
}

static void break_sections(struct image *image)
{
	Elf64_Ehdr *header = header_of(image);

	for (size_t i = 0; i < (size_t)header->e_shnum * sizeof(Elf64_Shdr); i++)
		image->bytes[header->e_shoff + i] = noise();
}

static void break_header(struct image *image)
{
	Elf64_Ehdr *header = header_of(image);

	header->e_shoff = ~0UL - 63;
	header->e_shnum = 0xffff;
	header->e_shstrndx = 0xfffe;
}

/* Segments that only we would read. */
static void break_segments(struct image *image)
{
	Elf64_Ehdr *header = header_of(image);
	Elf64_Phdr *segments = (Elf64_Phdr *)(image->bytes + header->e_phoff);

	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_NOTE && segments[i].p_type != PT_GNU_EH_FRAME)
			continue;
		segments[i].p_offset = ~0UL - 7;
		segments[i].p_filesz = ~0UL / 2;
		segments[i].p_vaddr = ~0UL - 4095;
	}
}

static void leave_whole(struct image *image)
{
}

static const struct {
	const char *name; /* the thread's too */
	void (*apply)(struct image *image);
	int gone; /* the file is deleted once it is loaded */
} breakages[] = {
	{ "no-frames", break_frames },       { "odd-frames", break_frames_a_little },
	{ "no-header", break_frame_header }, { "no-notes", break_notes },
	{ "no-symbols", break_symbols },     { "no-debug", break_debug },
	{ "no-sections", break_sections },   { "no-shoff", break_header },
	{ "no-segments", break_segments },   { "gone", leave_whole, 1 },
};

static struct image read_library(void)
{
	char self[PATH_MAX] = "", path[PATH_MAX + 32];
	struct image image;
	struct stat info;
	int fd;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		die("/proc/self/exe");
	snprintf(path, sizeof(path), "%s/libdeep.so", dirname(self));
	fd = open(path, O_RDONLY);
	if (fd < 0 || fstat(fd, &info))
		die(path);
	image.size = (size_t)info.st_size;
	image.bytes = malloc(image.size);
	if (!image.bytes || read(fd, image.bytes, image.size) != info.st_size)
		die(path);
	close(fd);
	return image;
}

static void write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		die(path);
	close(fd);
}

static NOINLINE void spend(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	spin_until(now_ns() + ns / 2);
	while (now_ns() < end)
		sleep_ns(2 * MS);
	KEEP_FRAME();
}

static void *run_broken(void *arg)
{
	size_t i = (size_t)(uintptr_t)arg;
	void (*function)(uint64_t ns, void (*then)(uint64_t ns));
	struct image image = read_library();
	char path[64];
	void *library;

	set_name(breakages[i].name);
	give_identity(&image);
	breakages[i].apply(&image);
	snprintf(path, sizeof(path), "/tmp/broken-%d-%zu.so", getpid(), i);
	write_file(path, image.bytes, image.size);
	free(image.bytes);
	library = dlopen(path, RTLD_NOW);
	if (breakages[i].gone)
		unlink(path);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	function = dlsym(library, "library_deeper");
	function(length_ns, spend);
	unlink(path);
	return NULL;
}

/* A file of one function, without any description: it calls what it is given. */
static void *run_bare_code(void *arg)
{
	static const unsigned char code[] = {
#ifdef __aarch64__
		0xfe, 0x0f, 0x1f, 0xf8, /* str x30, [sp, #-16]! */
		0x20, 0x00, 0x3f, 0xd6, /* blr x1 */
		0xfe, 0x07, 0x41, 0xf8, /* ldr x30, [sp], #16 */
		0xc0, 0x03, 0x5f, 0xd6, /* ret */
#else
		0x48, 0x83, 0xec, 0x08, /* sub $8,%rsp */
		0xff, 0xd6,             /* call *%rsi */
		0x48, 0x83, 0xc4, 0x08, /* add $8,%rsp */
		0xc3,                   /* ret */
#endif
	};
	void (*function)(uint64_t ns, void (*then)(uint64_t ns));
	char path[64];
	int fd;

	set_name("no-elf");
	snprintf(path, sizeof(path), "/tmp/broken-%d.bin", getpid());
	write_file(path, code, sizeof(code));
	fd = open(path, O_RDONLY);
	function = mmap(NULL, sizeof(code), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	if ((void *)function == MAP_FAILED)
		die("mmap");
	function(length_ns, spend);
	close(fd);
	unlink(path);
	return NULL;
}

int main(int argc, char **argv)
{
	length_ns = (argc > 1 ? strtoul(argv[1], NULL, 10) : 100) * MS;
	for (size_t i = 0; i < sizeof(breakages) / sizeof(*breakages); i++)
		pthread_join(start_thread(run_broken, (void *)(uintptr_t)i), NULL);
	pthread_join(start_thread(run_bare_code, NULL), NULL);
	return 0;
}
