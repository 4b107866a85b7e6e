/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/dwarf.h"

#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "base/vec.h"
#include "symbol/unit.h"

/* A few bytes can describe very many ranges, because units can share range lists. */
#define MOST_RANGES (1U << 24)
/* Each byte of a line program can be a line, for which libdw needs 100 bytes. */
#define MOST_LINE_BYTES (32UL << 20)
/* What libdw needs for a byte of the line programs of compilers, and what must be left for others.
 */
#define LINE_BYTE_NEEDS 32
#define LEAST_LEFT      (12UL << 20)

/* Units, and look-ups, between two calls of image__drop_pages(). */
#define DROP_UNITS 64
#define DROP_FINDS 8

/* The bytes of a section. */
struct span {
	const unsigned char *start, *end;
};

struct dwarf {
	struct image *image;
	const struct addresses *wanted;
	Dwarf *dw;
	struct image *shared; /* dwz's file, or NULL */
	Dwarf *shared_dw;
	struct span info, shared_info, lines;
	struct unit *units;
	size_t count;
	struct rangemap ranges; /* of wanted addresses; values are indices into `units` */
	uint32_t budget;        /* the number of ranges and functions that may still be read */
	uint64_t line_budget;   /* the number of bytes of line programs that may still be read */
	uint64_t never_fits;    /* there is no room for line programs of this size or more */
	uint64_t line_bytes;    /* of the line programs that libdw has in memory */
	uint64_t finds;         /* look-ups so far */
	uint64_t without_lines; /* units whose line programs were too large */
	struct map paths;       /* file name from libdw → path with the compilation directory */
};

/* Forgets all that refers to the memory of libdw. */
static void close_units(struct dwarf *dwarf)
{
	map__free_values(&dwarf->paths);
	for (size_t i = 0; i < dwarf->count; i++)
		unit__reset(&dwarf->units[i]);
	free(dwarf->units);
	dwarf->units = NULL;
	dwarf->count = 0;
	dwarf->line_bytes = 0;
	rangemap__release(&dwarf->ranges);
}

void dwarf__close(struct dwarf *dwarf)
{
	if (!dwarf)
		return;
	close_units(dwarf);
	if (dwarf->dw)
		dwarf_end(dwarf->dw);
	if (dwarf->shared_dw)
		dwarf_end(dwarf->shared_dw);
	image__close(dwarf->shared);
	free(dwarf);
}
DEFINE_CLEANUP(struct dwarf *, dwarf__close)

static int add_unit(struct dwarf *dwarf, Dwarf_Die *die, const unsigned char *end)
{
	struct unit *unit;
	uint8_t type;

	/* Other units have no code, or only refer to it. */
	if (dwarf_cu_info(die->cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    (type != DW_UT_compile && type != DW_UT_skeleton))
		return 0;
	unit = APPEND(&dwarf->units, &dwarf->count);
	if (!unit)
		return -ENOMEM;
	*unit = (struct unit) { .die = *die, .end = end };
	return 0;
}

/* By now libdw has decompressed the section if necessary. */
static struct span span_of(const struct image *image, const char *name, const char *packed_name)
{
	size_t size = 0;
	const unsigned char *start = image__section(image, name, &size);

	if (!start)
		start = image__section(image, packed_name, &size);
	return (struct span) { start, start ? start + size : NULL };
}

static struct span info_of(const struct image *image)
{
	return span_of(image, ".debug_info", ".zdebug_info");
}

static int read_units(struct dwarf *dwarf)
{
	const struct span *info = &dwarf->info;
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	int err = 0;

	while (!err && !dwarf_next_unit(dwarf->dw, at, &next, &header_bytes, NULL, NULL, NULL, NULL,
					NULL, NULL)) {
		const unsigned char *start;
		Dwarf_Die die;

		if (next <= at || !dwarf_offdie(dwarf->dw, at + header_bytes, &die))
			break;
		start = die.addr;
		if (start < info->start || start >= info->end)
			break;
		/* The header of a unit may claim more bytes than the section has. */
		err = add_unit(dwarf, &die,
			       next < (Dwarf_Off)(info->end - info->start) ? info->start + next
									   : info->end);
		at = next;
		if (dwarf->count % DROP_UNITS == 0)
			image__drop_pages(dwarf->image);
	}
	return err == -ENOMEM ? err : 0;
}

static int begin(struct image *image, Dwarf **ret)
{
	int err = image__prepare_dwarf(image);
	Dwarf *dw = err ? NULL : dwarf_begin_elf(image->elf, DWARF_C_READ, NULL);

	if (dw && image__dwarf_is_sound(image)) {
		*ret = dw;
		return 0;
	}
	if (dw)
		dwarf_end(dw);
	return err ? err : -ENOENT;
}

/*
 * We must find the shared file ourselves. Otherwise libdw would open any path that the file names,
 * even one where reading never ends.
 */
static int open_shared(struct dwarf *dwarf, struct debug_finder *finder,
		       const struct symbol_module *module)
{
	char build_id[BUILD_ID_TEXT_BYTES];
	const char *path;
	const void *id;
	ssize_t size = dwelf_dwarf_gnu_debugaltlink(dwarf->dw, &path, &id);
	int err;

	if (!size)
		return 0;
	err = build_id__to_hex(id, size, build_id);
	if (!err)
		err = debug_finder__find_shared(finder, module, path, build_id, &dwarf->shared);
	if (!err)
		err = image__use_copy(dwarf->shared, true);
	if (!err)
		err = begin(dwarf->shared, &dwarf->shared_dw);
	if (err)
		return err;
	/* A dwz file must not have such a link itself. */
	if (dwelf_dwarf_gnu_debugaltlink(dwarf->shared_dw, &path, &id))
		return -ENOENT;
	dwarf_setalt(dwarf->dw, dwarf->shared_dw);
	dwarf->shared_info = info_of(dwarf->shared);
	return 0;
}

int dwarf__open(struct image *image, struct debug_finder *finder,
		const struct symbol_module *module, struct dwarf **ret)
{
	cleanup(dwarf__close_p) struct dwarf *dwarf = NULL;
	int err;

	dwarf = calloc(1, sizeof(*dwarf));
	if (!dwarf)
		return -ENOMEM;
	dwarf->image = image;
	dwarf->never_fits = UINT64_MAX;
	err = begin(image, &dwarf->dw);
	if (!err)
		err = open_shared(dwarf, finder, module);
	if (err)
		return err;
	dwarf->info = info_of(image);
	dwarf->lines = span_of(image, ".debug_line", ".zdebug_line");
	err = read_units(dwarf);
	if (err)
		return err;
	*ret = TAKE(dwarf);
	return 0;
}

int dwarf__want(struct dwarf *dwarf, const struct addresses *wanted)
{
	int added = 0;

	dwarf->wanted = wanted;
	dwarf->budget = MOST_RANGES;
	dwarf->line_budget = MOST_LINE_BYTES;
	rangemap__release(&dwarf->ranges);
	for (size_t i = 0; i < dwarf->count; i++)
		unit__reset(&dwarf->units[i]);
	for (size_t i = 0; i < dwarf->count && added >= 0; i++) {
		added = unit__add_ranges(&dwarf->units[i].die, wanted, &dwarf->ranges, (uint32_t)i,
					 &dwarf->budget);
		if (i % DROP_UNITS == 0)
			image__drop_pages(dwarf->image);
	}
	return added == -ENOMEM ? added : rangemap__seal(&dwarf->ranges);
}

uint64_t dwarf__without_lines(const struct dwarf *dwarf)
{
	return dwarf->without_lines;
}

static bool ends_inside(const struct span *span, const char *text)
{
	const unsigned char *at = (const unsigned char *)text;

	return at >= span->start && at < span->end && memchr(at, 0, (size_t)(span->end - at));
}

/* libdw does not check that a string inside .debug_info is terminated. */
static const char *string_of(const struct dwarf *dwarf, Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, name, &memory);
	const char *text = attribute ? dwarf_formstring(attribute) : NULL;

	if (text && dwarf_whatform(attribute) == DW_FORM_string &&
	    !ends_inside(&dwarf->info, text) && !ends_inside(&dwarf->shared_info, text))
		return NULL;
	return text && *text ? text : NULL;
}

static const char *name_of(const struct dwarf *dwarf, Dwarf_Die *die)
{
	static const unsigned int attributes[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name,
						   DW_AT_name };
	const char *name = NULL;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes) && !name; i++)
		name = string_of(dwarf, die, attributes[i]);
	return name ? name : "??";
}

static uint32_t number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr_integrate(die, name, &memory);
	Dwarf_Word value;

	if (!attribute || dwarf_formudata(attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

/*
 * The size of the unit's line table, which libdw reads as a whole; 0: there is none. It is at the
 * start of the table: 4 bytes; or 0xffffffff, followed by 8 bytes.
 */
static uint64_t line_bytes_of(const struct dwarf *dwarf, Dwarf_Die *unit)
{
	Dwarf_Attribute memory, *attribute = dwarf_attr(unit, DW_AT_stmt_list, &memory);
	size_t left = (size_t)(dwarf->lines.end - dwarf->lines.start);
	Dwarf_Word at;
	uint32_t size;
	uint64_t long_size;

	if (!attribute || dwarf_formudata(attribute, &at) || at > left || left - at < 12)
		return 0;
	memcpy(&size, dwarf->lines.start + at, sizeof(size));
	memcpy(&long_size, dwarf->lines.start + at + sizeof(size), sizeof(long_size));
	return size == UINT32_MAX ? long_size : size;
}

static bool has_room_for_lines(uint64_t bytes)
{
	return bytes <= MOST_LINE_BYTES && image__has_room(bytes * LINE_BYTE_NEEDS + LEAST_LEFT);
}

/* Whether the budgets allow to read the unit's line table. */
static bool spend_lines(struct dwarf *dwarf, Dwarf_Die *unit)
{
	uint64_t bytes = line_bytes_of(dwarf, unit);

	if (!bytes)
		return false;
	if (bytes > dwarf->line_budget || !has_room_for_lines(bytes)) {
		dwarf->without_lines++;
		return false;
	}
	dwarf->line_budget -= bytes;
	dwarf->line_bytes += bytes;
	return true;
}

/* The last line that begins at or before the address. */
static Dwarf_Line *find_line(Dwarf_Die *unit, uint64_t address)
{
	size_t low = 0, count;
	Dwarf_Lines *lines;
	Dwarf_Line *line;
	bool is_end = false;

	if (dwarf_getsrclines(unit, &lines, &count))
		return NULL;
	for (size_t high = count; low < high;) {
		size_t middle = low + (high - low) / 2;
		Dwarf_Addr start;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &start))
			return NULL;
		if (start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	line = low ? dwarf_onesrcline(lines, low - 1) : NULL;
	return line && !dwarf_lineendsequence(line, &is_end) && !is_end ? line : NULL;
}

/* Prepends the compilation directory to a relative path. NULL stays NULL. */
static const char *path_of(struct dwarf *dwarf, Dwarf_Die *unit, const char *file)
{
	const char *folder;
	char *path;

	if (!file || *file == '/')
		return file;
	path = map__get(&dwarf->paths, (uintptr_t)file);
	if (path)
		return path;
	folder = string_of(dwarf, unit, DW_AT_comp_dir);
	if (!folder || *folder != '/' || asprintf(&path, "%s/%s", folder, file) < 0)
		return file;
	if (map__put(&dwarf->paths, (uintptr_t)file, path)) {
		free(path);
		return file;
	}
	return path;
}

static void set_position(struct dwarf *dwarf, struct unit *unit, uint64_t address,
			 struct symbol *ret)
{
	Dwarf_Line *line = unit->has_lines ? find_line(&unit->die, address) : NULL;
	int number;

	if (!line)
		return;
	ret->file = path_of(dwarf, &unit->die, dwarf_linesrc(line, NULL, NULL));
	if (!dwarf_lineno(line, &number) && number > 0)
		ret->line = (uint32_t)number;
	if (!dwarf_linecol(line, &number) && number > 0)
		ret->column = (uint32_t)number;
}

static void set_call(struct dwarf *dwarf, struct unit *unit, Dwarf_Die *inlined, struct symbol *ret)
{
	Dwarf_Files *files;
	size_t count;

	*ret = (struct symbol) {
		.line = number_of(inlined, DW_AT_call_line),
		.column = number_of(inlined, DW_AT_call_column),
	};
	if (!unit->has_lines || !dwarf_hasattr(inlined, DW_AT_call_file) ||
	    dwarf_getsrcfiles(&unit->die, &files, &count))
		return;
	ret->file = path_of(dwarf, &unit->die,
			    dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL));
}

static void drop_pages(const struct dwarf *dwarf)
{
	image__drop_pages(dwarf->image);
	if (dwarf->shared)
		image__drop_pages(dwarf->shared);
}

/* libdw keeps all line tables that it has read. Only closing it frees them. */
static int free_lines(struct dwarf *dwarf)
{
	uint64_t budget = dwarf->line_budget;
	int err;

	close_units(dwarf);
	dwarf_end(dwarf->dw);
	dwarf->dw = dwarf_begin_elf(dwarf->image->elf, DWARF_C_READ, NULL);
	if (!dwarf->dw)
		return -ENOMEM;
	if (dwarf->shared_dw)
		dwarf_setalt(dwarf->dw, dwarf->shared_dw);
	err = read_units(dwarf);
	if (!err)
		err = dwarf__want(dwarf, dwarf->wanted);
	/* The addresses are the same, so it is not renewed. */
	dwarf->line_budget = budget;
	return err;
}

/* Makes room for the line table of a unit if that can help. *ret: whether units have changed. */
static int make_room_for_lines(struct dwarf *dwarf, const struct unit *unit, bool *ret)
{
	Dwarf_Die die = unit->die;
	uint64_t bytes = line_bytes_of(dwarf, &die);
	int err;

	*ret = !unit->is_judged && dwarf->line_bytes && bytes < dwarf->never_fits &&
	       !has_room_for_lines(bytes);
	if (!*ret)
		return 0;
	err = free_lines(dwarf);
	if (!err && !has_room_for_lines(bytes))
		dwarf->never_fits = bytes;
	return err;
}

/* The unit of a wanted address, which is read; NULL: none. */
static int find_unit(struct dwarf *dwarf, uint64_t address, struct unit **ret)
{
	struct unit *unit;
	uint32_t index;
	bool changed;
	int err;

	*ret = NULL;
	if (!rangemap__find(&dwarf->ranges, address, &index))
		return 0;
	unit = &dwarf->units[index];
	err = make_room_for_lines(dwarf, unit, &changed);
	if (err || (changed && !rangemap__find(&dwarf->ranges, address, &index)))
		return err;
	unit = &dwarf->units[index];
	if (!unit->is_judged)
		unit->has_lines = spend_lines(dwarf, &unit->die);
	unit->is_judged = true;
	*ret = unit;
	return unit__read_functions(unit, dwarf->wanted, dwarf->image, &dwarf->budget);
}

int dwarf__find(struct dwarf *dwarf, uint64_t address, struct symbol_chain *ret)
{
	struct symbol position = {};
	struct unit *unit;
	uint32_t index;
	int err;

	ret->count = 0;
	ret->frames[0] = position;
	/* Each page that is touched brings its neighbours. */
	if (dwarf->finds++ % DROP_FINDS == 0)
		drop_pages(dwarf);
	err = find_unit(dwarf, address, &unit);
	if (err || !unit)
		return err;
	set_position(dwarf, unit, address, &position);
	ret->frames[0] = position;
	if (!rangemap__find(&unit->ranges, address, &index))
		return 0;
	for (; index != NO_FUNCTION; index = unit->functions[index].outer) {
		Dwarf_Die *die = &unit->functions[index].die;
		struct symbol *frame;

		/* If there are too many, those just inside the outermost are left out. */
		ret->count -= ret->count == SYMBOL_MOST_INLINED;
		frame = &ret->frames[ret->count++];
		*frame = position;
		frame->name = frame->system_name = name_of(dwarf, die);
		frame->start_line = number_of(die, DW_AT_decl_line);
		frame->source = NAME_DWARF;
		set_call(dwarf, unit, die, &position);
	}
	return 0;
}
