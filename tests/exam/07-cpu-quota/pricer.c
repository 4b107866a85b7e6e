/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pricer: calculates without a pause, and prints how much CPU time it had in a second. */
#include "exam.h"

NAMED void price_all(void)
{
	calculate(1000000);
}

int main(void)
{
	for (;;) {
		long start_ns = now_ns();
		clock_t start = clock();

		while (now_ns() - start_ns < 1000000000)
			price_all();
		printf("had %.2f s\n", (double)(clock() - start) / CLOCKS_PER_SEC);
		fflush(stdout);
	}
}
