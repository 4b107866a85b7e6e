/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/usdt.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#define NOTE_NAME "stapsdt"
#define NOTE_TYPE 3
#define ADDRESSES 3

static size_t padded(size_t size)
{
	return (size + 3) / 4 * 4;
}

/* The text at *at, which ends before `end`; NULL: it does not. */
static const char *take_text(const char **at, const char *end)
{
	const char *text = *at, *nul = memchr(text, '\0', (size_t)(end - text));

	if (!nul)
		return NULL;
	*at = nul + 1;
	return text;
}

static bool read_probe(const uint8_t *words, size_t size, struct usdt_note *ret)
{
	const char *at = (const char *)words + ADDRESSES * sizeof(uint64_t);
	const char *end = (const char *)words + size;
	struct usdt_note note = {};
	uint64_t addresses[ADDRESSES];

	if (size < sizeof(addresses))
		return false;
	memcpy(addresses, words, sizeof(addresses));
	note.address = addresses[0];
	note.base = addresses[1];
	note.semaphore = addresses[2];
	note.provider = take_text(&at, end);
	note.name = note.provider ? take_text(&at, end) : NULL;
	note.arguments = note.name ? take_text(&at, end) : NULL;
	if (!note.arguments || !*note.provider || !*note.name)
		return false;
	*ret = note;
	return true;
}

int usdt__next(const uint8_t *notes, size_t size, size_t *at, struct usdt_note *ret)
{
	size_t name, words, next;
	Elf64_Nhdr head;

	if (*at > size || size - *at < sizeof(head))
		return -ENODATA;
	memcpy(&head, notes + *at, sizeof(head));
	name = *at + sizeof(head);
	if (head.n_namesz > size - name)
		return -ENODATA;
	words = name + padded(head.n_namesz);
	if (words > size || head.n_descsz > size - words)
		return -ENODATA;
	next = words + padded(head.n_descsz);
	*at = next > size ? size : next;
	return head.n_type == NOTE_TYPE && head.n_namesz == sizeof(NOTE_NAME) &&
	       !memcmp(notes + name, NOTE_NAME, sizeof(NOTE_NAME)) &&
	       read_probe(notes + words, head.n_descsz, ret);
}

/* --- arguments -------------------------------------------------------------------------------- */

#if defined(__x86_64__)

/* The names of the 8, 4, 2 and 1 lowest bytes. struct user_regs_struct begins as pt_regs does. */
static const struct {
	const char *names[4];
	uint16_t at;
} registers[] = {
#define AT(field) offsetof(struct user_regs_struct, field)
	{ { "rax", "eax", "ax", "al" }, AT(rax) },
	{ { "rbx", "ebx", "bx", "bl" }, AT(rbx) },
	{ { "rcx", "ecx", "cx", "cl" }, AT(rcx) },
	{ { "rdx", "edx", "dx", "dl" }, AT(rdx) },
	{ { "rsi", "esi", "si", "sil" }, AT(rsi) },
	{ { "rdi", "edi", "di", "dil" }, AT(rdi) },
	{ { "rbp", "ebp", "bp", "bpl" }, AT(rbp) },
	{ { "rsp", "esp", "sp", "spl" }, AT(rsp) },
	{ { "r8", "r8d", "r8w", "r8b" }, AT(r8) },
	{ { "r9", "r9d", "r9w", "r9b" }, AT(r9) },
	{ { "r10", "r10d", "r10w", "r10b" }, AT(r10) },
	{ { "r11", "r11d", "r11w", "r11b" }, AT(r11) },
	{ { "r12", "r12d", "r12w", "r12b" }, AT(r12) },
	{ { "r13", "r13d", "r13w", "r13b" }, AT(r13) },
	{ { "r14", "r14d", "r14w", "r14b" }, AT(r14) },
	{ { "r15", "r15d", "r15w", "r15b" }, AT(r15) },
#undef AT
};

static bool find_register(const char *name, size_t length, uint16_t *ret)
{
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		for (size_t j = 0; j < 4; j++)
			if (strlen(registers[i].names[j]) == length &&
			    !strncmp(registers[i].names[j], name, length)) {
				*ret = registers[i].at;
				return true;
			}
	return false;
}

/* "$7", "%rdi", "-20(%rbp)", "(%rax)". Others, such as those relative to %rip, are not supported.
 */
static void parse_place(const char *place, struct usdt_argument *ret)
{
	bool is_memory = false;
	char *end = (char *)place;

	if (*place == '$') {
		ret->value = (int64_t)strtoll(place + 1, &end, 0);
		ret->kind = end > place + 1 && !*end ? USDT_CONSTANT : USDT_UNKNOWN;
		return;
	}
	if (*place != '%') {
		ret->value = (int64_t)strtoll(place, &end, 0);
		if (end[0] != '(' || end[1] != '%')
			return;
		is_memory = true;
		place = end + 1;
	}
	place++;
	end = (char *)place + strcspn(place, "),");
	if (strcmp(end, is_memory ? ")" : "") != 0 ||
	    !find_register(place, (size_t)(end - place), &ret->register_at))
		return;
	ret->kind = is_memory ? USDT_MEMORY : USDT_REGISTER;
}

#else

static void parse_place(const char *place, struct usdt_argument *ret)
{
}

#endif

static void parse_argument(const char *word, struct usdt_argument *ret)
{
	int bytes, length = 0;

	*ret = (struct usdt_argument) {};
	/* A size of 0 or a form of float is not supported. */
	if (sscanf(word, "%2d@%n", &bytes, &length) != 1 || !length)
		return;
	ret->is_signed = bytes < 0;
	bytes = bytes < 0 ? -bytes : bytes;
	if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8)
		return;
	ret->bytes = (uint8_t)bytes;
	parse_place(word + length, ret);
}

size_t usdt__arguments(const char *text, struct usdt_argument ret[USDT_MOST_ARGUMENTS])
{
	size_t count = 0;

	while (count < USDT_MOST_ARGUMENTS) {
		char word[128];
		size_t length;

		text += strspn(text, " ");
		length = strcspn(text, " ");
		if (!length)
			break;
		snprintf(word, sizeof(word), "%.*s", (int)(length < 128 ? length : 127), text);
		parse_argument(word, &ret[count++]);
		text += length;
	}
	return count;
}
