/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Probes at places in programs, libraries and the kernel, within a budget: tried before they stay,
 * and detached if they cost too much. The cookie of a probe is its number plus 1; 0 is that of the
 * calibration. All functions log.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/uprobe_cost.h"
#include "core/uprobes.h"

struct probe {
	const struct uprobe_site *site;
	const char *name; /* in messages */
	bool has_return;  /* a second probe is at the return */
	struct bpf_link *entry, *back;
	uint64_t hits, lately; /* in all, and when looked at last */
	uint64_t *by_cpu;      /* the same */
	uint64_t lost_ns;      /* lately, at most */
	bool is_out;           /* too expensive, or it cannot be attached */
};

/* The caller sets the names and the budget; everything else is 0 at first. */
struct probe_set {
	const char *program;   /* at the entry */
	const char *at_return; /* NULL: there is none */
	const char *hits;      /* the map of hits by cookie and CPU, which `program` counts */
	bool all_or_none;      /* the probes are useless if one of them is left out */
	uint32_t budget_ppm;   /* of a CPU's time, for all hits; 0: no limit */
	struct probe probes[UPROBES_MOST];
	size_t count;
	uint64_t since_ns;
	struct uprobe_cost cost;
};

/*
 * Adds a probe; the caller keeps `site` and `name`. False: the kernel may damage the program there,
 * or there is no more room.
 */
bool probe_set__add(struct probe_set *set, const struct uprobe_site *site, const char *name,
		    bool has_return);

/* Attaches those that are not hit too often. -EDQUOT: none of them stays. */
int probe_set__attach(struct probe_set *set, const struct bpf_object *object);
void probe_set__detach(struct probe_set *set);

/* Call this once a second: detaches what has become too expensive; says at last what it cost. */
int probe_set__hold(struct probe_set *set, const struct bpf_object *object, bool is_last);

/* How many were left out: too expensive, or they could not be attached. */
uint64_t probe_set__left_out(const struct probe_set *set);

/* Detaches and forgets all probes. */
void probe_set__clear(struct probe_set *set);
