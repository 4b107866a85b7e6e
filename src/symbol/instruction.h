/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a probe on an instruction costs. The kernel emulates some instructions behind a breakpoint.
 * It executes the others elsewhere, one by one with a second trap, which costs ten times as much.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum instruction_cost {
	INSTRUCTION_EMULATED,
	INSTRUCTION_NOP5, /* emulated; kernels from 6.18 on replace it by a call */
	INSTRUCTION_STEPPED,
};

/* Of the instruction at `code`. */
enum instruction_cost instruction__cost(const uint8_t *code, size_t size);

/*
 * How many bytes at the entry of a function to skip, so that the probe is cheaper: those of
 * endbr64, which changes nothing, so that the registers and the stack are still as at the entry.
 */
size_t instruction__skip(const uint8_t *code, size_t size);

/*
 * How many bytes to skip at the entry of a function of Go, so that a probe is cheaper and its first
 * three arguments are still in their registers: those that make room on the stack and save
 * registers there. The stack is not as at the entry any more. 0: none, or it is not known.
 */
size_t instruction__skip_saves(const uint8_t *code, size_t size);

/* About what one hit of a probe on it costs, without the BPF program. */
uint64_t instruction__hit_ns(enum instruction_cost cost);
