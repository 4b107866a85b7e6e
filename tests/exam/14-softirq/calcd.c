/* SPDX-License-Identifier: GPL-2.0-or-later */
/* calcd: calculates without a pause. */
#include "exam.h"

NAMED void calculate_block(void)
{
	calculate(200000);
}

int main(void)
{
	for (;;) {
		long start_ns = now_ns();
		int blocks = 0;

		for (; now_ns() - start_ns < 1000000000; blocks++)
			calculate_block();
		printf("%d blocks in a second\n", blocks);
		fflush(stdout);
	}
}
