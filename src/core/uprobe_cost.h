/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a hit of a probe costs on this machine, measured with functions of gapless itself. */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

/* The trap and a BPF program that the filter ends. */
struct uprobe_cost {
	uint64_t entry_ns;   /* the instruction is emulated */
	uint64_t return_ns;  /* in addition, if the return is probed too */
	uint64_t stepped_ns; /* like entry_ns, if it is executed by itself */
};

/*
 * Attaches the programs, with the cookie 0, to functions that it then calls. `at_return`: NULL if
 * there is none. Takes some milliseconds. What cannot be measured is estimated.
 */
void uprobe_cost__measure(const struct bpf_object *object, const char *program,
			  const char *at_return, struct uprobe_cost *ret);

/* Of a hit that is recorded. `cost`: enum instruction_cost. */
uint64_t uprobe_cost__of_hit(const struct uprobe_cost *cost, uint32_t instruction, bool has_return);

/* Whether this kernel replaces nops of 5 bytes by calls: since 6.18. */
bool uprobe_cost__optimizes_nops(void);
