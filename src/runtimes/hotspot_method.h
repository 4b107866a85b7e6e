/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of one method of HotSpot, and the numbers of its compressed tables. */
#pragma once

#include "runtimes/hotspot.h"

/* Bytes of a stream of numbers that have been read. */
struct hotspot_numbers {
	const unsigned char *bytes;
	size_t size, at;
	uint32_t least; /* of a byte: hotspot_numbers__least() */
};

uint32_t hotspot_numbers__least(const struct hotspot *hotspot);
/* false: the bytes end before the number does. */
bool hotspot_numbers__next(struct hotspot_numbers *numbers, uint32_t *ret);

/* A Method, and what its names are read from. */
struct hotspot_method {
	uint64_t constant, pool, holder;
};

int hotspot_method__open(struct subject *subject, uint64_t address, struct hotspot_method *ret);
/* `index`: in the bytecode; HOTSPOT_NO_INDEX if it is not known. */
int hotspot_method__add(struct subject *subject, const struct hotspot_method *method,
			uint64_t index, struct runtime_names *names);

/* A text in the constant pool of a class; the name of a class, as the language has it. */
int hotspot_method__constant(struct subject *subject, uint64_t pool, uint64_t index, char *to,
			     size_t size);
int hotspot_method__class(struct subject *subject, uint64_t class, char *to, size_t size);
