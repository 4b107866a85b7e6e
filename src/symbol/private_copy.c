/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The copy has the same sections with the same numbers, but those that are not needed are empty
 * (SHT_NOBITS). There are no program headers.
 *
 * Rejected: mapping the file itself, because others may change it while libelf and libdw trust what
 * they have checked. Rejected: a file in /tmp, which is often in memory.
 */
#include "symbol/private_copy.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "symbol/broker.h"

/* A file with less than this is read into memory. */
#define LEAST_BYTES (4UL << 20)
#define MOST_BYTES  (2UL << 30)
/* Debug information becomes three to ten times as large. A hostile file becomes 1000 times. */
#define MOST_RATIO   64
#define BUFFER_BYTES (256UL << 10)
#define PADDING      16 /* zero bytes behind each section, see sections.c */

struct copying {
	Elf *elf;
	int from, to;
	bool with_dwarf;
	uint64_t at; /* where the next section begins in the copy */
	Elf64_Shdr *headers;
	size_t count, names; /* of sections; index of the section with their names */
	unsigned char *input, *output;
};

static bool is_needed(const struct copying *copying, const Elf64_Shdr *header)
{
	static const char *const parts[] = { "info", "abbrev", "str",         "line",  "line_str",
					     "addr", "ranges", "str_offsets", "types", "rnglists" };
	const char *name = elf_strptr(copying->elf, copying->names, header->sh_name);

	if (header->sh_type == SHT_SYMTAB || header->sh_type == SHT_DYNSYM ||
	    header->sh_type == SHT_STRTAB || header->sh_type == SHT_NOTE)
		return true;
	if (!name || header->sh_type == SHT_NOBITS)
		return false;
	if (!strncmp(name, ".gnu_debug", 10))
		return true;
	for (size_t i = 0; copying->with_dwarf && i < sizeof(parts) / sizeof(*parts); i++)
		if (!strncmp(name, ".debug_", 7) && !strcmp(name + 7, parts[i]))
			return true;
	return false;
}

/*
 * The older format of compressed sections. libdw decompresses them by elf_compress_gnu(), which
 * writes to the section header, and the copy is mapped read-only.
 */
static bool is_packed_by_gnu(const struct copying *copying, const Elf64_Shdr *header)
{
	const char *name = elf_strptr(copying->elf, copying->names, header->sh_name);

	return copying->with_dwarf && name && !strncmp(name, ".zdebug_", 8);
}

static int read_at(int fd, void *to, size_t size, uint64_t at)
{
	ssize_t got = pread(fd, to, size, (off_t)at);

	return got == (ssize_t)size ? 0 : got < 0 ? -errno : -ENOEXEC;
}

static int write_next(struct copying *copying, const void *bytes, size_t size)
{
	ssize_t put = pwrite(copying->to, bytes, size, (off_t)copying->at);

	if (put != (ssize_t)size)
		return put < 0 ? -errno : -ENOSPC;
	copying->at += size;
	return 0;
}

static int copy_bytes(struct copying *copying, uint64_t from, uint64_t size)
{
	int err = 0;

	while (size && !err) {
		size_t part = size < BUFFER_BYTES ? size : BUFFER_BYTES;

		err = read_at(copying->from, copying->input, part, from);
		if (!err)
			err = write_next(copying, copying->input, part);
		from += part;
		size -= part;
	}
	return err;
}

/* One step of inflate(). *ret_done: the end of the data was reached. */
static int inflate_some(struct copying *copying, z_stream *stream, uint64_t *left, bool *ret_done)
{
	size_t size;
	int result;

	stream->next_out = copying->output;
	stream->avail_out = BUFFER_BYTES;
	result = inflate(stream, Z_NO_FLUSH);
	if (result != Z_OK && result != Z_STREAM_END)
		return result == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	size = BUFFER_BYTES - stream->avail_out;
	if (size > *left)
		return -EBADMSG;
	*left -= size;
	*ret_done = result == Z_STREAM_END;
	return write_next(copying, copying->output, size);
}

/* Must decompress to exactly `size` bytes. */
static int inflate_bytes(struct copying *copying, uint64_t from, uint64_t packed, uint64_t size)
{
	z_stream stream = {};
	bool done = false;
	int err = inflateInit(&stream) == Z_OK ? 0 : -ENOMEM;

	while (!err && !done) {
		if (!stream.avail_in && packed) {
			size_t part = packed < BUFFER_BYTES ? packed : BUFFER_BYTES;

			err = read_at(copying->from, copying->input, part, from);
			stream.next_in = copying->input;
			stream.avail_in = (uInt)part;
			from += part;
			packed -= part;
		}
		if (!err)
			err = inflate_some(copying, &stream, &size, &done);
	}
	inflateEnd(&stream);
	return err ? err : size ? -EBADMSG : 0;
}

static int read_packed(const struct copying *copying, const Elf64_Shdr *header, Elf64_Chdr *ret)
{
	int err = header->sh_size < sizeof(*ret) ? -ENOEXEC : 0;

	if (!err)
		err = read_at(copying->from, ret, sizeof(*ret), header->sh_offset);
	if (err)
		return err;
	return ret->ch_type == ELFCOMPRESS_ZLIB && ret->ch_size / MOST_RATIO <= header->sh_size
		       ? 0
		       : -ENOTSUP;
}

static int copy_section(struct copying *copying, Elf64_Shdr *header)
{
	static const char padding[PADDING] = {};
	Elf64_Chdr packed = {};
	uint64_t from = header->sh_offset, size = header->sh_size;
	int err = 0;

	if (!is_needed(copying, header)) {
		if (header->sh_type != SHT_NULL)
			header->sh_type = SHT_NOBITS;
		return 0;
	}
	if (header->sh_flags & SHF_COMPRESSED)
		err = read_packed(copying, header, &packed);
	if (err)
		return err;
	header->sh_offset = copying->at;
	if (!(header->sh_flags & SHF_COMPRESSED)) {
		err = copy_bytes(copying, from, size);
	} else {
		err = inflate_bytes(copying, from + sizeof(packed), size - sizeof(packed),
				    packed.ch_size);
		header->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		header->sh_size = packed.ch_size;
		header->sh_addralign = packed.ch_addralign;
	}
	if (!err)
		err = write_next(copying, padding, PADDING);
	copying->at = (copying->at + PADDING - 1) / PADDING * PADDING;
	return err;
}

/* A hole can claim any size; what compilers write has none. */
static bool has_hole(int fd, const Elf64_Shdr *header)
{
	off_t hole = lseek(fd, (off_t)header->sh_offset, SEEK_HOLE);

	return hole >= 0 && (uint64_t)hole < header->sh_offset + header->sh_size;
}

static int read_headers(struct copying *copying, uint64_t *ret_bytes)
{
	uint64_t bytes = 0;

	if (elf_getshdrnum(copying->elf, &copying->count) || !copying->count ||
	    elf_getshdrstrndx(copying->elf, &copying->names))
		return -ENOTSUP;
	copying->headers = calloc(copying->count, sizeof(*copying->headers));
	if (!copying->headers)
		return -ENOMEM;
	for (size_t i = 0; i < copying->count; i++) {
		Elf_Scn *section = elf_getscn(copying->elf, i);
		const Elf64_Shdr *header = section ? elf64_getshdr(section) : NULL;
		Elf64_Chdr packed = {};
		int err = 0;

		if (!header || is_packed_by_gnu(copying, header))
			return -ENOTSUP;
		copying->headers[i] = *header;
		if (!is_needed(copying, header))
			continue;
		if (header->sh_flags & SHF_COMPRESSED)
			err = read_packed(copying, header, &packed);
		if (err)
			return err;
		bytes += header->sh_size;
		bytes += packed.ch_size < MOST_BYTES ? packed.ch_size : MOST_BYTES;
		if (header->sh_size > MOST_BYTES || bytes > MOST_BYTES ||
		    has_hole(copying->from, header))
			return -ENOTSUP;
	}
	*ret_bytes = bytes;
	return 0;
}

static int copy_all(struct copying *copying, struct private_copy *ret)
{
	const Elf64_Ehdr *from = elf64_getehdr(copying->elf);
	Elf64_Ehdr header = *from;
	int err = 0;

	copying->at = sizeof(header);
	for (size_t i = 0; i < copying->count && !err; i++)
		err = copy_section(copying, &copying->headers[i]);
	header.e_phoff = header.e_phnum = 0;
	header.e_shoff = copying->at;
	header.e_ehsize = sizeof(header);
	header.e_shentsize = sizeof(*copying->headers);
	if (!err)
		err = write_next(copying, copying->headers,
				 copying->count * sizeof(*copying->headers));
	ret->size = copying->at;
	copying->at = 0;
	if (!err)
		err = write_next(copying, &header, sizeof(header));
	if (err)
		return err;
	ret->map = mmap(NULL, ret->size, PROT_READ, MAP_PRIVATE, copying->to, 0);
	return ret->map == MAP_FAILED ? -ENOMEM : 0;
}

int private_copy__make(Elf *elf, int fd, bool with_dwarf, struct private_copy *ret)
{
	struct copying copying = { .elf = elf, .from = fd, .to = -1, .with_dwarf = with_dwarf };
	struct private_copy copy;
	uint64_t bytes;
	int err;

	if (gelf_getclass(elf) != ELFCLASS64)
		return -ENOTSUP;
	err = read_headers(&copying, &bytes);
	if (!err && bytes < LEAST_BYTES)
		err = -ENOTSUP;
	if (!err) {
		copying.to = broker__open(
			&(struct broker_request) { .kind = BROKER_SCRATCH, .bytes = bytes });
		err = copying.to < 0 ? copying.to : 0;
	}
	if (!err) {
		copying.input = malloc(BUFFER_BYTES);
		copying.output = malloc(BUFFER_BYTES);
		err = copying.input && copying.output ? copy_all(&copying, &copy) : -ENOMEM;
	}
	free(copying.input);
	free(copying.output);
	free(copying.headers);
	close_p(&copying.to);
	if (!err)
		*ret = copy;
	return err;
}
