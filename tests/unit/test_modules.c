/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The headers of ELF files, honest and hostile, and the registry of modules. */
#include "../harness.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/arch/arch.h"
#include "stacks/headers.h"
#include "stacks/maps.h"
#include "stacks/modules.h"

#define PAGE 4096UL

/* A small program: a head, three segments, a build-id. */
struct image {
	Elf64_Ehdr head;
	Elf64_Phdr segments[3];
	Elf64_Nhdr other, note;
	char name[4];
	uint8_t id[20];
};

static struct image honest(void)
{
	struct image image = {
		.head = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB },
			.e_type = ET_DYN,
			.e_machine = ARCH_ELF_MACHINE,
			.e_phoff = offsetof(struct image, segments),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 3,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = 0x800 },
			{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = 0x1800,
			  .p_vaddr = 0x3800, .p_filesz = 0x2000 },
			{ .p_type = PT_NOTE, .p_offset = offsetof(struct image, other),
			  .p_filesz = sizeof(struct image) - offsetof(struct image, other) },
		},
		.other = { .n_type = 1 },
		.note = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID },
		.name = "GNU",
		.id = { 0xab, 0xcd, 3 },
	};

	return image;
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("image", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	return fd;
}

static int read_headers(const void *bytes, size_t size, struct headers *ret)
{
	int fd = file_of(bytes, size), err;

	err = headers__read(fd, ret);
	close(fd);
	return err;
}

static void code_and_build_id_are_found(void **state)
{
	struct image image = honest();
	struct headers headers;

	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.segment_count, 1);
	assert_int_equal(headers.segments[0].address, 0x3800);
	assert_int_equal(headers.build_id_bytes, 20);
	assert_memory_equal(headers.build_id, image.id, 20);
}

static void all_that_it_has_in_memory_is_known(void **state)
{
	struct image image = honest();
	struct headers headers;

	image.segments[0].p_vaddr = 0x1000;
	image.segments[1].p_memsz = 0x9000; /* 0x7000 of it are not in the file */
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.begin, 0x1000);
	assert_int_equal(headers.end, 0x3800 + 0x9000);
	image.segments[1].p_memsz = UINT64_MAX;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.end, 0x1000);
}

static void a_file_offset_becomes_an_address_of_the_elf_file(void **state)
{
	struct image image = honest();
	struct headers headers;
	uint64_t address = 77;

	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers__address(&headers, 0x0, &address), -ENOENT);
	assert_int_equal(headers__address(&headers, 0x4000, &address), -ENOENT);
	assert_int_equal(address, 77);
	assert_int_equal(headers__address(&headers, 0x1000, &address), 0);
	assert_int_equal(address, 0x3000);
	assert_int_equal(headers__address(&headers, 0x3000, &address), 0);
	assert_int_equal(address, 0x5000);
}

static void what_is_no_program_for_this_machine_is_refused(void **state)
{
	struct headers headers = { .segment_count = 77 };
	struct image image;

	assert_int_equal(read_headers("", 0, &headers), -ENOEXEC);
	assert_int_equal(read_headers("#!/bin/sh\n", 10, &headers), -ENOEXEC);
	image = honest();
	assert_int_equal(read_headers(&image, sizeof(image.head), &headers), -ENOEXEC);
	image.head.e_machine = EM_S390;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), -ENOEXEC);
	image = honest();
	image.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), -ENOEXEC);
	image = honest();
	image.head.e_phnum = PN_XNUM;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), -ENOEXEC);
	image = honest();
	image.head.e_phentsize = 1;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), -ENOEXEC);
	image = honest();
	image.head.e_phoff = UINT64_MAX - 8;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), -ENOEXEC);
	assert_int_equal(headers.segment_count, 77);
}

static void segments_that_make_no_sense_are_left_out(void **state)
{
	struct image image = honest();
	struct headers headers;

	image.segments[1].p_vaddr++;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.segment_count, 0);
	image = honest();
	image.segments[1].p_filesz = UINT64_MAX;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.segment_count, 0);
}

static void notes_that_make_no_sense_are_no_build_id(void **state)
{
	struct image image = honest();
	struct headers headers;

	image.note.n_descsz = 21;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.build_id_bytes, 0);
	image.note.n_descsz = UINT32_MAX;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.build_id_bytes, 0);
	image = honest();
	image.other.n_namesz = UINT32_MAX - 2;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.build_id_bytes, 0);
	image = honest();
	image.segments[2].p_offset = INT64_MAX;
	assert_int_equal(read_headers(&image, sizeof(image), &headers), 0);
	assert_int_equal(headers.build_id_bytes, 0);
	assert_int_equal(headers.segment_count, 1);
}

/* --- the registry, asked about our own memory ------------------------------------------------- */

static void own_place(uint64_t address, char line[1024], struct module_place *ret)
{
	FILE *file = fopen("/proc/self/maps", "re");
	struct maps_line mapping;

	while (fgets(line, 1024, file)) {
		line[strcspn(line, "\n")] = '\0';
		assert_int_equal(maps__parse(line, &mapping), 0);
		if (address >= mapping.begin && address < mapping.end)
			break;
	}
	fclose(file);
	*ret = (struct module_place) {
		.pid = (uint32_t)getpid(),
		.begin = mapping.begin,
		.end = mapping.end,
		.device = mapping.device,
		.inode = mapping.inode,
		.path = mapping.path,
	};
}

static void our_own_program_is_a_module_once_and_by_its_inode_even_when_we_are_gone(void **state)
{
	struct quality quality = { 0 };
	struct modules *modules;
	struct module_place place;
	struct module *module;
	char line[1024];

	own_place((uintptr_t)own_place, line, &place);
	assert_int_equal(modules__new(&quality, &modules), 0);
	module = modules__at(modules, &place);
	assert_non_null(module);
	assert_string_equal(module->path, place.path);
	assert_int_equal(module->id, quality.modules);
	assert_ptr_equal(modules__at(modules, &place), module);
	assert_ptr_equal(modules__get(modules, module->id), module);
	assert_null(modules__get(modules, module->id + 1));
	assert_null(modules__get(modules, 0));
	place.pid = 0;
	assert_ptr_equal(modules__at(modules, &place), module);
	place.inode++;
	assert_null(modules__at(modules, &place));
	modules__free(modules);
}

static void count_left(void *context, struct module *module)
{
	++*(int *)context;
}

static void a_module_goes_when_nobody_holds_or_maps_it_and_its_id_is_used_again(void **state)
{
	struct quality quality = { 0 };
	struct modules *modules;
	struct module_place place;
	struct module *module;
	uint64_t late_ns = UINT64_MAX;
	char line[1024];
	uint32_t id;
	int left = 0;

	own_place((uintptr_t)own_place, line, &place);
	assert_int_equal(modules__new(&quality, &modules), 0);
	module = modules__at(modules, &place);
	id = module->id;
	assert_ptr_equal(modules__hold(modules, id), module);
	modules__sweep(modules, late_ns, 1, count_left, &left);
	modules__leave(modules, id);
	module->mapped_ns = 2;
	modules__sweep(modules, late_ns, 2, count_left, &left);
	modules__sweep(modules, 0, 3, count_left, &left);
	assert_int_equal(left, 0);
	/* Its rows have to be taken out before. */
	module->state = MODULE_LOADED;
	modules__sweep(modules, late_ns, 3, count_left, &left);
	assert_int_equal(left, 1);
	assert_ptr_equal(modules__get(modules, id), module);
	module->state = MODULE_KNOWN;
	modules__sweep(modules, late_ns, 3, count_left, &left);
	assert_int_equal(left, 2);
	assert_null(modules__get(modules, id));
	assert_null(modules__hold(modules, id));
	modules__use(modules, id);
	module = modules__at(modules, &place);
	assert_int_equal(module->id, id);
	modules__free(modules);
}

static void memory_that_is_no_elf_file_is_no_module(void **state)
{
	struct quality quality = { 0 };
	struct module_place place;
	struct modules *modules;
	int fd = file_of("code of somebody's own", 22);
	void *code;
	char line[1024];

	assert_int_equal(modules__new(&quality, &modules), 0);
	code = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	own_place((uintptr_t)code, line, &place);
	assert_null(modules__at(modules, &place));
	own_place((uintptr_t)&place, line, &place); /* the stack */
	assert_null(modules__at(modules, &place));
	munmap(code, PAGE);
	close(fd);
	modules__free(modules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_and_build_id_are_found),
		cmocka_unit_test(all_that_it_has_in_memory_is_known),
		cmocka_unit_test(a_file_offset_becomes_an_address_of_the_elf_file),
		cmocka_unit_test(what_is_no_program_for_this_machine_is_refused),
		cmocka_unit_test(segments_that_make_no_sense_are_left_out),
		cmocka_unit_test(notes_that_make_no_sense_are_no_build_id),
		cmocka_unit_test(
			our_own_program_is_a_module_once_and_by_its_inode_even_when_we_are_gone),
		cmocka_unit_test(
			a_module_goes_when_nobody_holds_or_maps_it_and_its_id_is_used_again),
		cmocka_unit_test(memory_that_is_no_elf_file_is_no_module),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
