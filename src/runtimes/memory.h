/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, read through a descriptor of its /proc/PID/mem. Whoever has the
 * descriptor needs no privileges. After the process has ended or executed another program, every
 * read fails. All of it is untrusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct memory;

/* Takes over `fd`, also on error. */
int memory__new(int fd, struct memory **ret);
void memory__free(struct memory *memory);

/* Reads all of `size` bytes. -EFAULT: some are not there; then the content of `to` is undefined. */
int memory__read(struct memory *memory, uint64_t address, void *to, size_t size);
int memory__read_u64(struct memory *memory, uint64_t address, uint64_t *ret);
int memory__read_u32(struct memory *memory, uint64_t address, uint32_t *ret);

/* The number of bytes up to a NUL, at most `size` − 1, which are copied with a NUL behind them. */
int memory__read_text(struct memory *memory, uint64_t address, char *to, size_t size);

/* The number of reads so far, for tests of what a name costs. */
uint64_t memory__reads(const struct memory *memory);
