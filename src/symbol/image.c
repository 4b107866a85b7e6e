/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/image.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <elfutils/libdwelf.h>

#include "base/cleanup.h"
#include "base/elfcheck.h"
#include "symbol/private_copy.h"

/* A few bytes can claim to decompress to any size. */
#define MOST_MINI_BYTES  (128UL << 20)
#define MOST_LZMA_MEMORY (128UL << 20)
/* A hole in a sparse file can claim to be a table of any size. */
#define MOST_TABLE_BYTES (512UL << 20)

/* Symbols between two calls of image__drop_pages(). */
#define DROP_SYMBOLS 16384

#define BYTE_ORDER_HERE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB)

static uint64_t copied_bytes;

uint64_t image__copied_bytes(void)
{
	return copied_bytes;
}

void image__close(struct image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	if (image->is_own)
		close_p(&image->fd);
	for (size_t i = 0; i < image->count; i++)
		free(image->copies[i]);
	free(image->copies);
	free(image->bytes);
	if (image->map) {
		munmap(image->map, image->map_size);
		copied_bytes -= image->map_size;
	}
	free(image);
}
DEFINE_CLEANUP(struct image *, image__close)

/* libelf reads whole tables, and decompresses string tables; real files compress none. */
static bool is_worth_reading(Elf_Scn *section)
{
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) && header.sh_size <= MOST_TABLE_BYTES &&
	       !(header.sh_flags & SHF_COMPRESSED);
}

bool image__has_room(uint64_t bytes)
{
	void *memory;

	if (!bytes || bytes > SIZE_MAX / 2)
		return !bytes;
	memory = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return false;
	munmap(memory, (size_t)bytes);
	return true;
}

void image__drop_pages(const struct image *image)
{
	if (image->map)
		madvise(image->map, image->map_size, MADV_DONTNEED);
}

static uint64_t size_of(Elf_Scn *section)
{
	GElf_Shdr header;

	return section && gelf_getshdr(section, &header) ? header.sh_size : 0;
}

static int check_kind(const struct image *image)
{
	GElf_Ehdr header;
	Elf_Scn *section;
	size_t names;

	/* A file of the other byte order cannot run here. */
	if (!image->elf || elf_kind(image->elf) != ELF_K_ELF ||
	    !gelf_getehdr(image->elf, &header) || header.e_ident[EI_DATA] != BYTE_ORDER_HERE)
		return -ENOEXEC;
	section = elf_getshdrstrndx(image->elf, &names) ? NULL : elf_getscn(image->elf, names);
	return section && !is_worth_reading(section) ? -EFBIG : 0;
}

bool image__has_addresses(const struct image *image)
{
	GElf_Ehdr header;

	return gelf_getehdr(image->elf, &header) &&
	       (header.e_type == ET_EXEC || header.e_type == ET_DYN);
}

int image__use_copy(struct image *image, bool with_dwarf)
{
	struct private_copy copy;
	Elf *elf;
	int err;

	if (image->fd < 0 || image->map)
		return 0;
	err = private_copy__make(image->elf, image->fd, with_dwarf, &copy);
	if (err)
		return err == -ENOMEM ? err : 0;
	elf = elf_memory(copy.map, copy.size);
	if (!elf) {
		munmap(copy.map, copy.size);
		return -ENOMEM;
	}
	elf_end(image->elf);
	image->elf = elf;
	image->map = copy.map;
	image->map_size = copy.size;
	copied_bytes += copy.size;
	return 0;
}

static int open_image(int fd, bool is_own, char *bytes, size_t size, struct image **ret)
{
	cleanup(image__close_p) struct image *image = calloc(1, sizeof(*image));
	int err;

	if (!image) {
		if (is_own)
			close_p(&fd);
		free(bytes);
		return -ENOMEM;
	}
	image->fd = fd;
	image->is_own = is_own;
	image->bytes = bytes;
	err = bytes ? elfcheck__sections_of(bytes, size) : elfcheck__sections(fd);
	if (err)
		return err;
	elf_version(EV_CURRENT);
	image->elf = bytes ? elf_memory(bytes, size) : elf_begin(fd, ELF_C_READ, NULL);
	err = check_kind(image);
	if (err)
		return err;
	*ret = TAKE(image);
	return 0;
}

int image__borrow(int fd, struct image **ret)
{
	return open_image(fd, false, NULL, 0, ret);
}

int image__open(int fd, struct image **ret)
{
	return open_image(fd, true, NULL, 0, ret);
}

int image__from_bytes(char *bytes, size_t size, struct image **ret)
{
	return open_image(-1, false, bytes, size, ret);
}

size_t image__size_of_vdso(void)
{
	static size_t size;
	uintptr_t vdso = getauxval(AT_SYSINFO_EHDR), start, end;
	cleanup(fclose_p) FILE *maps = vdso && !size ? fopen("/proc/self/maps", "re") : NULL;
	char line[512];

	while (maps && !size && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &start, &end) == 2 && start == vdso)
			size = end - start;
	return size;
}

int image__of_vdso(struct image **ret)
{
	size_t size = image__size_of_vdso();
	char *bytes = size ? malloc(size) : NULL;

	if (!bytes)
		return size ? -ENOMEM : -ENOENT;
	/* The auxiliary vector has addresses as numbers. NOLINTNEXTLINE */
	memcpy(bytes, (const void *)getauxval(AT_SYSINFO_EHDR), size);
	return image__from_bytes(bytes, size, ret);
}

static Elf_Scn *find_section(const struct image *image, const char *name, GElf_Shdr *ret)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return NULL;
	while ((section = elf_nextscn(image->elf, section))) {
		const char *found = gelf_getshdr(section, ret)
					    ? elf_strptr(image->elf, names, ret->sh_name)
					    : NULL;

		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

/* false: not a symbol of code. */
static bool read_symbol(const struct image *image, const GElf_Sym *symbol, size_t names,
			struct symtab_entry *ret)
{
	int type = GELF_ST_TYPE(symbol->st_info);
	bool is_function = type == STT_FUNC || type == STT_GNU_IFUNC;
	bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;
	Elf_Scn *section = NULL;
	uint64_t end, most = symbol->st_value + 1;
	GElf_Shdr header;

	if ((!is_function && type != STT_NOTYPE) || symbol->st_shndx == SHN_UNDEF ||
	    symbol->st_value == UINT64_MAX)
		return false;
	if (symbol->st_shndx < SHN_LORESERVE)
		section = elf_getscn(image->elf, symbol->st_shndx);
	if (section && gelf_getshdr(section, &header)) {
		/* Assembler symbols may lack a type; then the section tells that it is code. */
		if (!is_function && !(header.sh_flags & SHF_EXECINSTR))
			return false;
		if (header.sh_size <= UINT64_MAX - header.sh_addr &&
		    header.sh_addr + header.sh_size > most)
			most = header.sh_addr + header.sh_size;
	} else if (!is_function) {
		return false;
	}
	ret->name = elf_strptr(image->elf, names, symbol->st_name);
	/* $x and the like are mapping symbols; .L are labels inside functions. */
	if (!ret->name || !*ret->name || *ret->name == '$' ||
	    (!is_function && !strncmp(ret->name, ".L", 2)))
		return false;
	end = symbol->st_value + symbol->st_size;
	ret->start = symbol->st_value;
	ret->is_open = !symbol->st_size;
	ret->end = ret->is_open || end < ret->start ? most : end;
	ret->rank = symtab__rank(ret->name, !ret->is_open, is_function, is_local);
	return true;
}

/* false: not a variable, or thread-local. */
static bool read_variable(const struct image *image, const GElf_Sym *symbol, size_t names,
			  struct symtab_entry *ret)
{
	bool is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL;

	if (GELF_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_shndx == SHN_UNDEF ||
	    !symbol->st_size ||
	    __builtin_add_overflow(symbol->st_value, symbol->st_size, &ret->end))
		return false;
	ret->name = elf_strptr(image->elf, names, symbol->st_name);
	if (!ret->name || !*ret->name)
		return false;
	ret->start = symbol->st_value;
	ret->rank = symtab__rank(ret->name, true, false, is_local);
	return true;
}

typedef bool (*read_fn)(const struct image *image, const GElf_Sym *symbol, size_t names,
			struct symtab_entry *ret);

/* Loads a table and its names. *ret is NULL if they cannot be read. -EFBIG, -ENOMEM. */
static int load_table(const struct image *image, Elf_Scn *section, Elf_Scn *names, Elf_Data **ret)
{
	uint64_t bytes = size_of(section), name_bytes = size_of(names);

	*ret = NULL;
	if (bytes > MOST_TABLE_BYTES || name_bytes > MOST_TABLE_BYTES)
		return -EFBIG;
	if (!is_worth_reading(section) || !is_worth_reading(names))
		return 0;
	*ret = elf_getdata(section, NULL);
	if (*ret && elf_getdata(names, NULL))
		return 0;
	*ret = NULL;
	/* libelf does not tell a broken table from a lack of memory. */
	return image->map || image__has_room(bytes + name_bytes) ? 0 : -ENOMEM;
}

static int visit_section(const struct image *image, Elf_Scn *section, const GElf_Shdr *header,
			 image_visit_fn visit, void *context)
{
	Elf_Data *data;
	size_t count;
	int err = load_table(image, section, elf_getscn(image->elf, header->sh_link), &data);

	if (err)
		return err;
	count = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	/* gelf_getsym() takes an int. */
	for (size_t i = 1; i < count && i < INT32_MAX && !err; i++) {
		GElf_Sym symbol;

		if (i % DROP_SYMBOLS == 0)
			image__drop_pages(image);
		if (!gelf_getsym(data, (int)i, &symbol))
			break;
		err = visit(context, image, &symbol, header->sh_link);
	}
	return err;
}

int image__visit_symbols(const struct image *image, uint32_t section_type, image_visit_fn visit,
			 void *context)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == section_type)
			return visit_section(image, section, &header, visit, context);
	}
	return -ENOENT;
}

struct adding {
	read_fn read;
	bool is_dynamic;
	struct symtab *tab;
};

static int add_symbol(void *context, const struct image *image, const GElf_Sym *symbol,
		      size_t names)
{
	const struct adding *adding = context;
	struct symtab_entry entry = {};
	int err;

	if (!adding->read(image, symbol, names, &entry))
		return 0;
	entry.is_dynamic = adding->is_dynamic;
	err = symtab__add(adding->tab, &entry);
	return err && err != -ENOMEM ? -EFBIG : err;
}

static int add(const struct image *image, uint32_t section_type, read_fn read, struct symtab *tab)
{
	struct adding adding = { read, section_type == SHT_DYNSYM, tab };

	return image__visit_symbols(image, section_type, add_symbol, &adding);
}

struct finding {
	const char *name;
	uint64_t value;
};

static int find_symbol(void *context, const struct image *image, const GElf_Sym *symbol,
		       size_t names)
{
	struct finding *finding = context;
	const char *name = elf_strptr(image->elf, names, symbol->st_name);

	if (symbol->st_shndx == SHN_UNDEF || !name || strcmp(name, finding->name) != 0)
		return 0;
	finding->value = symbol->st_value;
	return -EEXIST;
}

int image__find_symbol(const struct image *image, const char *name, uint64_t *ret)
{
	struct finding finding = { .name = name };
	int err = image__visit_symbols(image, SHT_SYMTAB, find_symbol, &finding);

	if (err != -EEXIST)
		return err ?: -ENOENT;
	*ret = finding.value;
	return 0;
}

bool image__has_table(const struct image *image, uint32_t section_type)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == section_type)
			return true;
	return false;
}

int image__add_symbols(const struct image *image, uint32_t section_type, struct symtab *tab)
{
	return add(image, section_type, read_symbol, tab);
}

int image__add_variables(const struct image *image, uint32_t section_type, struct symtab *tab)
{
	return add(image, section_type, read_variable, tab);
}

const unsigned char *image__section(const struct image *image, const char *name, size_t *ret_size)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(image, name, &header);
	const Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;

	if (!data || !data->d_buf || !data->d_size)
		return NULL;
	*ret_size = data->d_size;
	return data->d_buf;
}

static int unpack(const unsigned char *packed, size_t packed_size, char **ret, size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	size_t capacity = packed_size * 4 + 4096;
	cleanup(free_p) char *bytes = malloc(capacity);
	lzma_ret result = LZMA_MEM_ERROR;

	if (!bytes || lzma_stream_decoder(&stream, MOST_LZMA_MEMORY, 0) != LZMA_OK)
		return -ENOMEM;
	stream.next_in = packed;
	stream.avail_in = packed_size;
	stream.next_out = (uint8_t *)bytes;
	stream.avail_out = capacity;
	while ((result = lzma_code(&stream, LZMA_FINISH)) == LZMA_OK &&
	       capacity < MOST_MINI_BYTES) {
		char *more = realloc(bytes, capacity * 2);

		if (!more) {
			result = LZMA_MEM_ERROR;
			break;
		}
		bytes = more;
		stream.next_out = (uint8_t *)bytes + stream.total_out;
		capacity *= 2;
		stream.avail_out = capacity - stream.total_out;
	}
	*ret_size = stream.total_out;
	lzma_end(&stream);
	if (result != LZMA_STREAM_END)
		return result == LZMA_MEM_ERROR ? -ENOMEM : -EBADMSG;
	*ret = TAKE(bytes);
	return 0;
}

int image__open_mini(const struct image *image, struct image **ret)
{
	GElf_Shdr header;
	size_t packed_size, size;
	const unsigned char *packed = NULL;
	char *bytes;
	int err;

	if (find_section(image, ".gnu_debugdata", &header) && header.sh_size <= MOST_MINI_BYTES)
		packed = image__section(image, ".gnu_debugdata", &packed_size);
	if (!packed)
		return -ENOENT;
	err = unpack(packed, packed_size, &bytes, &size);
	return err ? err : image__from_bytes(bytes, size, ret);
}

int build_id__to_hex(const void *bytes, ssize_t size, char ret[static BUILD_ID_TEXT_BYTES])
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *byte = bytes;

	if (size < 2 || size > BUILD_ID_MOST_BYTES)
		return -ENOENT;
	for (ssize_t i = 0; i < size; i++) {
		ret[2 * i] = digits[byte[i] >> 4];
		ret[2 * i + 1] = digits[byte[i] & 15];
	}
	ret[2 * size] = '\0';
	return 0;
}

int image__build_id(const struct image *image, char ret[static BUILD_ID_TEXT_BYTES])
{
	const void *id = NULL;
	ssize_t size = dwelf_elf_gnu_build_id(image->elf, &id);

	return build_id__to_hex(id, size, ret);
}
