/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions that fail a build: "p99(syscall:fsync) > +10%". With a sign, the bound applies to the
 * change; without one, to the new value itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct diff;
struct diff_change;

struct gate {
	const char *text; /* as typed */
	char *measure, *name;
	bool above;    /* '>': crossed if the value is larger */
	bool relative; /* the bound applies to the change */
	bool percent;
	double bound;     /* in the metric's unit, or as a share of the base's mean */
	const char *unit; /* unit of the bound: "ns", "bytes", "": a plain number */

	const struct diff_change *change; /* found by name and measure */
	double probability;               /* that it is not crossed; NaN: unknown */
	bool crossed;
};

/* -EINVAL: the text is not a condition. */
int gate__parse(const char *text, struct gate *ret);
void gate__release(struct gate *gate);
/* Whether the bound can apply to a metric in this unit. A percentage and 0 fit any unit. */
bool gate__fits(const struct gate *gate, const char *unit);
/*
 * Judges the gate by `gate->change`. With enough recordings, it is crossed if the difference is
 * more than chance, corrected for the number of gates. With fewer, the means decide.
 */
void gate__judge(struct gate *gate, const struct diff *diff);
