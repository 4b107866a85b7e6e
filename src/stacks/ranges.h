/* Where the files of one process are mapped: ranges that ascend and do not overlap. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

struct range {
	uint64_t begin, end;
	uint64_t address; /* the address that the ELF file has for `begin` */
	uint32_t module;
};

/* All zeroes is empty. */
struct ranges {
	struct range *list;
	size_t count, capacity;
};

void ranges__release(struct ranges *ranges);
int ranges__copy(const struct ranges *from, struct ranges *ret);

/*
 * Puts a range where others may have been; those are cut. Module 0 only cuts. Neighbours that go
 * on where the other one ends become one. -EINVAL: the tables have no room for such addresses;
 * -ENOSPC: more than anyone needs; -ENOMEM.
 */
int ranges__put(struct ranges *ranges, const struct range *range);

const struct range *ranges__find(const struct ranges *ranges, uint64_t address);

/* As the kernel half knows them. false: there are more than fit: those between the first, the
 * program, and the last are left out. */
bool ranges__fill(const struct ranges *ranges, struct unwind_process *ret);
