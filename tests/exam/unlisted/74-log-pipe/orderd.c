/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orderd: handles orders and tells about each on standard error; once a second, standard output
 * gets how long that took. */
#include "exam.h"

static long waited_ns;

NAMED void handle_order(void)
{
	calculate(150000);
}

NAMED void log_order(long order)
{
	long start_ns = now_ns();

	dprintf(STDERR_FILENO, "order %ld: %0100d\n", order, 0);
	waited_ns += now_ns() - start_ns;
}

int main(void)
{
	long second_ns = now_ns(), before = 0;

	for (long order = 1;; order++) {
		handle_order();
		log_order(order);
		if (now_ns() - second_ns < 1000000000)
			continue;
		printf("in %.1f s, %ld orders, waited %.2f s for the log\n",
		       (now_ns() - second_ns) / 1e9, order - before, waited_ns / 1e9);
		fflush(stdout);
		second_ns = now_ns();
		waited_ns = 0;
		before = order;
	}
}
