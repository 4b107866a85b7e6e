/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quoted: calculates quotes, one after another, and prints how long they take. */
#include "exam.h"

NAMED void make_quote(void)
{
	calculate(2000000);
}

int main(void)
{
	for (;;) {
		long start_ns = now_ns();
		int quotes = 0;

		for (; now_ns() - start_ns < 1000000000; quotes++) {
			make_quote();
			usleep(500);
		}
		printf("quotes of %.0f ms each\n", 1e3 / quotes);
		fflush(stdout);
	}
}
