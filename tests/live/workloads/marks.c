/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * marks NONCE TIMES: for each byte that it reads, calls marked(NONCE) that often, and passes the
 * probe gapless_test:step with it each time; then writes a byte.
 */
#include "workload.h"

#include <sys/sdt.h>

uint64_t marked(uint64_t nonce);

__attribute__((noinline)) uint64_t marked(uint64_t nonce)
{
	__asm__ volatile("" : "+r"(nonce));
	return nonce;
}

int main(int argc, char **argv)
{
	uint64_t nonce, times;
	char byte;

	if (argc != 3)
		die("usage: marks NONCE TIMES");
	nonce = strtoull(argv[1], NULL, 10);
	times = strtoull(argv[2], NULL, 10);
	while (read(STDIN_FILENO, &byte, 1) == 1) {
		for (uint64_t i = 0; i < times; i++)
			DTRACE_PROBE1(gapless_test, step, marked(nonce));
		if (write(STDOUT_FILENO, &byte, 1) != 1)
			die("write");
	}
	return 0;
}
