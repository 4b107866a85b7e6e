/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "windows_checks.h"

#include "../harness.h"

#include <inttypes.h>
#include <stdio.h>

int64_t windows__count(const char *path, const char *column, const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT ifnull(sum(b.%s), 0) FROM window_band b JOIN window_class c"
		 " ON c.id = b.class WHERE %s",
		 column, where);
	return trial__ask(path, sql);
}

/* Of times `t` with the class `c` and the state `s`. */
static int64_t sum_of_times(const char *path, const char *ns, const char *part, const char *where)
{
	char sql[768];

	snprintf(sql, sizeof(sql),
		 "SELECT ifnull(sum(%s), 0) FROM window_time t JOIN window_class c"
		 " ON c.id = t.class LEFT JOIN state s ON s.id = t.state WHERE (%s) AND (%s)",
		 ns, part, where);
	return trial__ask(path, sql);
}

int64_t windows__part_ns(const char *path, const char *where, const char *part)
{
	char is_part[64];

	snprintf(is_part, sizeof(is_part), "t.part = '%s'", part);
	return sum_of_times(path, "t.ns", is_part, where);
}

int64_t windows__state_ns(const char *path, const char *where, const char *state)
{
	char is_state[256];

	snprintf(is_state, sizeof(is_state), "t.part = 'own' AND (%s)", state);
	return sum_of_times(path, "t.ns", is_state, where);
}

int64_t windows__length_ns(const char *path, const char *where)
{
	return sum_of_times(path, "CASE t.part WHEN 'overlap' THEN -t.ns ELSE t.ns END", "1",
			    where);
}

#define LENGTH "(w.end_ns - w.ready_ns)"
#define PARTS                                                                                      \
	"ifnull((SELECT sum(CASE p.part WHEN 'overlap' THEN -p.ns ELSE p.ns END)"                  \
	" FROM window_part p WHERE p.window = w.id), 0)"
#define COUNTED "(SELECT sum(b.count) FROM window_band b WHERE b.class = c.id)"
#define KEPT    "(SELECT count(*) FROM window w WHERE w.class = c.id AND w.has_details)"
#define LENGTHS "(SELECT sum" LENGTH " FROM window w WHERE w.class = c.id)"
#define TIMES                                                                                      \
	"(SELECT sum(CASE t.part WHEN 'overlap' THEN -t.ns ELSE t.ns END) FROM window_time t"      \
	" WHERE t.class = c.id)"
#define WEIGHTS "(SELECT ifnull(sum(w.weight), 0) FROM window w WHERE w.class = c.id)"

/* No row may answer. */
static void assert_none(const char *path, const char *what, const char *from_where)
{
	char sql[1024];
	int64_t count;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", from_where);
	count = trial__ask(path, sql);
	if (count)
		fail_msg("%s: %" PRId64 " of them in '%s'", what, count, path);
}

void assert_windows_add_up(const char *path)
{
	assert_none(path, "windows whose parts do not add up",
		    "window w WHERE w.has_details AND " LENGTH " <> " PARTS);
	assert_none(path, "classes whose weights do not add up",
		    "window_class c WHERE abs(" WEIGHTS " - ifnull(" COUNTED ", 0)) > 0.001");
	assert_none(path, "classes whose sums are not those of their windows",
		    "window_class c WHERE " COUNTED " = " KEPT " AND " LENGTHS " <> " TIMES);
	assert_none(path, "counters of lost windows",
		    "quality WHERE value > 0 AND name IN ('windows_lost', 'windows_remainder',"
		    " 'windows_sockets_lost', 'windows_unsent', 'windows_resync')");
	if (trial__ask(path, "SELECT count(*) FROM quality WHERE name = 'windows_lost'") != 1)
		fail_msg("'%s' has no counters of windows", path);
}

void assert_windows(const char *path, const char *column, const char *where, int64_t least,
		    int64_t most)
{
	int64_t is = windows__count(path, column, where);

	if (is < least || is > most)
		fail_msg("%s: %" PRId64 ", not %" PRId64 " to %" PRId64, where, is, least, most);
}
