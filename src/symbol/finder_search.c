/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the finder that reads files. The input is untrusted: it runs in a process without
 * privileges.
 */
#include <errno.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/demangle.h"
#include "symbol/finder.h"
#include "symbol/image.h"
#include "symbol/name_pattern.h"

/* No pattern is meant to match more. */
#define MOST_FOUND 16384
#define CODE_BYTES 64
/* A larger function surely calls another one. */
#define MOST_LEAF_BYTES 512

#if defined(__x86_64__)
#define IS_X86 true
#else
#define IS_X86 false
#endif

DEFINE_CLEANUP(struct image *, image__close)

struct search {
	const struct finder_question *question;
	const struct image *image; /* the file itself: its segments and its code */
	int fd;
	struct map shown; /* cache of demangle__show() */
	struct map seen;  /* offsets that were found */
	uint32_t flags;
	struct finder_place *found;
	size_t count;
	size_t indirect; /* that match, but are indirect functions */
	bool more;
	uint64_t best;    /* FINDER_OFFSET: the distance of the nearest function so far */
	uint64_t address; /* and the address of the offset that is asked for */
};

/* --- places ----------------------------------------------------------------------------------- */

/* Converts between addresses and offsets of code or data. */
static bool find_segment(const struct image *image, uint64_t at, bool by_offset, bool is_code,
			 uint64_t *ret)
{
	size_t count = 0;
	GElf_Phdr header;

	if (elf_getphdrnum(image->elf, &count))
		return false;
	for (size_t i = 0; i < count && i < INT32_MAX; i++) {
		uint64_t from, to;

		if (!gelf_getphdr(image->elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    (is_code && !(header.p_flags & PF_X)))
			continue;
		from = by_offset ? header.p_offset : header.p_vaddr;
		to = by_offset ? header.p_vaddr : header.p_offset;
		if (at < from || at - from >= header.p_filesz || to > INT64_MAX - (at - from))
			continue;
		*ret = to + (at - from);
		return true;
	}
	return false;
}

/* NULL: it is known already, or there is no room; then *ret_err is set. */
static struct finder_place *add_place(struct search *search, uint64_t offset, int *ret_err)
{
	struct finder_place *place;

	if (map__get(&search->seen, offset + 1))
		return NULL;
	if (search->count == MOST_FOUND) {
		search->more = true;
		return NULL;
	}
	place = APPEND(&search->found, &search->count);
	if (!place || map__put(&search->seen, offset + 1, search)) {
		*ret_err = -ENOMEM;
		return NULL;
	}
	place->offset = offset;
	place->flags = search->flags;
	return place;
}

/*
 * Whether the function calls nothing, not even by a jump: then no exception passes through it. This
 * is only sure if no byte can be the opcode of a call or of a far jump.
 */
static bool is_leaf(const struct search *search, uint64_t offset, uint64_t size)
{
	uint8_t code[MOST_LEAF_BYTES];
	ssize_t got;

	if (!size || size > sizeof(code))
		return false;
	got = pread(search->fd, code, (size_t)size, (off_t)offset);
	if (got != (ssize_t)size)
		return false;
	for (uint64_t i = 0; i < size; i++)
		if (code[i] == 0xe8 || code[i] == 0xe9 || code[i] == 0xff)
			return false;
	return IS_X86;
}

/* `is_entry`: skip what makes a probe expensive. */
static void judge(const struct search *search, struct finder_place *place, bool is_entry)
{
	uint8_t code[CODE_BYTES];
	ssize_t got = pread(search->fd, code, sizeof(code), (off_t)place->offset);
	size_t size = got > 0 ? (size_t)got : 0,
	       skip = is_entry ? instruction__skip(code, size) : 0;

	if (is_entry && search->question->for_go)
		skip = instruction__skip_saves(code, size);
	else if (is_entry)
		place->flags |= FINDER_AT_ENTRY;
	place->offset += skip;
	place->cost = instruction__cost(code + skip, size - skip);
}

static bool is_function(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol->st_shndx != SHN_UNDEF;
}

/*
 * Parts of functions that are entered by a jump, and the start of a program, have no return address
 * on the stack: what a probe at the return would replace there is something else.
 */
static bool is_called(const char *raw)
{
	return !strstr(raw, ".cold") && strcmp(raw, "_start") != 0;
}

static int take_function(void *context, const struct image *image, const GElf_Sym *symbol,
			 size_t names)
{
	struct search *search = context;
	const char *raw, *shown;
	struct finder_place *place;
	uint64_t offset;
	int err = 0;

	raw = is_function(symbol) ? elf_strptr(image->elf, names, symbol->st_name) : NULL;
	if (!raw || !*raw || !is_called(raw))
		return 0;
	/* A mangled pattern is compared with mangled names, which are as many as there are. */
	if (!strncmp(search->question->pattern, "_Z", 2) &&
	    !name_pattern__is_like(search->question->pattern, raw, strlen(raw)))
		return 0;
	shown = demangle__show(&search->shown, raw);
	if (!shown)
		return -ENOMEM;
	if (!name_pattern__matches(search->question->pattern, raw, shown) ||
	    symbol->st_value > INT64_MAX - search->question->behind ||
	    !find_segment(search->image, symbol->st_value + search->question->behind, false, true,
			  &offset))
		return 0;
	if (GELF_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC) {
		search->indirect++;
		return 0;
	}
	place = add_place(search, offset, &err);
	if (!place)
		return err;
	if (search->question->behind)
		snprintf(place->name, sizeof(place->name), "%.200s+%#llx", shown,
			 (unsigned long long)search->question->behind);
	else
		snprintf(place->name, sizeof(place->name), "%s", shown);
	if (is_leaf(search, offset, symbol->st_size))
		place->flags &= ~(uint32_t)FINDER_MAY_THROW;
	judge(search, place, !search->question->behind);
	return 0;
}

/* Of functions that contain the address, the one that begins last; the first of several names. */
static int take_name(void *context, const struct image *image, const GElf_Sym *symbol, size_t names)
{
	struct search *search = context;
	uint64_t distance = search->address - symbol->st_value;
	const char *raw, *shown;

	if (!is_function(symbol) || symbol->st_value > search->address ||
	    distance >= symbol->st_size || distance >= search->best)
		return 0;
	raw = elf_strptr(image->elf, names, symbol->st_name);
	if (!raw || !*raw)
		return 0;
	shown = demangle__show(&search->shown, raw);
	if (!shown)
		return -ENOMEM;
	if (!search->count) {
		struct finder_place *place = APPEND(&search->found, &search->count);

		if (!place)
			return -ENOMEM;
	}
	search->best = distance;
	search->found->offset = search->question->at - distance;
	snprintf(search->found->name, sizeof(search->found->name), "%s", shown);
	return 0;
}

/* In .symtab, .dynsym and the compressed table, whichever there are. */
static int visit_all(struct search *search, image_visit_fn visit)
{
	static const uint32_t tables[] = { SHT_SYMTAB, SHT_DYNSYM };
	cleanup(image__close_p) struct image *mini = NULL;
	int err = 0;

	for (size_t i = 0; i < 2 && (!err || err == -ENOENT); i++)
		err = image__visit_symbols(search->image, tables[i], visit, search);
	if ((!err || err == -ENOENT) && !image__has_table(search->image, SHT_SYMTAB) &&
	    !image__open_mini(search->image, &mini))
		err = image__visit_symbols(mini, SHT_SYMTAB, visit, search);
	/* Some names are those of `mini`, which is closed on return. */
	demangle__release(&search->shown);
	search->shown = (struct map) {};
	return err == -ENOENT ? 0 : err;
}

static uint64_t address_of(const struct image *image, const char *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(image->elf, &names))
		return 0;
	while ((section = elf_nextscn(image->elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(image->elf, names, header.sh_name)
					   : NULL;

		if (name && !strcmp(name, wanted))
			return header.sh_addr;
	}
	return 0;
}

/*
 * Whether a function begins at an address, by the table of all functions for unwinding, which
 * stripped files have too. Only the usual encoding is read: offsets of 4 bytes from the section.
 */
static bool is_start(const struct image *image, uint64_t address)
{
	uint64_t base = address_of(image, ".eh_frame_hdr");
	size_t size = 0;
	const unsigned char *table = image__section(image, ".eh_frame_hdr", &size);
	uint32_t count;

	if (!table || size < 12 || table[0] != 1 || table[2] != 0x03 || table[3] != 0x3b)
		return false;
	memcpy(&count, table + 8, sizeof(count));
	for (size_t i = 0; i < count && 12 + 8 * (i + 1) <= size; i++) {
		int32_t start;

		memcpy(&start, table + 12 + 8 * i, sizeof(start));
		if (base + (uint64_t)(int64_t)start == address)
			return true;
	}
	return false;
}

static int find_address(struct search *search)
{
	struct finder_place *place;
	uint64_t offset;
	int err = 0;

	if (!find_segment(search->image, search->question->at, false, true, &offset))
		return 0;
	place = add_place(search, offset, &err);
	if (!place)
		return err;
	snprintf(place->name, sizeof(place->name), "0x%llx",
		 (unsigned long long)search->question->at);
	judge(search, place, is_start(search->image, search->question->at));
	return 0;
}

/* --- USDT ------------------------------------------------------------------------------------- */

static int take_probe(struct search *search, const struct usdt_note *note, uint64_t moved)
{
	char name[FINDER_NAME_BYTES];
	struct finder_place *place;
	uint64_t offset, semaphore = 0;
	int err = 0;

	snprintf(name, sizeof(name), "%s:%s", note->provider, note->name);
	if (!name_pattern__is_like(search->question->pattern, name, strlen(name)) ||
	    !find_segment(search->image, note->address + moved, false, true, &offset) ||
	    (note->semaphore &&
	     !find_segment(search->image, note->semaphore + moved, false, false, &semaphore)))
		return 0;
	place = add_place(search, offset, &err);
	if (!place)
		return err;
	memcpy(place->name, name, sizeof(name));
	snprintf(place->text, sizeof(place->text), "%s", note->arguments);
	place->semaphore = semaphore;
	place->argument_count = (uint32_t)usdt__arguments(note->arguments, place->arguments);
	judge(search, place, false);
	return 0;
}

/* prelink(8) moves a file without rewriting the notes; .stapsdt.base says by how much. */
static int find_probes(struct search *search)
{
	uint64_t base = address_of(search->image, ".stapsdt.base");
	struct usdt_note note;
	size_t size = 0, at = 0;
	const uint8_t *notes = image__section(search->image, ".note.stapsdt", &size);
	int got = 0, err = 0;

	while (notes && !err && (got = usdt__next(notes, size, &at, &note)) >= 0)
		if (got)
			err = take_probe(search, &note, base && note.base ? base - note.base : 0);
	return err;
}

/* --- all -------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct finder_place *one = a, *other = b;

	return one->offset < other->offset ? -1 : one->offset > other->offset;
}

static bool is_go(const struct image *image)
{
	size_t size;

	return image__section(image, ".gopclntab", &size) ||
	       image__section(image, ".data.rel.ro.gopclntab", &size) ||
	       image__section(image, ".note.go.buildid", &size);
}

static int is_personality(void *context, const struct image *image, const GElf_Sym *symbol,
			  size_t names)
{
	const char *name = elf_strptr(image->elf, names, symbol->st_name);

	return name && (!strcmp(name, "__gxx_personality_v0") ||
			!strcmp(name, "rust_eh_personality") || !strcmp(name, "__cxa_throw"))
		       ? -EEXIST
		       : 0;
}

/* Whether a library that the file needs is one of those that throw and unwind. */
static bool needs_unwinder(const struct image *image)
{
	static const char *const libraries[] = { "libstdc++.so", "libc++.so", "libc++abi.so",
						 "libgcc_s.so", NULL };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Dyn entry;

	while ((section = elf_nextscn(image->elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC
					 ? elf_getdata(section, NULL)
					 : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &entry) && entry.d_tag; i++) {
			const char *name =
				entry.d_tag == DT_NEEDED
					? elf_strptr(image->elf, header.sh_link, entry.d_un.d_val)
					: NULL;

			for (size_t j = 0; name && libraries[j]; j++)
				if (!strncmp(name, libraries[j], strlen(libraries[j])))
					return true;
		}
	}
	return false;
}

/* C has tables for exceptions too, for cancelled threads. Without any symbols, all are suspect. */
static bool may_throw(const struct image *image)
{
	size_t size;

	if (image__visit_symbols(image, SHT_DYNSYM, is_personality, NULL) == -EEXIST ||
	    image__visit_symbols(image, SHT_SYMTAB, is_personality, NULL) == -EEXIST)
		return true;
	return needs_unwinder(image) ||
	       (!image__has_table(image, SHT_DYNSYM) && !image__has_table(image, SHT_SYMTAB) &&
		image__section(image, ".gcc_except_table", &size));
}

static int find_all(struct search *search)
{
	switch (search->question->kind) {
	case FINDER_FUNCTIONS:
		return visit_all(search, take_function);
	case FINDER_ADDRESS:
		return find_address(search);
	case FINDER_OFFSET:
		return find_segment(search->image, search->question->at, true, true,
				    &search->address)
			       ? visit_all(search, take_name)
			       : 0;
	case FINDER_PROBES:
		return find_probes(search);
	}
	return -EINVAL;
}

int finder__search(int fd, const struct finder_question *question, struct finder_place **ret,
		   size_t *ret_count, bool *ret_more)
{
	cleanup(image__close_p) struct image *image = NULL;
	cleanup(free_p) struct finder_place *found = NULL;
	struct search search = { .question = question, .fd = fd, .best = UINT64_MAX };
	int err = image__borrow(fd, &image);

	if (err)
		return err;
	search.image = image;
	search.flags = (is_go(image) ? FINDER_GO : 0) | (may_throw(image) ? FINDER_MAY_THROW : 0);
	err = find_all(&search);
	demangle__release(&search.shown);
	map__release(&search.seen);
	found = search.found;
	if (!err && !search.count && search.indirect)
		err = -ENOTSUP;
	if (err)
		return err;
	if (found)
		qsort(found, search.count, sizeof(*found), compare);
	*ret_more = search.more || (question->most && search.count > question->most);
	*ret_count =
		question->most && search.count > question->most ? question->most : search.count;
	*ret = TAKE(found);
	return 0;
}
