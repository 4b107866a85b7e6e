/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the walk and user space agree on about frames of HotSpot (bpf/hotspot_walk.h). */
#pragma once

#include "bpf/stack.h"

/* The areas of struct runtime: the interpreter, then the heaps. */
#define HOTSPOT_INTERPRETED_AREA 0
#define HOTSPOT_FIRST_HEAP       1

/*
 * A frame of a blob has this bit in its cookie, and the rest is the number of the compilation, or
 * bits of the address of the blob's name if it is no method. Without it the object is a Method, and
 * the rest are bits of the address of its ConstMethod, divided by 8.
 */
#define HOTSPOT_OF_BLOB        (1U << (FRAME_COOKIE_BITS - 1))
#define HOTSPOT_COOKIE(number) ((__u32)(number) & (HOTSPOT_OF_BLOB - 1))

/* Positions in a method's bytecode are below the first one. */
#define HOTSPOT_MOST_INDEX 65536
#define HOTSPOT_NO_INDEX   0xffffffffU

#define HOTSPOT_MOST_STEPS   12 /* through the segment map; 2 are usual */
#define HOTSPOT_FREE_SEGMENT 0xff
#define HOTSPOT_MOST_BLOB    352 /* bytes to read: all fields of struct runtime_hotspot are there */
#define HOTSPOT_LEAST_BLOB   104
#define HOTSPOT_OFFSET_MASK  0x1ff
#define HOTSPOT_MOST_STUB    4096    /* bytes of a stub's frame */
#define HOTSPOT_MOST_FRAME   0x10000 /* words of a frame; more means that it is not told */

/* The Method, from 64 bytes below the frame pointer on. */
#define HOTSPOT_METHOD_WORD 5
