/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine that gapless runs on: a header for each architecture, with the same names. This is
 * all that the kernel half and the stack walk know of a machine. x86_64.h explains the names;
 * src/meson.build refuses an architecture without a header.
 */
#pragma once

#if defined(__TARGET_ARCH_x86) || defined(__x86_64__)
#include "bpf/arch/x86_64.h"
#elif defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#include "bpf/arch/aarch64.h"
#else
#error "no header for this architecture in src/bpf/arch"
#endif
