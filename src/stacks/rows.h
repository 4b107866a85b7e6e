/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row compiler: turns .eh_frame (or .debug_frame, or Go's own table) of one ELF file into the
 * tables of bpf/unwind.h. Never logs. The input is untrusted: a hostile file causes an error, never
 * a crash.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct rows {
	struct unwind_page *block_pages; /* key: UNWIND_KEY(module, i) */
	size_t block_page_count;
	struct unwind_page *row_pages; /* key: UNWIND_KEY(module, UNWIND_ROWS | i) */
	size_t row_page_count;
	uint64_t row_count;
	uint64_t unsupported_count; /* rows with an unsupported rule (UNWIND_UNSUPPORTED) */
	uint64_t broken_count;      /* invalid FDEs or Go functions, blocks with too many rows */
};

/*
 * -ENOEXEC: not an ELF file of this machine; -ENODATA: no FDEs; -EFBIG: above the limits in rows.c;
 * -ENOMEM. *ret belongs to the caller: rows__release().
 */
int rows__compile(int fd, struct rows *ret);
/* The same for an ELF image in memory (the vDSO). */
int rows__compile_image(const void *image, size_t size, struct rows *ret);
void rows__release(struct rows *rows);
