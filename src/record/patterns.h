/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folds paths that differ in few places into patterns: "/srv/t1.html" and "/srv/t2.html" into
 * "/srv/t*.html"; the same name in many folders into "/opt/app/" then "*" then "/libplugin.so", or,
 * if the folders have different depths, with "**" for any number of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Patterns beyond this number, the least frequent ones, become PATTERNS_OTHER. */
#define PATTERNS_MOST  20
#define PATTERNS_OTHER "other"

struct pattern {
	char *text;
	int64_t count; /* sum of the counts of its paths */
	int64_t paths; /* how many different ones */
};

struct patterns {
	struct pattern *list;
	size_t count;
	uint32_t *of; /* the number of each path's pattern */
};

struct pattern_path {
	const char *path;
	int64_t count;
};

/* The paths must differ from each other. -ENOMEM. The caller releases *ret. */
int patterns__fold(const struct pattern_path *paths, size_t count, struct patterns *ret);
void patterns__release(struct patterns *patterns);
