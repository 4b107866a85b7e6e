/* SPDX-License-Identifier: GPL-2.0-or-later */
/* commits FILE: appends a record to a log of fixed size and makes it durable, forever. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define RECORD  131072
#define RECORDS 64

static char record[RECORD];

__attribute__((noinline)) static void commit_log(int file, long number)
{
	if (pwrite(file, record, RECORD, number % RECORDS * RECORD) != RECORD || fdatasync(file))
		exit(1);
}

int main(int argc, char **argv)
{
	int file = open(argc > 1 ? argv[1] : "wal.log", O_RDWR | O_CREAT, 0600);
	time_t second = 0;
	long before = 0;

	for (int i = 0; i < RECORDS; i++)
		if (pwrite(file, record, RECORD, (off_t)i * RECORD) != RECORD)
			return 1;
	fsync(file);
	for (long i = 0;; i++) {
		commit_log(file, i);
		if (time(NULL) == second)
			continue;
		printf("commits=%ld\n", i - before);
		fflush(stdout);
		before = i;
		second = time(NULL);
	}
}
