/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row compiler against another reader of the same descriptions, llvm-dwarfdump, on files of
 * this machine: every row that it prints must be ours, at its first and at its last byte.
 */
#include "../harness.h"

#include "../walk.h"

#include "../frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"

#define DUMP "llvm-dwarfdump-19"
#define LIB  "/usr/lib/x86_64-linux-gnu/"

DEFINE_CLEANUP(FILE *, pclose)

static const char *const registers[ARCH_REGISTERS] = { "RAX", "RDX", "RCX", "RBX", "RSI", "RDI",
						       "RBP", "RSP", "R8",  "R9",  "R10", "R11",
						       "R12", "R13", "R14", "R15" };

struct compared {
	const char *path;
	struct rows rows;
	uint64_t begin, end; /* of the description */
	bool has_row;
	uint64_t row_begin;
	struct unwind_row row; /* expected from there on */
	uint64_t count, differences;
};

/* --- what a printed row means ----------------------------------------------------------------- */

/* "RSP+16", "RSP", "R10-8" up to the next colon. */
static bool read_register(const char *text, unsigned *ret_register, int *ret_offset)
{
	size_t length = strcspn(text, "+-:,");

	for (unsigned i = 0; i < ARCH_REGISTERS; i++) {
		if (strlen(registers[i]) != length || strncmp(registers[i], text, length) != 0)
			continue;
		*ret_register = i;
		*ret_offset = text[length] == '+' || text[length] == '-' ? atoi(text + length) : 0;
		return true;
	}
	return false;
}

static bool read_cfa(const char *text, struct unwind_row *ret)
{
	unsigned reg = 0, least = 0;
	int offset = 0, length = 0;

	if (sscanf(text, "DW_OP_breg7 RSP%d, DW_OP_deref, DW_OP_plus_uconst 0x8:%n", &offset,
		   &length) == 1 &&
	    length)
		ret->kind = UNWIND_SP_DEREF;
	else if (sscanf(text, "DW_OP_breg6 RBP%d, DW_OP_deref:%n", &offset, &length) == 1 && length)
		ret->kind = UNWIND_BP_DEREF;
	else if (sscanf(text,
			"DW_OP_breg7 RSP+8, DW_OP_breg16 RIP+0, DW_OP_lit15, DW_OP_and, "
			"DW_OP_lit%u, DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus:%n",
			&least, &length) == 1 &&
		 length)
		*ret = (struct unwind_row) { .kind = UNWIND_PLT, .offset = (int)least };
	else if (!read_register(text, &reg, &offset))
		return false;
	else
		ret->kind = (uint8_t)(reg == ARCH_DWARF_SP   ? UNWIND_SP
				      : reg == ARCH_DWARF_FP ? UNWIND_BP
							     : UNWIND_REGISTER + reg);
	if (ret->kind != UNWIND_PLT)
		ret->offset = offset;
	return true;
}

static bool read_bp(const char *text, struct unwind_row *ret)
{
	int offset;

	if (!text || !strncmp(text, "undefined", 9) || !strncmp(text, "same", 4))
		return true;
	if (!strncmp(text, "[DW_OP_breg6 RBP+0]", 19)) {
		ret->bp = UNWIND_BP_AT_BP;
		return true;
	}
	if (sscanf(text, "[CFA%d]", &offset) != 1 || offset >= 0 || offset % 8 || offset < -254 * 8)
		return false;
	ret->bp = (uint8_t)(-offset / 8);
	return true;
}

/* "CFA=RSP+16: RBX=[CFA-24], RBP=[CFA-16], RIP=[CFA-8]" */
static struct unwind_row read_rules(const char *text)
{
	const struct unwind_row hard = { .kind = UNWIND_UNSUPPORTED };
	const char *bp = strstr(text, " RBP="), *caller = strstr(text, " RIP=");
	struct unwind_row row = {};

	if (caller && !strncmp(caller, " RIP=undefined", 14))
		return (struct unwind_row) { .kind = UNWIND_END };
	if (caller && !strncmp(caller, " RIP=[DW_OP_breg7 RSP+168]", 26))
		return (struct unwind_row) { .kind = UNWIND_SIGNAL };
	if (!caller || strncmp(caller, " RIP=[CFA-8]", 12) != 0 || strncmp(text, "CFA=", 4) != 0)
		return hard;
	return read_bp(bp ? bp + 5 : NULL, &row) && read_cfa(text + 4, &row) ? row : hard;
}

/* --- comparing ------------------------------------------------------------------------------ */

static void compare_at(struct compared *compared, uint64_t address)
{
	struct world world = { .modules = { [1] = &compared->rows } };
	static struct unwind searching;
	const struct unwind_row none = { .kind = UNWIND_NONE }, *row, *wanted = &compared->row;
	int known;

	row = unwind_find_row(&world, &searching, 1, address, &known);
	if (!row)
		row = &none;
	compared->count++;
	if (row->kind == wanted->kind && row->bp == wanted->bp && row->offset == wanted->offset)
		return;
	if (!compared->differences++)
		printf("# %s at 0x%lx: kind %u, offset %d, bp %u; expected %u, %d, %u\n",
		       compared->path, address, row->kind, row->offset, row->bp, wanted->kind,
		       wanted->offset, wanted->bp);
}

static void finish_row(struct compared *compared, uint64_t end)
{
	if (compared->has_row && end > compared->row_begin) {
		compare_at(compared, compared->row_begin);
		compare_at(compared, end - 1);
	}
	compared->has_row = false;
}

static void read_line(struct compared *compared, const char *line)
{
	const char *range = strstr(line, " FDE ");
	uint64_t address;
	int length = 0;

	if (range || strstr(line, " CIE") || strstr(line, "ZERO terminator")) {
		finish_row(compared, compared->end);
		compared->end = 0;
		range = range ? strstr(range, "pc=") : NULL;
		if (range)
			sscanf(range, "pc=%lx...%lx", &compared->begin, &compared->end);
	} else if (compared->end && sscanf(line, " 0x%lx: %n", &address, &length) == 1 && length) {
		finish_row(compared, address);
		compared->row_begin = address;
		compared->row = read_rules(line + length);
		compared->has_row = true;
	}
}

/* 0: there is no such file. */
static uint64_t compare_file(const char *path)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(pclose_p) FILE *dump = NULL;
	struct compared compared = { .path = path };
	char *line = NULL;
	size_t room = 0;
	char command[256];

	if (fd < 0)
		return 0;
	assert_int_equal(rows__compile(fd, &compared.rows), 0);
	assert_true(is_sane_table(&compared.rows));
	snprintf(command, sizeof(command), DUMP " --eh-frame %s 2>/dev/null", path);
	dump = popen(command, "r"); /* NOLINT: the paths are ours */
	assert_non_null(dump);
	while (getline(&line, &room, dump) > 0)
		read_line(&compared, line);
	free(line);
	printf("# %s: %lu rows, %lu hard; %lu addresses compared\n", path, compared.rows.row_count,
	       compared.rows.unsupported_count, compared.count);
	assert_int_equal(compared.differences, 0);
	assert_int_equal(compared.rows.broken_count, 0);
	rows__release(&compared.rows);
	return compared.count;
}

static void rows_are_what_another_reader_says(void **state)
{
	/* Further files may be named, separated by spaces. */
	const char *more = getenv("GAPLESS_TEST_FILES");
	static const char *const paths[] = {
		LIB "libc.so.6",   "/lib64/ld-linux-x86-64.so.2",
		"/bin/bash",       LIB "libcrypto.so.3",
		LIB "libssl.so.3", "/usr/bin/perl",
		"/usr/sbin/nginx", LIB "libm.so.6",
	};
	uint64_t count = 0;

	if (system("command -v " DUMP " >/dev/null 2>&1") != 0) { /* NOLINT */
		printf("# skip: " DUMP " is not installed\n");
		skip();
	}
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		count += compare_file(paths[i]);
	if (more) {
		cleanup(free_p) char *copy = strdup(more);

		for (char *path = strtok(copy, " "); path; path = strtok(NULL, " "))
			count += compare_file(path);
	}
	assert_true(count > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_what_another_reader_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
