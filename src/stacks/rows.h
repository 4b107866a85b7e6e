/*
 * The row compiler: .eh_frame (or .debug_frame, or Go's own table) of one ELF file into the tables
 * of bpf/unwind.h.
 * Never logs. What it reads is foreign and may be hostile: it costs an error, never a crash.
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
	uint64_t hard_count;   /* of them, rules that are not followed (UNWIND_HARD) */
	uint64_t broken_count; /* descriptions that made no sense and were left out */
};

/*
 * -ENOEXEC: not an ELF file of this machine; -ENODATA: it has no descriptions; -EFBIG: too large
 * for the limits stated in rows.c; -ENOMEM. *ret belongs to the caller: rows__release().
 */
int rows__compile(int fd, struct rows *ret);
/* The same for an ELF image in memory (the vDSO). */
int rows__compile_image(const void *image, size_t size, struct rows *ret);
void rows__release(struct rows *rows);
