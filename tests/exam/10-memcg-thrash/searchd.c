/* SPDX-License-Identifier: GPL-2.0-or-later */
/* searchd FILE: reads records of 4 kB in random order; says so when most of them came from the
 * disk. */
#include "exam.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

enum { RECORD_BYTES = 4096 };

NAMED long find_record(int table, long number)
{
	char record[RECORD_BYTES];
	long sum = 0;

	if (pread(table, record, sizeof(record), number * RECORD_BYTES) != sizeof(record))
		exit(1);
	for (int i = 0; i < RECORD_BYTES; i++)
		sum += record[i];
	return sum;
}

int main(int argc, char **argv)
{
	int table = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	struct rusage before, after;
	struct stat stat;

	if (table < 0 || fstat(table, &stat) != 0)
		return 1;
	posix_fadvise(table, 0, 0, POSIX_FADV_RANDOM);
	for (int round = 0;; round++) {
		getrusage(RUSAGE_SELF, &before);
		for (int i = 0; i < 20000; i++)
			calculated = find_record(table, random() % (stat.st_size / RECORD_BYTES));
		getrusage(RUSAGE_SELF, &after);
		/* in blocks of 512 bytes; the first rounds fill the cache */
		if (round > 5 && after.ru_inblock - before.ru_inblock > 20000 * 4)
			puts("most records are read from the disk");
		fflush(stdout);
	}
}
