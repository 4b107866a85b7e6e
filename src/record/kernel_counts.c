/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/kernel_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/sys.h"
#include "record/quality.h"
#include "vocabulary/roles.h"

#define STATE_SYN_SENT 2

DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/*
 * True for a whole disk with a request queue (loop devices too) whose statistics are on. Device
 * mapper and md use bios, which the kernel counts differently.
 */
static bool is_disk(const char *name)
{
	char path[128], value[8];

	snprintf(path, sizeof(path), "/sys/block/%.60s/mq", name);
	if (!sys__exists(path))
		return false;
	snprintf(path, sizeof(path), "/sys/block/%.60s/queue/iostats", name);
	return !sys__read_line(path, value, sizeof(value)) && !strcmp(value, "1");
}

static void read_disks(struct kernel_counts *counts)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/diskstats", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		int64_t reads = 0, writes = 0, under_way = 0, discards = 0;
		char name[64];

		if (sscanf(line,
			   "%*d %*d %63s %" SCNd64 " %*d %*d %*d %" SCNd64 " %*d %*d %*d %" SCNd64
			   " %*d %*d %" SCNd64,
			   name, &reads, &writes, &under_way, &discards) < 4 ||
		    !is_disk(name))
			continue;
		counts->requests += reads + writes + discards;
		counts->in_flight += under_way;
	}
}

/* The first line that begins with "Tcp:" has the names, the second the values. */
static void read_snmp(struct kernel_counts *counts)
{
	cleanup(fclose_p) FILE *file = fopen("/proc/self/net/snmp", "re");
	char names[1024] = "", values[1024] = "", *name, *value, *next_name, *next_value;

	while (file && fgets(names, sizeof(names), file))
		if (!strncmp(names, "Tcp:", 4) && fgets(values, sizeof(values), file))
			break;
	name = strtok_r(names, " \n", &next_name);
	value = strtok_r(values, " \n", &next_value);
	while (name && value) {
		if (!strcmp(name, "ActiveOpens"))
			counts->connects = strtoll(value, NULL, 10);
		else if (!strcmp(name, "RetransSegs"))
			counts->retransmits = strtoll(value, NULL, 10);
		name = strtok_r(NULL, " \n", &next_name);
		value = strtok_r(NULL, " \n", &next_value);
	}
}

/* Sockets whose connect() has not finished. */
static int64_t count_connecting(const char *path)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	int64_t count = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		unsigned int state;

		if (sscanf(line, "%*s %*s %*s %x", &state) == 1 && state == STATE_SYN_SENT)
			count++;
	}
	return count;
}

void kernel_counts__read(struct kernel_counts *ret)
{
	*ret = (struct kernel_counts) {};
	read_disks(ret);
	read_snmp(ret);
	ret->connecting =
		count_connecting("/proc/self/net/tcp") + count_connecting("/proc/self/net/tcp6");
}

/* In sysfs, a partition is a directory below its disk. */
static bool is_on_disk(const char *place)
{
	char path[160], whole[64];
	size_t length;

	if (is_disk(place))
		return true;
	snprintf(whole, sizeof(whole), "%s", place);
	for (length = strlen(whole); length > 1; length--) {
		whole[length - 1] = '\0';
		snprintf(path, sizeof(path), "/sys/block/%s/%.60s", whole, place);
		if (sys__exists(path))
			return is_disk(whole);
	}
	return false;
}

/* The number of these operations that the signal of a role counted; -1: it is not recorded. */
static int64_t counted(struct recording *recording, enum role role, const char *operations)
{
	sqlite3 *db = recording__db(recording);
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int64_t sum = 0;
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT coalesce(s.place, ''), coalesce(sum(c.count), 0) FROM signal g LEFT JOIN "
		 "series s ON s.signal = g.id AND s.operation IN (%s) LEFT JOIN series_slice c ON "
		 "c.series = s.id WHERE g.role = '%s' GROUP BY 1",
		 operations, roles__name(role));
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) || sqlite3_step(row) != SQLITE_ROW)
		return -1;
	do {
		const char *place = (const char *)sqlite3_column_text(row, 0);

		if (role != ROLE_DISKS || (place && is_on_disk(place)))
			sum += sqlite3_column_int64(row, 1);
	} while (sqlite3_step(row) == SQLITE_ROW);
	return sum;
}

/* The losses that the signal of a role counted itself. */
static int64_t lost(struct recording *recording, enum role role)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;

	if (sqlite3_prepare_v2(recording__db(recording),
			       "SELECT sum(q.value) FROM quality q JOIN signal g ON g.role = ?1 "
			       "AND q.name IN (g.name || '_unpaired', g.name || '_untracked')",
			       -1, &row, NULL))
		return 0;
	sqlite3_bind_text(row, 1, roles__name(role), -1, SQLITE_STATIC);
	return sqlite3_step(row) == SQLITE_ROW ? sqlite3_column_int64(row, 0) : 0;
}

/* Writes one comparison. Returns the number of events that are missing without explanation. */
static int64_t hold(json_t *object, const char *name, int64_t kernel, int64_t counted_here,
		    int64_t explained)
{
	int64_t missing = kernel - counted_here - explained;

	json_object_set_new(object, name,
			    json_pack("{s:I, s:I, s:I}", "kernel", (json_int_t)kernel, "counted",
				      (json_int_t)counted_here, "explained",
				      (json_int_t)explained));
	return missing > 0 ? missing : 0;
}

static int write_block(struct recording *recording, json_t *object,
		       const struct kernel_counts *begin, const struct kernel_counts *end)
{
	/* A write without data is a flush to the signal, but a write to the kernel. */
	int64_t requests = counted(recording, ROLE_DISKS,
				   "'read', 'write', 'discard', 'flush', 'other',"
				   " 'limited read', 'limited write'");
	int64_t missing;

	if (requests < 0)
		return 0;
	/* The signal saw only the end of requests that were in flight at the start. */
	missing = hold(object, "block_requests", end->requests - begin->requests, requests,
		       begin->in_flight + lost(recording, ROLE_DISKS));
	return quality__write(recording, COUNTER_BLOCK_UNCOUNTED, missing);
}

static int write_tcp(struct recording *recording, json_t *object, const struct kernel_counts *begin,
		     const struct kernel_counts *end)
{
	int64_t connects = counted(recording, ROLE_CONNECTIONS, "'connect'");
	int64_t missing;

	if (connects < 0)
		return 0;
	/* The kernel counts a connect when it begins, the signal when it ends. */
	missing = hold(object, "tcp_connects", end->connects - begin->connects, connects,
		       end->connecting + lost(recording, ROLE_CONNECTIONS));
	missing += hold(object, "tcp_retransmits", end->retransmits - begin->retransmits,
			counted(recording, ROLE_CONNECTIONS, "'retransmit'"),
			lost(recording, ROLE_CONNECTIONS));
	return quality__write(recording, COUNTER_TCP_UNCOUNTED, missing);
}

int kernel_counts__write(struct recording *recording, const struct kernel_counts *begin,
			 const struct kernel_counts *end)
{
	cleanup(free_p) char *text = NULL;
	json_t *object = json_object();
	int err = write_block(recording, object, begin, end);

	if (!err)
		err = write_tcp(recording, object, begin, end);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	if (err)
		return err;
	return text ? recording__set_text(recording, "kernel_counts", text) : -ENOMEM;
}
