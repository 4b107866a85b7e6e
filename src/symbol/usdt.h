/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes that a program declares (USDT): the notes in .note.stapsdt, and their arguments. The input
 * is untrusted and may be hostile. Nothing here allocates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define USDT_MOST_ARGUMENTS 6

enum usdt_argument_kind {
	USDT_UNKNOWN,  /* in a form that is not supported */
	USDT_CONSTANT, /* `value` */
	USDT_REGISTER,
	USDT_MEMORY, /* at `value` behind the address in a register */
};

/* Where the value of an argument is when the probe is hit. */
struct usdt_argument {
	uint8_t kind;      /* enum usdt_argument_kind */
	uint8_t bytes;     /* of the value: 1, 2, 4, 8 */
	uint8_t is_signed; /* else, unsigned */
	uint8_t pad;
	uint16_t register_at; /* offset of the register in the kernel's struct pt_regs */
	uint16_t pad2;
	int64_t value;
};

/* One note. The strings point into it. */
struct usdt_note {
	uint64_t address;   /* of the probe's instruction, as it was linked */
	uint64_t base;      /* the address of .stapsdt.base when it was linked */
	uint64_t semaphore; /* its address; 0: none */
	const char *provider, *name, *arguments;
};

/*
 * Reads the note at *at and advances *at past it. 1: *ret is a probe; 0: it is another note, or a
 * broken one; -ENODATA: there are no more.
 */
int usdt__next(const uint8_t *notes, size_t size, size_t *at, struct usdt_note *ret);

/*
 * Parses "8@%rdi -4@-20(%rbp) 4@$7". Returns the number of arguments, at most
 * USDT_MOST_ARGUMENTS; further ones are left out.
 */
size_t usdt__arguments(const char *text, struct usdt_argument ret[USDT_MOST_ARGUMENTS]);
