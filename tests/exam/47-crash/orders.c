/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sums up a list that is shorter than it believes. */
#include <stdio.h>
#include <stdlib.h>

struct order {
	int amount;
	struct order *next;
};

static volatile long sink;

__attribute__((noinline)) static void load_orders(void)
{
	for (long i = 0; i < 400000000; i++)
		sink += i;
}

/* The amounts are volatile reads, so that the compiler cannot conclude anything from the missing
 * end. */
__attribute__((noinline)) static int sum_orders(struct order *order, int count)
{
	int sum = 0;

	while (count--) {
		sum += *(volatile int *)&order->amount;
		order = order->next;
	}
	return sum;
}

int main(void)
{
	struct order *only = calloc(1, sizeof(*only));

	load_orders();
	printf("%d\n", sum_orders(only, 5));
	return 0;
}
