/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process whose memory is hostile, as the readers of CRuby and PHP see it: open() and name() must
 * end, stay in bounds, and make names that are UTF-8 and have an end. The input is which of the
 * two, a frame, and what the memory and the file repeat.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtimes/language.h"
#include "runtimes/ruby.h"
#include "taken_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t is_php, version, is_named, is_short;
	uint32_t pad;
	uint64_t shift; /* of the memory */
	struct runtime_frame frame;
};

static const uint8_t *memory;
static size_t memory_size;
static struct input input;
static uint64_t reads;

static int copy(uint64_t address, uint8_t *to, size_t size)
{
	if (!memory_size || address > INT64_MAX || size > INT64_MAX - address ||
	    (input.is_short && address % 65536 + size > 60000))
		return -EFAULT;
	for (size_t i = 0; i < size; i++)
		to[i] = memory[(address + input.shift + i) % memory_size];
	return 0;
}

/* These replace src/runtimes/remote.c and file.c. */
int remote__read(struct remote *remote, uint64_t address, void *to, size_t size)
{
	reads++;
	return copy(address, to, size);
}

int remote__read_u64(struct remote *remote, uint64_t address, uint64_t *ret)
{
	return remote__read(remote, address, ret, sizeof(*ret));
}

int remote__read_u32(struct remote *remote, uint64_t address, uint32_t *ret)
{
	return remote__read(remote, address, ret, sizeof(*ret));
}

int runtime_file__find(const struct runtime_file *file, struct wanted_symbol *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		wanted[i].address = input.shift ^ i << 12;
		wanted[i].size = input.shift;
	}
	return (int)count;
}

#define VERSION_BYTES 7 /* of Ruby, as ruby.c reads it */

int runtime_file__read(const struct runtime_file *file, uint64_t address, void *to, size_t size)
{
	static const char *const versions[] = { "3.1.2", "3.2.1", "3.3.8", "3.4.7" };
	int err = copy(address, to, size);

	if (size == VERSION_BYTES)
		memcpy(to, versions[input.version % 4], sizeof("3.1.2"));
	else if (!err && !address && size > 64 && input.is_php & 1)
		snprintf(to, size, "X-Powered-By: PHP/8.%d.0", 2 + input.version % 4);
	return err;
}

/* A frame whose object is what it was has the cookie and a position of its own. */
static void fit_frame(void)
{
	uint64_t word = 0, code = 0;

	(void)remote__read_u64(NULL, input.frame.object + (input.is_php ? 8 : 16), &word);
	input.frame.cookie = (uint32_t)(word >> (input.is_php ? 3 : 4)) & FRAME_COOKIE_MASK;
	if (input.is_php)
		(void)remote__read_u64(NULL, input.frame.object + 88, &code);
	else
		(void)remote__read_u64(NULL, word + 8, &code);
	input.frame.position = (uint32_t)code + input.frame.position % 4096 * 8;
}

/* What is read of the file itself are its headers. */
static struct image *make_image(void)
{
	const Elf64_Ehdr head = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(head),
		.e_ehsize = sizeof(head),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 5,
	};
	const Elf64_Phdr headers[] = {
		{ PT_LOAD, PF_R, 0, 0, 0, 4096, 4096, 4096 },
		{ PT_LOAD, PF_R | PF_X, 4096, 4096, 4096, 16384, 16384, 4096 },
		{ PT_LOAD, PF_R | PF_W, 20480, 20480, 20480, 4096, 4096, 4096 },
		{ PT_TLS, PF_R, 0, 0, 0, 0, 4096, 8 },
		{ PT_GNU_EH_FRAME, PF_R, 64, 64, 64, 64, 64, 4 },
	};
	char *bytes = calloc(1, 24576);
	struct image *image = NULL;

	if (!bytes)
		abort();
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), headers, sizeof(headers));
	if (image__from_bytes(bytes, 24576, &image))
		abort();
	return image;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct runtime_names names;
	static struct image *image;
	const struct language *language;
	struct subject subject = { .maps_fd = -1 };

	if (size < sizeof(input))
		return 0;
	if (!image)
		image = make_image();
	subject.file.image = image;
	memcpy(&input, data, sizeof(input));
	memory = data + sizeof(input);
	memory_size = size - sizeof(input);
	language = input.is_php & 1 ? &language_php : &language_ruby;
	(void)language->open(&subject);
	if (!subject.own)
		return 0;
	if (input.is_named & 1)
		fit_frame();
	names.count = 0;
	reads = 0;
	if (!language->name(&subject, &input.frame, &names) != (names.count == 1))
		abort();
	if (reads > 32)
		abort();
	return 0;
}
