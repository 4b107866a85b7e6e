/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules are those of arch/x86/kernel/uprobes.c: branch_setup_xol_ops() and
 * push_setup_xol_ops(). An instruction that is taken for a stepped one by mistake costs only a
 * wrong estimate.
 */
#include "symbol/instruction.h"

#include <stdbool.h>
#include <string.h>

#define ENDBR_BYTES 4
#define NOP5_BYTES  5

/* Measured on 6.18: a breakpoint and its return; a second trap in addition. */
#define EMULATED_NS 450
#define STEPPED_NS  5500

#if defined(__x86_64__)

static bool is_emulated(const uint8_t *code, size_t size)
{
	uint8_t first = code[0];

	/* push of a register; with a prefix, of r8 to r15 */
	if (first >= 0x50 && first <= 0x57)
		return true;
	if (first == 0x41)
		return size > 1 && code[1] >= 0x50 && code[1] <= 0x57;
	/* call, jmp, nop, conditional jumps */
	if (first == 0xe8 || first == 0xe9 || first == 0xeb || first == 0x90)
		return true;
	if (first >= 0x70 && first <= 0x7f)
		return true;
	return first == 0x0f && size > 1 && code[1] >= 0x80 && code[1] <= 0x8f;
}

enum instruction_cost instruction__cost(const uint8_t *code, size_t size)
{
	static const uint8_t nop5[NOP5_BYTES] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

	if (size >= NOP5_BYTES && !memcmp(code, nop5, NOP5_BYTES))
		return INSTRUCTION_NOP5;
	return size && is_emulated(code, size) ? INSTRUCTION_EMULATED : INSTRUCTION_STEPPED;
}

size_t instruction__skip(const uint8_t *code, size_t size)
{
	static const uint8_t endbr64[ENDBR_BYTES] = { 0xf3, 0x0f, 0x1e, 0xfa };

	/* With nothing behind it, there is no instruction for the probe. */
	return size > ENDBR_BYTES && !memcmp(code, endbr64, ENDBR_BYTES) ? ENDBR_BYTES : 0;
}

/*
 * What Go's compiler begins functions with. `mask` has the bits that are the same in all forms of
 * an instruction; an operand follows them.
 */
static const struct {
	uint8_t bytes[5], mask[5];
	uint8_t length, operand;
} saves[] = {
	/* cmp 0x10(%r14),%rsp; jbe: the stack is large enough */
	{ { 0x49, 0x3b, 0x66, 0x10, 0x76 }, { 0xff, 0xff, 0xff, 0xff, 0xff }, 5, 1 },
	/* sub $room,%rsp */
	{ { 0x48, 0x83, 0xec }, { 0xff, 0xff, 0xff }, 3, 1 },
	{ { 0x48, 0x81, 0xec }, { 0xff, 0xff, 0xff }, 3, 4 },
	/* mov %register,place(%rsp), of 64 and of 32 bits */
	{ { 0x48, 0x89, 0x44, 0x24 }, { 0xfb, 0xff, 0xc7, 0xff }, 4, 1 },
	{ { 0x48, 0x89, 0x84, 0x24 }, { 0xfb, 0xff, 0xc7, 0xff }, 4, 4 },
	{ { 0x89, 0x44, 0x24 }, { 0xff, 0xc7, 0xff }, 3, 1 },
	/* lea place(%rsp),%rbp */
	{ { 0x48, 0x8d, 0x6c, 0x24 }, { 0xff, 0xff, 0xff, 0xff }, 4, 1 },
	{ { 0x48, 0x8d, 0xac, 0x24 }, { 0xff, 0xff, 0xff, 0xff }, 4, 4 },
	/* bt $bit and cmp $number of %ebx or %ecx */
	{ { 0x0f, 0xba, 0xe1 }, { 0xff, 0xff, 0xfd }, 3, 1 },
	{ { 0x83, 0xf9 }, { 0xff, 0xfd }, 2, 1 },
};

/* The length of the instruction; 0: it is none of these. */
static size_t length_of_save(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < sizeof(saves) / sizeof(*saves); i++) {
		size_t length = saves[i].length, at = 0;

		while (at < length && at < size &&
		       (code[at] & saves[i].mask[at]) == saves[i].bytes[at])
			at++;
		if (at == length)
			return length + saves[i].operand;
	}
	return 0;
}

size_t instruction__skip_saves(const uint8_t *code, size_t size)
{
	size_t at = 0, length;

	while (at < size && instruction__cost(code + at, size - at) != INSTRUCTION_EMULATED) {
		length = length_of_save(code + at, size - at);
		if (!length)
			return 0;
		at += length;
	}
	return at < size ? at : 0;
}

#else

size_t instruction__skip_saves(const uint8_t *code, size_t size)
{
	return 0;
}

enum instruction_cost instruction__cost(const uint8_t *code, size_t size)
{
	return INSTRUCTION_STEPPED;
}

size_t instruction__skip(const uint8_t *code, size_t size)
{
	return 0;
}

#endif

uint64_t instruction__hit_ns(enum instruction_cost cost)
{
	return cost == INSTRUCTION_STEPPED ? STEPPED_NS : EMULATED_NS;
}
