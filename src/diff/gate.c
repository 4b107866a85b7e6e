/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "diff/gate.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "diff/diff.h"

static const struct {
	const char *typed;
	double factor;
	const char *unit;
} units[] = {
	{ "ns", 1, "ns" },      { "us", 1e3, "ns" },    { "µs", 1e3, "ns" },
	{ "ms", 1e6, "ns" },    { "s", 1e9, "ns" },     { "kB", 1e3, "bytes" },
	{ "MB", 1e6, "bytes" }, { "GB", 1e9, "bytes" }, { "", 1, "" },
};
static const char *const measures[] = {
	"time", "count", "mean", "self", "waits", "rate", "failed"
};

static const char *skip_spaces(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

static char *trimmed(const char *from, const char *to)
{
	from = skip_spaces(from);
	while (to > from && isspace((unsigned char)to[-1]))
		to--;
	return to > from ? strndup(from, (size_t)(to - from)) : NULL;
}

/* Parses "p99(syscall:fsync)", or "wait.lock", which means its time. Names may contain '('. */
static int parse_metric(const char *from, const char *to, struct gate *gate)
{
	size_t word;
	const char *last = to;

	from = skip_spaces(from);
	while (last > from && isspace((unsigned char)last[-1]))
		last--;
	word = strspn(from, "abcdefghijklmnopqrstuvwxyz0123456789");
	if (word && from + word < last && from[word] == '(' && last[-1] == ')') {
		gate->measure = strndup(from, word);
		gate->name = trimmed(from + word + 1, last - 1);
	} else {
		gate->measure = strdup("time");
		gate->name = trimmed(from, last);
	}
	if (!gate->measure || !gate->name)
		return -EINVAL;
	/* A misspelled measure would make a gate that is never crossed. */
	for (size_t i = 0; i < sizeof(measures) / sizeof(*measures); i++)
		if (!strcmp(gate->measure, measures[i]))
			return 0;
	for (int i = 0; i < PERCENTILES; i++)
		if (!strcmp(gate->measure, percentiles__words(i)->key))
			return 0;
	return -EINVAL;
}

static int parse_bound(const char *text, struct gate *gate)
{
	char *end, *unit;
	double number;

	text = skip_spaces(text);
	gate->relative = *text == '+' || *text == '-';
	if (!isdigit((unsigned char)text[gate->relative]))
		return -EINVAL;
	number = strtod(text, &end);
	unit = trimmed(end, end + strlen(end));
	gate->percent = unit && !strcmp(unit, "%");
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit ? unit : "", units[i].typed) && !gate->percent)
			continue;
		free(unit);
		gate->unit = units[i].unit;
		gate->bound = gate->percent ? number / 100 : number * units[i].factor;
		/* A percentage is relative to the base, so it needs a sign. */
		return !isfinite(gate->bound) || (gate->percent && !gate->relative) ? -EINVAL : 0;
	}
	free(unit);
	return -EINVAL;
}

int gate__parse(const char *text, struct gate *ret)
{
	/* C++ names contain '<' and '>', so the last one is the operator. */
	const char *sign = strrchr(text, '>'), *less = strrchr(text, '<');
	int err;

	*ret = (struct gate) { .text = text, .probability = NAN };
	if (less > sign)
		sign = less;
	if (!sign)
		return -EINVAL;
	ret->above = *sign == '>';
	err = parse_metric(text, sign, ret);
	if (!err)
		err = parse_bound(sign + 1, ret);
	if (err)
		gate__release(ret);
	return err;
}

void gate__release(struct gate *gate)
{
	free(gate->measure);
	free(gate->name);
	gate->measure = gate->name = NULL;
}

bool gate__fits(const struct gate *gate, const char *unit)
{
	bool is_number = strcmp(unit, "ns") && strcmp(unit, "bytes");

	return gate->percent || gate->bound == 0 || !strcmp(gate->unit, is_number ? "" : unit);
}

/*
 * The bound takes the place of the base, so the test is whether the new mean is above or below it.
 */
void gate__judge(struct gate *gate, const struct diff *diff)
{
	const struct diff_change *change = gate->change;
	double factor = !gate->relative ? 0 : gate->percent ? 1 + gate->bound : 1;
	double offset = gate->percent ? 0 : gate->bound;
	double bound = (factor ? change->sides[DIFF_BASE].mean * factor : 0) + offset;
	struct stats base, new;

	if (!change->sides[DIFF_NEW].count || (gate->relative && !change->sides[DIFF_BASE].count))
		return;
	gate->crossed = gate->above ? change->sides[DIFF_NEW].mean > bound
				    : change->sides[DIFF_NEW].mean < bound;
	if (!diff->enough)
		return;
	new = noise__logarithms(diff, change, DIFF_NEW, 1, 0);
	base = noise__logarithms(diff, change, gate->relative ? DIFF_BASE : DIFF_NEW, factor,
				 offset);
	if (!gate->relative)
		base.variance = 0;
	gate->probability = gate->above ? stats__above(&base, &new) : stats__above(&new, &base);
	gate->crossed = gate->crossed && gate->probability * (double)diff->gate_count < DIFF_ALPHA;
}
