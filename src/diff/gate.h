/*
 * Conditions that a build can fail by: "p99(syscall:fsync) > +10%". A sign makes it a bound of the
 * change, no sign one of the new value itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct diff;
struct diff_change;

struct gate {
	const char *text; /* as typed */
	char *measure, *name;
	bool above;    /* '>': crossed by more */
	bool relative; /* of the change: */
	bool percent;
	double bound;     /* in the metric's unit, or a part of the base's mean */
	const char *unit; /* what that was typed in: "ns", "bytes", "": a plain number */

	const struct diff_change *change; /* what it is about, found by name and measure */
	double probability;               /* that it is not crossed; NaN: not known */
	bool crossed;
};

/* -EINVAL: not a condition. */
int gate__parse(const char *text, struct gate *ret);
void gate__release(struct gate *gate);
/* Whether its bound can be one of a metric in this unit; a percentage and 0 can be of any. */
bool gate__fits(const struct gate *gate, const char *unit);
/*
 * Judges it by `gate->change`. With enough recordings it is crossed if that is more than chance,
 * for as many gates as there are; else if the means say so.
 */
void gate__judge(struct gate *gate, const struct diff *diff);
