/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, read through a descriptor of its /proc/PID/mem. Whoever has the
 * descriptor needs no privileges. After the process has ended or executed another program, every
 * read fails. All of it is untrusted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct remote;

/* Takes over `fd`, also on error. */
int remote__new(int fd, struct remote **ret);
void remote__free(struct remote *memory);

/* Reads all of `size` bytes. -EFAULT: some are not there; then the content of `to` is undefined. */
int remote__read(struct remote *memory, uint64_t address, void *to, size_t size);
int remote__read_u64(struct remote *memory, uint64_t address, uint64_t *ret);
int remote__read_u32(struct remote *memory, uint64_t address, uint32_t *ret);

/* The number of bytes up to a NUL, at most `size` − 1, which are copied with a NUL behind them. */
int remote__read_text(struct remote *memory, uint64_t address, char *to, size_t size);

/* The number of reads so far, for tests of what a name costs. */
uint64_t remote__reads(const struct remote *memory);
